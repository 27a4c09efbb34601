"""e. Gaussian tables with outliers, as in the paper: what the default changes.

Gaussian rows, clean or with uniform, clustered or radial outliers, and the points of the paper's
panels D to F. The default should take its first rung there, and flag the rows that one Gaussian
flags.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.bench import Bench, count_repetitions
from benchmarks.real_tables.verdict import Verdict, judge_table
from eosparse.comparison.panels.contamination import (
    ALPHA_BY_COLUMNS,
    ALPHA_BY_ROWS,
    ALPHA_BY_SHARE,
)
from eosparse.comparison.runner import Row
from eosparse.core import BoolArray, FloatArray
from eosparse.datasets import make_contaminated

FIRST_SEED = 80_000
SIZES = ((300, 3), (300, 10), (1000, 10), (1000, 50), (10_000, 10))
SHARES = {"uniform": (0.05, 0.2, 0.4), "clustered": (0.05, 0.2, 0.4), "radial": (0.05, 0.2, 0.4)}
INLIERS = ("independent", "autoregressive")
REPETITIONS = 10
# Of the panels: rows, columns and share of outliers of each point. Large tables take longer.
POINTS = {
    "D": tuple((n, 100, 0.02) for n in ALPHA_BY_ROWS),
    "E": tuple((2000, d, 0.02) for d in ALPHA_BY_COLUMNS),
    "F": tuple((1000, 150, share) for share in ALPHA_BY_SHARE),
}
LARGE, REPETITIONS_LARGE = 500_000, 2


def measure(outliers: str, share: float, n_rows: int, n_columns: int, inliers: str,
            repetition: int) -> list[Row]:  # fmt: skip
    seed = np.random.default_rng([FIRST_SEED + repetition, n_rows, n_columns])
    X, is_wrong = make_contaminated(
        n_rows, n_columns, share, outliers=outliers, inliers=inliers, random_state=seed
    )
    key = {"outliers": outliers if share else "none", "share": share, "rows": n_rows}
    return [key | {"columns": n_columns, "inliers": inliers} | _compare(X, is_wrong)]


def measure_point(panel: str, n_rows: int, n_columns: int, share: float,
                  repetition: int) -> list[Row]:  # fmt: skip
    seed = np.random.default_rng([FIRST_SEED + repetition, n_rows, n_columns])
    X, is_wrong = make_contaminated(n_rows, n_columns, share, random_state=seed)
    key = {"panel": panel, "rows": n_rows, "columns": n_columns, "share": share}
    return [key | _compare(X, is_wrong)]


def _compare(X: FloatArray, is_wrong: BoolArray) -> Row:
    """Return what the default and one Gaussian find in a table."""
    auto, gaussian = judge_table(X), judge_table(X, model="gaussian")
    return {
        "rung": auto.rung,
        "first rung": float(auto.rung == "gaussian"),
        "same flags": float((auto.flagged == gaussian.flagged).all()),
        **_measure("default", auto, is_wrong),
        **_measure("one Gaussian", gaussian, is_wrong),
    }


def _measure(name: str, verdict: Verdict, is_wrong: BoolArray) -> Row:
    found = np.count_nonzero(verdict.flagged & is_wrong)
    n_flagged = np.count_nonzero(verdict.flagged)
    return {
        f"recall, {name}": found / is_wrong.sum() if is_wrong.any() else np.nan,
        f"false discoveries, {name}": (n_flagged - found) / max(n_flagged, 1),
    }


def run(bench: Bench) -> None:
    kinds = [("uniform", 0.0), *((kind, share) for kind in SHARES for share in SHARES[kind])]
    settings = [
        {"outliers": kind, "share": share, "n_rows": n, "n_columns": d, "inliers": inliers,
         "repetition": r}
        for kind, share in kinds
        for n, d in SIZES
        for inliers in INLIERS
        for r in range(count_repetitions(bench.scale, REPETITIONS))
    ]  # fmt: skip
    raw = bench.run_units("real_tables_e", measure, settings)
    bench.report("real_tables_e", "e. Gaussian tables", raw, _average(raw, ["outliers", "share"]))
    points = [
        {"panel": panel, "n_rows": n, "n_columns": d, "share": share, "repetition": r}
        for panel in POINTS
        for n, d, share in POINTS[panel]
        for r in range(_count_tables(bench.scale, n * d))
    ]
    raw = bench.run_units("real_tables_e_panels", measure_point, points)
    title = "e. The points of the paper's panels"
    bench.report("real_tables_e_panels", title, raw, _average(raw, ["panel"]))


def _count_tables(scale: float, size: int) -> int:
    return count_repetitions(scale, REPETITIONS if size < LARGE else REPETITIONS_LARGE, least=1)


def _average(raw: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    grouped = raw.groupby(by, sort=False)
    names = [
        name for name in raw if name.startswith(("first", "same", "recall", "false discoveries"))
    ]
    return grouped[names].mean().join(grouped.size().rename("tables")).reset_index()
