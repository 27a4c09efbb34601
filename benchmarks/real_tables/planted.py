"""c. Real tables with planted mistakes, beside detectors that rank rows.

Peers see the columns of numbers, standardised, with medians for gaps; ours sees the table. The good
rows of the ADBench sets are spoilt in the same way. All methods see the same table.
"""

from __future__ import annotations

import zlib

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score

from benchmarks.bench import Bench, count_repetitions
from benchmarks.real_tables.as_they_are import LEAST_ROWS
from benchmarks.real_tables.spoil import (
    Spoilt,
    as_numbers,
    list_spoilable,
    list_tables,
    read_frame,
    spoil,
    spoil_one_group,
)
from benchmarks.real_tables.verdict import GAUSSIAN, OURS, YES, Verdict, judge_frame, judge_table
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import compute_half_interval, summarise
from eosparse.comparison.peers import PEERS
from eosparse.comparison.runner import Row
from eosparse.core import BoolArray, FloatArray

FIRST_SEED = 70_000
REPETITIONS = 3
TABLES, ADBENCH = "tables", "ADBench, good rows"
GROUP, ROUNDED = "20 % in one group", "3 %, rounded"
PLANTED = {"1 %": 0.01, "3 %": 0.03, "10 %": 0.1, GROUP: None, ROUNDED: 0.03}
PEERS_HERE = {
    "kNN": "kNN (5)",
    "LOF": "LOF (20)",
    "isolation forest": "isolation forest",
    "ECOD": "ECOD",
    "FastMCD (scikit-learn)": "FastMCD",
}
_MCD = "FastMCD (scikit-learn)"
# Larger tables are subsampled, and wider ADBench sets left out: FastMCD takes minutes there.
_MOST_ROWS, _MOST_COLUMNS = 5000, 200


def measure(source: str, table: str, planted: str, repetition: int) -> list[Row]:
    rng = np.random.default_rng(
        [FIRST_SEED + repetition, zlib.crc32(table.encode()), list(PLANTED).index(planted)]
    )
    frame = _read(source, table)
    if len(frame) > _MOST_ROWS:
        frame = frame.iloc[rng.choice(len(frame), _MOST_ROWS, replace=False)]
        frame = frame.reset_index(drop=True)
    share = PLANTED[planted]
    if share is None:
        spoilt = spoil_one_group(frame, rng)
    else:
        spoilt = spoil(frame, share, rng, is_rounded=planted == ROUNDED)
    if not spoilt.is_wrong.any():
        return []  # no mistake changes a fifth of the rows
    key = {"source": source, "table": table, "planted": planted, "repetition": repetition}
    return [key | row for row in _compare(spoilt, FIRST_SEED + repetition, repetition == 0)]


def _read(source: str, table: str) -> pd.DataFrame:
    if source == TABLES:
        return read_frame(table)
    with np.load(DataFolder.locate(None).path / "adbench" / f"{table}.npz") as stored:
        good = stored["X"][stored["y"] == 0].astype(np.float64)
    return pd.DataFrame(good, columns=[f"x{i}" for i in range(good.shape[1])])


def _compare(spoilt: Spoilt, seed: int, is_first: bool) -> list[Row]:
    """Return a row per method; FastMCD, the slowest, runs only on the first repetition."""
    truth, X = spoilt.is_wrong, as_numbers(spoilt.frame)
    ours = judge_frame(spoilt.frame)
    rows = [
        {"method": OURS} | _measure_verdict(ours, truth) | _count_found(ours.flagged, spoilt.kind),
        {"method": GAUSSIAN} | _measure_verdict(judge_table(X, model="gaussian"), truth),
    ]
    for name, shown in PEERS_HERE.items():
        if name != _MCD or is_first:
            rows.append({"method": shown} | _measure_peer(name, X, truth, seed))
    return rows


def _measure_peer(name: str, X: FloatArray, truth: BoolArray, seed: int) -> Row:
    try:
        scores = np.nan_to_num(PEERS[name].run(X, seed).scores)
    except (ValueError, np.linalg.LinAlgError):  # FastMCD on tables with many ties
        return {}
    return {"average precision": average_precision_score(truth, scores)}


def _measure_verdict(verdict: Verdict, truth: BoolArray) -> Row:
    """Return recall and precision of the flags (0 if there are none), and what was said."""
    n_found = np.count_nonzero(verdict.flagged & truth)
    return {
        "average precision": average_precision_score(truth, verdict.scores),
        "recall": n_found / np.count_nonzero(truth),
        "precision": n_found / max(np.count_nonzero(verdict.flagged), 1),
        "flagged": float(verdict.flagged.mean()),
        "promised": float(verdict.promise == YES),
        "rung": verdict.rung,
        "given": verdict.given,
    }


