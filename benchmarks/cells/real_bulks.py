"""b. Wrong cells in log-normal and in real tables, and what is suggested instead.

Of the numbers of each table, some cells are multiplied by ten or a hundred, get a lost sign, or are
swapped with another column's. Suggested values are compared with the true ones, in units of the
robust spread of their column.
"""

from __future__ import annotations

import zlib

import numpy as np
import pandas as pd

from benchmarks.bench import Bench
from benchmarks.cells.robpy import has_robpy, keep_peers, run_robpy
from benchmarks.real_tables.spoil import list_tables, read_frame
from eosparse import EOSCells
from eosparse.comparison.intervals import summarise
from eosparse.comparison.runner import Row
from eosparse.core import BoolArray, FloatArray, IntArray

FIRST_SEED = 81_000
SHARES = (0.01, 0.05)
# Tables with fewer rows or columns of numbers say little about cells.
_LEAST_ROWS, _MOST_ROWS, _LEAST_COLUMNS = 80, 4000, 3
# Values that a column must have to count as numbers.
_LEAST_VALUES = 20
LOG_NORMAL = "log-normal"


def read_numbers(table: str) -> FloatArray | None:
    """Return the columns of numbers with many values, rows without gaps; None if too few."""
    if table == LOG_NORMAL:
        rng = np.random.default_rng(FIRST_SEED)
        return np.exp(rng.normal(size=(1000, 8)) @ (rng.normal(size=(8, 8)) / np.sqrt(8)))
    frame = read_frame(table).select_dtypes("number")
    frame = frame.loc[:, (frame.nunique() >= _LEAST_VALUES) & (frame.nunique() < 0.98 * len(frame))]
    values = frame.dropna().to_numpy(dtype=float)[:_MOST_ROWS]
    return values if len(values) >= _LEAST_ROWS and values.shape[1] >= _LEAST_COLUMNS else None


def spoil_cells(
    values: FloatArray, share: float, rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Return rows with mistakes in some cells, and 1 for those that differ by much, -1 for others.

    The others are neither to be found nor to be left alone.
    """
    spoilt = values.copy()
    wrong = rng.random(values.shape) < share
    for i, j in np.argwhere(wrong):
        other = values[i, (j + 1) % values.shape[1]]
        spoilt[i, j] = [values[i, j] * 10, values[i, j] * 100, -values[i, j], other][
            rng.integers(4)
        ]
    by_much = np.abs(spoilt - values) > 3 * _spread(values)
    return spoilt, np.where(wrong, np.where(by_much, 1, -1), 0)


def _spread(values: FloatArray) -> FloatArray:
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    return np.asarray(np.maximum((high - low) / 1.349, 1e-9 * np.ptp(values, axis=0) + 1e-300))


def measure(table: str, share: float) -> list[Row]:
    values = read_numbers(table)
    if values is None:
        return []
    rng = np.random.default_rng([FIRST_SEED, zlib.crc32(table.encode())])
    spoilt, told = spoil_cells(values, share, rng)
    wrong = told == 1
    found = {"EOSCells": _ask_ours(spoilt)}
    if has_robpy():
        found |= {method: run_robpy(spoilt, method, 600.0) for method in ("DDC", "cellMCD")}
    found["median"] = {"expected": np.tile(np.median(spoilt, axis=0), (len(spoilt), 1))}
    found["iterative imputer"] = {"expected": _impute(spoilt, wrong)}
    key = {"table": table, "rows": len(values), "columns": values.shape[1], "share": share}
    key["among"] = LOG_NORMAL if table == LOG_NORMAL else "real tables"
    return [
        key | {"method": method} | _compare(one, values, told)
        for method, one in found.items()
        if one is not None
    ]


def _ask_ours(spoilt: FloatArray) -> dict[str, np.ndarray]:
    model = EOSCells().fit(spoilt)
    return {"wrong": model.is_wrong_cell_, "expected": model.expected_}


def _impute(spoilt: FloatArray, wrong: BoolArray) -> FloatArray:
    """Fill the wrong cells, which are told: what imputation could do at best."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return np.asarray(
        IterativeImputer(random_state=0).fit_transform(np.where(wrong, np.nan, spoilt))
    )


def _compare(found: dict[str, np.ndarray], values: FloatArray, told: IntArray) -> Row:
    wrong = told == 1
    away = ((found["expected"] - values) / _spread(values))[wrong]
    row: Row = {"error of values": float(np.sqrt(np.nanmean(np.clip(away, -30, 30) ** 2)))}
    if "wrong" in found:
        flagged = found["wrong"] & (told != -1)
        hits = np.count_nonzero(flagged & wrong)
        row["F1"] = 2 * hits / max(np.count_nonzero(flagged) + np.count_nonzero(wrong), 1)
        row["recall"] = hits / max(np.count_nonzero(wrong), 1)
        row["false discoveries"] = 1 - hits / max(np.count_nonzero(flagged), 1)
    return row


def run(bench: Bench) -> None:
    tables = [LOG_NORMAL, *list_tables()]
    settings = [{"table": table, "share": share} for table in tables for share in SHARES]
    raw = bench.run_units("cells_b", measure, settings)
    by = ["among", "share", "method"]
    of = ["F1", "recall", "false discoveries", "error of values"]
    table = keep_peers(summarise(raw, by, of), bench.folder / "cells_b.csv")
    table = table.sort_values(by, kind="stable")
    bench.report("cells_b", "b. Wrong cells in real tables", raw, pd.DataFrame(table))
