"""a. Bulks with a known truth: is the promised false-discovery rate kept, and where is none made?

Each table is judged at two rates by the default, and at one by a single Gaussian and FastMCD with
its usual cut. Half of the tables with outliers have scattered ones, half clustered ones.
"""

from __future__ import annotations

import zlib

import numpy as np
import pandas as pd

from benchmarks.bench import Bench, count_repetitions
from benchmarks.real_tables.bulks import BULKS, CLUSTERED, SCATTERED, contaminate, draw_bulk
from benchmarks.real_tables.verdict import GAUSSIAN, OURS, UNKNOWN, YES, judge_table
from eosparse.comparison.intervals import compute_half_interval, summarise
from eosparse.comparison.peers import PEERS
from eosparse.comparison.runner import Row
from eosparse.core import BoolArray

FIRST_SEED = 70_000
RATES = (0.01, 0.05)
SHARES = (0.0, 0.02, 0.05, 0.2)
# Columns by the number of rows.
COLUMNS = {300: (3, 10, 30), 1000: (3, 10, 30), 10_000: (3, 10)}
# Repetitions by the number of rows: fewer where a fit takes longer.
REPETITIONS = {300: 8, 1000: 8, 10_000: 4}
_MCD = "FastMCD (scikit-learn)"
# Whether peers keep a rate shows in fewer tables; FastMCD takes a second for a thousand rows.
_REPETITIONS_GAUSSIAN, _REPETITIONS_MCD, _MOST_ROWS_MCD = 4, 2, 1000


def measure(bulk: str, n_rows: int, n_columns: int, share: float, repetition: int) -> list[Row]:
    rng = np.random.default_rng([FIRST_SEED + repetition, zlib.crc32(bulk.encode())])
    kind = CLUSTERED if (repetition + n_columns // 10) % 2 else SCATTERED
    X, is_wrong = contaminate(draw_bulk(bulk, n_rows, n_columns, rng), share, rng, kind)
    key = {"bulk": bulk, "rows": n_rows, "columns": n_columns, "outliers": share}
    key["kind"] = kind if share else "none"
    rows = [_judge(X, is_wrong, OURS, fdr=rate) for rate in RATES]
    if repetition < _REPETITIONS_GAUSSIAN:
        rows.append(_judge(X, is_wrong, GAUSSIAN, model="gaussian", fdr=RATES[0]))
    if repetition < _REPETITIONS_MCD and n_rows <= _MOST_ROWS_MCD:
        flagged = PEERS[_MCD].run(X, FIRST_SEED + repetition).flagged
        rows.append({"method": _MCD} | _count_flags(flagged, is_wrong))
    return [key | row for row in rows]


def _judge(X: np.ndarray, is_wrong: BoolArray, method: str, fdr: float, **options: str) -> Row:
    verdict = judge_table(X, fdr=fdr, **options)
    said = {"method": method, "fdr": fdr, "promise": verdict.promise, "rung": verdict.rung}
    return said | _count_flags(verdict.flagged, is_wrong)


def _count_flags(flagged: BoolArray, is_wrong: BoolArray) -> Row:
    """Return shares of false flags among the flags (0 if there are none) and of the rows."""
    n_flagged = int(np.count_nonzero(flagged))
    return {
        "false discoveries": np.count_nonzero(flagged & ~is_wrong) / max(n_flagged, 1),
        "flags anything": float(n_flagged > 0),
        "rows flagged": n_flagged / len(flagged),
        "recall": float(flagged[is_wrong].mean()) if is_wrong.any() else np.nan,
    }


def run(bench: Bench) -> None:
    settings = [
        {"bulk": bulk, "n_rows": n, "n_columns": d, "share": share, "repetition": r}
        for n, full in REPETITIONS.items()
        for bulk in BULKS
        for d in COLUMNS[n]
        for share in SHARES
        for r in range(count_repetitions(bench.scale, full, least=1))
    ]
    raw = bench.run_units("real_tables_a", measure, settings)
    raw["promise"] = raw["promise"].fillna(UNKNOWN)
    by = ["bulk", "method", "fdr", "promise"]
    bench.report("real_tables_a", "a. Bulks with a truth", _shorten(raw), _average(raw, by))
    by = ["method", "fdr", "promise", "rows", "columns", "outliers", "kind"]
    sizes = summarise(raw, by, ["false discoveries", "recall"]).sort_values(by, kind="stable")
    bench.report("real_tables_a_sizes", "a. The same by size and outliers", None, sizes)
    rungs = _count_rungs(raw[(raw["method"] == OURS) & (raw["fdr"] == RATES[0])])
    bench.report("real_tables_a_rungs", "a. Promises and rungs", None, rungs)


def _average(raw: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return a line per bulk, method and promise: tables with outliers, and clean ones."""
    clean, spoilt = raw[raw["outliers"] == 0], raw[raw["outliers"] > 0]
    table = summarise(spoilt, by, ["false discoveries", "recall"]).set_index(by)
    table = table.rename(columns={"repetitions": "tables with outliers"})
    of_clean = summarise(clean, by, ["flags anything", "rows flagged"]).set_index(by)
    of_clean = of_clean.rename(columns={"repetitions": "clean tables"})
    joined = table.join(of_clean.rename(columns=lambda name: f"clean: {name}"), how="outer")
    joined = joined.rename(columns={"clean: clean tables": "clean tables"}).reset_index()
    place = joined["bulk"].map({name: i for i, name in enumerate(BULKS)})
    order = joined.assign(place=place).sort_values(["place", *by[1:]], kind="stable")
    return order.drop(columns="place")


def _count_rungs(ours: pd.DataFrame) -> pd.DataFrame:
    """Return the share of promises and of rungs, one line per bulk."""
    groups = ours.assign(yes=ours["promise"] == YES).groupby("bulk", sort=False)
    table = groups["yes"].mean().to_frame("promised")
    table["promised ±"] = groups["yes"].apply(lambda yes: compute_half_interval(yes.astype(float)))
    rungs = pd.crosstab(ours["bulk"], ours["rung"], normalize="index")
    return table.join(rungs).join(groups.size().rename("tables")).reset_index()


def _shorten(raw: pd.DataFrame) -> pd.DataFrame:
    """Return means of equal settings: thousands of tables would be a large file."""
    by = ["bulk", "rows", "columns", "outliers", "kind", "method", "fdr", "promise", "rung"]
    of = ["false discoveries", "flags anything", "rows flagged", "recall"]
    grouped = raw.groupby(by, sort=False, dropna=False)
    return grouped[of].mean().join(grouped.size().rename("tables")).reset_index()
