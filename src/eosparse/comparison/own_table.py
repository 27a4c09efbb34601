"""A user's labelled table, judged by all detectors."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from eosparse.comparison import adbench
from eosparse.comparison.ledger import OK, Grid, Plan
from eosparse.comparison.measures import MEASURES
from eosparse.comparison.panels import runnable
from eosparse.comparison.peers import EOS, PEERS, warm
from eosparse.comparison.store import Store
from eosparse.comparison.tables import table
from eosparse.comparison.units import Observer, run_grids
from eosparse.core import BoolArray, FloatArray
from eosparse.tables import Column, Role, TableError, read_table, recognise_columns

_TRUE = {"1", "1.0", "true", "yes", "outlier", "anomaly"}
_FALSE = {"0", "0.0", "false", "no", "inlier", "normal"}


@dataclass(frozen=True)
class OwnTable:
    """Rows, which of them are outliers, and what was done to get them."""

    X: FloatArray
    is_outlier: BoolArray
    said: str


def read(
    path: Path, truth: str, outlier: str | None, ignore: tuple[str, ...], standardise: bool
) -> OwnTable:
    """Read a labelled table; what is no number, or identifies rows, is left out and named."""
    contents = read_table(path).frame
    for column in (truth, *ignore):
        if column not in contents:
            known = ", ".join(map(repr, contents.columns[:20]))
            raise TableError(f"{path} has no column {column!r}; it has {known}.")
    is_outlier = _truth(contents[truth], truth, outlier)
    columns = recognise_columns(contents, ignore=ignore, target=truth)
    used = [column.name for column in columns if _is_number(column, contents)]
    left_out = [
        f"{column.name!r} ({column.role})"
        for column in columns
        if column.name not in used and column.role is not Role.TARGET
    ]
    numbers = contents[used]
    X = numbers.to_numpy(dtype=np.float64)
    _check(X, numbers)
    if X.shape[1] == 0:
        raise TableError(f"{path} has no numeric columns that vary, besides the truth.")
    if standardise:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    said = f"{len(X)} rows, {X.shape[1]} columns, {np.count_nonzero(is_outlier)} outliers."
    if left_out:
        said += f" Left out: {', '.join(left_out)}."
    return OwnTable(X, is_outlier, said)


def _is_number(column: Column, contents: pd.DataFrame) -> bool:
    """Whether a column is used: detectors compare numbers, categories would need a choice."""
    return column.role.is_used and contents[column.name].dtype.kind in "biuf"


def _truth(labels: pd.Series, name: str, outlier: str | None) -> BoolArray:
    if labels.isna().any():
        row = int(np.flatnonzero(labels.isna())[0])
        raise TableError(f"column {name!r} is empty in row {row}: every row needs a label.")
    text = labels.astype(str)
    values = ", ".join(map(repr, text.unique()[:5]))
    if outlier is None and not text.str.lower().isin(_TRUE | _FALSE).all():
        raise TableError(
            f"column {name!r} has values {values}: say which means an outlier with --outlier."
        )
    meant = text.str.lower().isin(_TRUE) if outlier is None else text == outlier
    is_outlier = meant.to_numpy(dtype=bool)
    if not is_outlier.any() or is_outlier.all():
        kind = "an outlier" if is_outlier.any() else "no outlier"
        raise TableError(
            f"column {name!r} has values {values}: by it every row is {kind}, and there is nothing "
            "to tell apart. Say which value means an outlier with --outlier."
        )
    return is_outlier


def _check(X: FloatArray, numbers: pd.DataFrame) -> None:
    bad = ~np.isfinite(X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise TableError(
            f"column {numbers.columns[column]!r} has {np.count_nonzero(bad[:, column])} missing or "
            f"infinite values, first in row {row}. Fill or drop them."
        )


def judged(
    own: OwnTable, limit: float, n_workers: int, observe: Observer | None = None
) -> pd.DataFrame:
    """Let every detector judge the table, as for the ADBench sets; best AUC-ROC first."""
    methods = (EOS, adbench.SHRUNK, *(name for name in PEERS if name != EOS))
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "own.npz", X=own.X, y=own.is_outlier)
        setting = {"set": "own", "folder": folder}
        grid = Grid("own", (setting,), methods, adbench.judge_as_given, warm)
        store = Store(Path(folder))
        run_grids([runnable(grid)], Plan(1, 1, limit, limit), store, n_workers, observe)
        rows = store.kept()
    found = table(rows, grid).reindex(columns=["method", *MEASURES, "seconds", "status"])
    found["status"] = found["status"].replace(OK, "")
    return found.sort_values("AUC-ROC", ascending=False, na_position="last")
