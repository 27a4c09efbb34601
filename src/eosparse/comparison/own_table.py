"""Your own labelled table, judged by all detectors."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from eosparse.comparison.measures import MEASURES
from eosparse.comparison.panels import adbench, drop_missing_methods
from eosparse.comparison.peers.eos import EOS_AUTO
from eosparse.comparison.peers.timing import warm_up
from eosparse.comparison.runner import OK, Grid, Observer, Plan, Store, Workers, run_grids
from eosparse.comparison.tables import make_table
from eosparse.core import BoolArray, FloatArray
from eosparse.tables import Column, Role, TableError, read_table, recognise_columns

_TRUE = {"1", "1.0", "true", "yes", "outlier", "anomaly"}
_FALSE = {"0", "0.0", "false", "no", "inlier", "normal"}


@dataclass(frozen=True)
class LabelledTable:
    """Rows, which of them are outliers, and one line about how they were read."""

    X: FloatArray
    is_outlier: BoolArray
    summary: str


def read_labelled_table(
    path: Path,
    truth: str,
    outlier: str | None = None,
    ignore: tuple[str, ...] = (),
    standardise: bool = True,
) -> LabelledTable:
    """Read a table with a column that says which rows are outliers.

    Columns that are not numbers, or that identify rows, are left out and named in the summary.

    Parameters
    ----------
    path : Path
        The file.
    truth : str
        The column that says which rows are outliers.
    outlier : str, optional
        The value of that column for outliers; 1, true, yes and the like by default.
    ignore : tuple of str
        Columns to leave out.
    standardise : bool, default=True
        Give all columns mean 0 and variance 1.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> table = {"height": [1.5, 1.7, 9.1, 8.8], "width": [0.7, 0.9, 3.1, 0.2]}
    >>> pd.DataFrame(table).assign(bad=["no", "no", "yes", "yes"]).to_csv(path, index=False)
    >>> read_labelled_table(path, "bad").summary
    '4 rows, 2 columns, 2 outliers.'
    """
    contents = read_table(path).frame
    for column in (truth, *ignore):
        if column not in contents:
            known = ", ".join(map(repr, contents.columns[:20]))
            raise TableError(f"{path} has no column {column!r}; it has {known}.")
    is_outlier = _read_truth(contents[truth], truth, outlier)
    columns = recognise_columns(contents, ignore=ignore, target=truth)
    used = [column.name for column in columns if _is_usable(column, contents)]
    left_out = [
        f"{column.name!r} ({column.role})"
        for column in columns
        if column.name not in used and column.role is not Role.TARGET
    ]
    numbers = contents[used]
    X = numbers.to_numpy(dtype=np.float64)
    _check_finite(X, numbers)
    if X.shape[1] == 0:
        raise TableError(f"{path} has no numeric columns that vary, besides {truth!r}.")
    if standardise:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    summary = f"{len(X)} rows, {X.shape[1]} columns, {np.count_nonzero(is_outlier)} outliers."
    if left_out:
        summary += f" Left out: {', '.join(left_out)}."
    return LabelledTable(X, is_outlier, summary)


def _is_usable(column: Column, contents: pd.DataFrame) -> bool:
    """Whether detectors can use a column; categories would need a choice of encoding."""
    return column.role.is_used and contents[column.name].dtype.kind in "biuf"


def _read_truth(labels: pd.Series, name: str, outlier: str | None) -> BoolArray:
    if labels.isna().any():
        row = 1 + int(np.flatnonzero(labels.isna())[0])  # as the other commands count
        raise TableError(
            f"Column {name!r} is empty in row {row}, counted from 1. Every row needs a label."
        )
    text = labels.astype(str)
    values = ", ".join(map(repr, text.unique()[:5]))
    if outlier is None and not text.str.lower().isin(_TRUE | _FALSE).all():
        raise TableError(
            f"Column {name!r} has values {values}. Name the one that marks outliers with --outlier."
        )
    meant = text.str.lower().isin(_TRUE) if outlier is None else text == outlier
    is_outlier = meant.to_numpy(dtype=bool)
    if not is_outlier.any() or is_outlier.all():
        which = "every row" if is_outlier.any() else "no row"
        raise TableError(
            f"Column {name!r} has values {values}, so {which} is an outlier. Name the value that "
            "marks outliers with --outlier."
        )
    return is_outlier


def _check_finite(X: FloatArray, numbers: pd.DataFrame) -> None:
    bad = ~np.isfinite(X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise TableError(
            f"Column {numbers.columns[column]!r} has {np.count_nonzero(bad[:, column])} missing or "
            f"infinite values, first in row {row + 1}, counted from 1. Fill or drop them."
        )


def compare_detectors(
    own: LabelledTable, limit: float, n_workers: int, observe: Observer | None = None
) -> pd.DataFrame:
    """Return how well every detector finds the outliers, best AUC-ROC first.

    Parameters
    ----------
    own : LabelledTable
        The table.
    limit : float
        Seconds of processor time that a detector may take.
    n_workers : int
        Processes.
    observe : callable, optional
        Called with the progress.
    """
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "own.npz", X=own.X, y=own.is_outlier)
        setting = {"set": "own", "folder": folder}
        methods = (EOS_AUTO, *adbench.METHODS)
        grid = Grid("own", (setting,), methods, adbench.judge_as_given, warm_up)
        store = Store(Path(folder))
        plan = Plan(repetitions=1, least=1, budget=limit, limit=limit)
        run_grids([drop_missing_methods(grid)], plan, store, Workers(n_workers), observe)
        rows = store.read_units()
    found = make_table(rows, grid).reindex(columns=["method", *MEASURES, "seconds", "status"])
    found["status"] = found["status"].replace(OK, "")
    return found.sort_values("AUC-ROC", ascending=False, na_position="last")
