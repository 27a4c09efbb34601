"""Units of a benchmark run in parallel, kept as CSV, and printed with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results"


def run_units(unit: Callable[..., list[Row]], settings: Iterable[Row]) -> pd.DataFrame:
    """Run one unit per setting on both cores, one BLAS thread each."""

    def one(setting: Row) -> list[Row]:
        with threadpool_limits(1):
            return unit(**setting)

    parts = Parallel(n_jobs=2)(delayed(one)(setting) for setting in settings)
    return pd.DataFrame([row for part in parts for row in part])


def half_interval(values: pd.Series) -> float:
    """Half of the 95 % interval of the mean (Student)."""
    n = int(values.count())
    if n < 2:
        return float("nan")
    return float(student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))


def summarise(rows: pd.DataFrame, by: list[str], of: list[str]) -> pd.DataFrame:
    """Mean and half interval of some columns, one line per group, with the repetitions."""
    grouped = rows.groupby(by, sort=False)
    table = grouped[of].mean()
    for column in of:
        table[f"{column} ±"] = grouped[column].apply(half_interval)
    table = table[[name for column in of for name in (column, f"{column} ±")]]
    table["repetitions"] = grouped.size()
    return table.reset_index()


def report(name: str, title: str, raw: pd.DataFrame | None, table: pd.DataFrame) -> None:
    """Print a table, and keep it and the rows behind it as CSV."""
    RESULTS.mkdir(exist_ok=True)
    if raw is not None:
        raw.to_csv(RESULTS / f"{name}_raw.csv", index=False, float_format="%.6g")
    table.to_csv(RESULTS / f"{name}.csv", index=False, float_format="%.6g")
    print(f"\n## {title}\n")
    print(table.to_string(index=False, float_format=lambda value: f"{value:.4g}"), flush=True)