def _count_found(flagged: BoolArray, kind: np.ndarray) -> Row:
    """Return, for each kind of mistake, how many were made and found."""
    return {
        f"{name}: {word}": int(np.count_nonzero(which & (kind == name)))
        for name in sorted(set(kind) - {""})
        for word, which in (("made", np.ones(len(kind), dtype=bool)), ("found", flagged))
    }


def _list_sources() -> list[tuple[str, str]]:
    tables = []
    for name in list_tables():
        frame = read_frame(name)
        if len(frame) >= LEAST_ROWS and list_spoilable(frame):
            tables.append((TABLES, name))
    for path in sorted((DataFolder.locate(None).path / "adbench").glob("*.npz")):
        frame = _read(ADBENCH, path.stem)
        if len(frame) >= LEAST_ROWS and frame.shape[1] <= _MOST_COLUMNS and list_spoilable(frame):
            tables.append((ADBENCH, path.stem))
    return tables


def run(bench: Bench) -> None:
    if not (sources := _list_sources()):
        print("\n## c. Not run: EOSPARSE_DATA names no folder with tables/*.csv.gz")
        return
    settings = [
        {"source": source, "table": table, "planted": planted, "repetition": r}
        for source, table in sources
        for planted in PLANTED
        if planted != ROUNDED
        or source == TABLES  # nearly all numbers of ADBench have many decimals
        for r in range(count_repetitions(bench.scale, REPETITIONS, least=1))
    ]
    raw = bench.run_units("real_tables_c", measure, settings)
    means = _average_tables(raw)
    bench.report("real_tables_c", "c. Planted mistakes", means, _summarise(means))
    others = (GAUSSIAN, *PEERS_HERE.values())
    gaps = pd.concat([_compare_pairs(raw, other) for other in others])
    bench.report("real_tables_c_gaps", "c. Average precision: ours less theirs", None, gaps)
    bench.report("real_tables_c_kinds", "c. By kind of mistake", None, _recall_by_kind(raw))


_MEASURES = ["average precision", "recall", "precision", "flagged"]


def _average_tables(raw: pd.DataFrame) -> pd.DataFrame:
    """Return means over the repetitions, one line per table, share and method."""
    by = ["source", "planted", "table", "method"]
    grouped = raw.groupby(by, sort=False)
    means = grouped[_MEASURES].mean()
    means["promised"] = grouped["promised"].mean()
    means["rung"] = grouped["rung"].agg(lambda rung: "/".join(sorted(set(rung.dropna()))))
    return means.join(grouped.size().rename("repetitions")).reset_index()


def _summarise(means: pd.DataFrame) -> pd.DataFrame:
    """Return means over the tables with intervals."""
    by = ["source", "planted", "method"]
    table = summarise(means, by, [*_MEASURES, "promised"])
    return table.drop(columns="promised ±").rename(columns={"repetitions": "tables"})


def _compare_pairs(raw: pd.DataFrame, peer: str) -> pd.DataFrame:
    """Return the mean difference between ours and a peer on the same tables, with its interval.

    Repetitions are averaged first: the interval is one over tables.
    """
    wide = raw.pivot_table(
        index=["source", "planted", "table", "repetition"], columns="method",
        values="average precision", sort=False,
    )  # fmt: skip
    gaps = (wide[OURS] - wide[peer]).dropna()
    gaps = gaps.groupby(["source", "planted", "table"], sort=False).mean()
    grouped = gaps.groupby(["source", "planted"], sort=False)
    table = grouped.mean().to_frame("difference")
    table["±"] = grouped.apply(compute_half_interval)
    table["better on"] = grouped.apply(lambda gap: int((gap > 0).sum()))
    table["tables"] = grouped.size()
    table.insert(0, "against", peer)
    return table.reset_index()


def _recall_by_kind(raw: pd.DataFrame) -> pd.DataFrame:
    """Return the share of mistakes found, over all mistakes of a kind."""
    kinds = [name for name in raw if name.endswith((": made", ": found"))]
    ours = raw[raw["method"] == OURS]
    counts = ours.groupby(["source", "planted"], sort=False)[kinds].sum()
    lines = [
        {"source": source, "planted": planted, "kind": name,
         "made": int(counts.at[(source, planted), f"{name}: made"]),
         "found": int(counts.at[(source, planted), f"{name}: found"])}
        for source, planted in counts.index
        for name in sorted({kind.partition(": ")[0] for kind in kinds})
    ]  # fmt: skip
    table = pd.DataFrame(lines)
    return table.assign(recall=table["found"] / table["made"].where(table["made"] > 0))
