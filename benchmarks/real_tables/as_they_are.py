"""b. Real tables as they are: the share that is flagged, and what is promised.

By `EOSDetector` with nothing set, and by ``eosparse detect``. Gaps are filled only if the command
asks for it.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from benchmarks.bench import Bench
from benchmarks.real_tables.spoil import list_tables, locate_table, read_frame
from benchmarks.real_tables.verdict import NO, TABLE, UNKNOWN, YES, judge_frame
from eosparse.comparison.intervals import compute_half_interval
from eosparse.comparison.runner import Row

# Where more is flagged, the table is listed.
MANY = 0.05
# Smaller tables say little about a method.
LEAST_ROWS = 100
DETECTOR, COMMAND = "EOSDetector()", "eosparse detect"
# Rows that the literature calls wrong, counted from 0.
KNOWN = {"rd_hbk": range(14)}


def measure(table: str) -> list[Row]:
    frame = read_frame(table)
    key = {"table": table, "rows": len(frame), "columns": frame.shape[1]}
    return [
        key | {"by": DETECTOR} | _ask_detector(table, frame),
        key | {"by": COMMAND} | _ask_command(table),
    ]


def _ask_detector(table: str, frame: pd.DataFrame) -> Row:
    try:
        verdict = judge_frame(frame)
    except Exception as error:  # whatever reaches a user
        return {"status": _describe(error)}
    return {
        "status": "ok",
        "given": verdict.given,
        "flagged": float(verdict.flagged.mean()),
        "rung": verdict.rung,
        "promise": verdict.promise,
        "sentence": verdict.sentence,
    } | _count_known(table, np.flatnonzero(verdict.flagged))


def _ask_command(table: str) -> Row:
    """Run the command."""
    from eosparse.cli.app import app

    outcome = CliRunner().invoke(app, ["detect", str(locate_table(table)), "--json"])
    if outcome.exit_code == 0:
        return {"status": "ok", "given": TABLE} | _read_summary(table, outcome.stdout)
    reason = outcome.exception if outcome.exit_code == 1 else outcome.stderr
    return {"status": _describe(reason)}


def _read_summary(table: str, text: str) -> Row:
    summary = json.loads(text)
    told = summary["model"] | summary
    promise, sentence = _read_promise(told.get("promise"))
    return {
        "flagged": summary["n_flagged"] / summary["table"]["n_rows"],
        "rung": str(told.get("rung", UNKNOWN)),
        "promise": promise,
        "sentence": sentence,
    } | _count_known(table, np.array([row["row"] - 1 for row in summary["flagged"]]))


def _read_promise(said: object) -> tuple[str, str]:
    """Return yes or no, and the sentence, of a truth value or of an object with both."""
    if said is None:
        return UNKNOWN, ""
    parts = list(said.values()) if isinstance(said, dict) else [said]
    truths = [part for part in parts if isinstance(part, bool)]
    sentences = [part for part in parts if isinstance(part, str)]
    return (YES if truths[0] else NO) if truths else UNKNOWN, " ".join(sentences)


def _count_known(table: str, flagged: np.ndarray) -> Row:
    """Return how many of the rows that are known to be wrong are flagged."""
    if (known := KNOWN.get(table)) is None:
        return {}
    return {"known": len(known), "found": int(np.isin(known, flagged).sum())}


def _describe(reason: object) -> str:
    return " ".join(str(reason).split())[:120]


def run(bench: Bench) -> None:
    if not (tables := list_tables()):
        print("\n## b. Not run: EOSPARSE_DATA names no folder with tables/*.csv.gz")
        return
    raw = bench.run_units("real_tables_b", measure, [{"table": table} for table in tables])
    bench.report("real_tables_b", "b. Real tables as they are", raw, _summarise(raw))
    many = raw[raw["flagged"] > MANY].sort_values("flagged", ascending=False)
    columns = ["table", "by", "given", "rows", "columns", "flagged", "rung", "promise"]
    bench.report("real_tables_b_many", "b. More than 5 % flagged", None, many[columns])


def _summarise(raw: pd.DataFrame) -> pd.DataFrame:
    """Return a line per way to ask, of all tables and of those that are not tiny."""
    among = {"all tables": raw, "100 rows or more": raw[raw["rows"] >= LEAST_ROWS]}
    return pd.DataFrame(
        {"by": by, "among": name} | _summarise_group(group)
        for name, part in among.items()
        for by, group in part.groupby("by", sort=False)
    )


def _summarise_group(group: pd.DataFrame) -> Row:
    good = group[group["status"] == "ok"]
    share = good["flagged"]
    return {
        "tables": len(group),
        "answered": len(good),
        "as they are": int((good["given"] == TABLE).sum()),
        "median flagged": share.median(),
        "mean flagged": share.mean(),
        "mean flagged ±": compute_half_interval(share),
        "above 5 %": int((share > MANY).sum()),
        "above 10 %": int((share > 2 * MANY).sum()),
        "nothing flagged": int((share == 0).sum()),
        "promised": int((good["promise"] == YES).sum()),
    }
