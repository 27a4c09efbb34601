"""The table that a detector is given: in memory, on disk or on a cluster, checked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight, validate_data

from eosparse.core import FloatArray
from eosparse.rows import (
    DaskRows,
    FileRows,
    MemoryRows,
    Table,
    block_slices,
    is_dask,
    is_frame,
    is_on_disk,
    open_rows,
)

if TYPE_CHECKING:
    from eosparse.estimators.detector import EOSDetector

_FEWEST_ROWS = 4


def training_table(detector: EOSDetector, X: Any, sample_weight: Any) -> Table:
    """Check a table and its prior weights, and note its columns."""
    if is_on_disk(X):
        table: Table = _files(X, sample_weight)
    elif is_dask(X):
        table = DaskRows(X, _dask_names(X), sample_weight)
    else:
        return memory_table(detector, X, sample_weight)
    detector.n_features_in_ = table.n_features
    detector.__dict__.pop("feature_names_in_", None)
    if not is_dask(X) or is_frame(X):
        detector.feature_names_in_ = np.array(table.columns, dtype=object)
    if table.n_present < _FEWEST_ROWS:
        raise ValueError(f"X has {table.n_present} rows that count: {_FEWEST_ROWS} are needed.")
    return table


def memory_table(
    detector: EOSDetector, X: ArrayLike, sample_weight: ArrayLike | None
) -> MemoryRows:
    """Check a table in memory and its prior weights."""
    values: FloatArray = validate_data(
        detector, X, dtype=[np.float64, np.float32], ensure_min_samples=_FEWEST_ROWS
    )
    if sample_weight is None:
        _check_rows_differ(values)
        return MemoryRows(values)
    prior = _check_sample_weight(sample_weight, values, dtype=np.float64, ensure_non_negative=True)
    if prior.sum() < _FEWEST_ROWS:
        raise ValueError(
            f"sample_weight counts rows, and sums to {prior.sum():g}: at least "
            f"{_FEWEST_ROWS} are needed. Scale the weights so that their mean is about 1."
        )
    _check_rows_differ(values[prior > 0])
    return MemoryRows(values, prior)


def new_table(detector: EOSDetector, X: Any) -> Table:
    """Check rows to be judged by a fitted detector."""
    names = getattr(detector, "feature_names_in_", None)
    if is_on_disk(X):
        columns = None if names is None else tuple(str(name) for name in names)
        opened = X if isinstance(X, FileRows) else open_rows(X, columns)
        table: Table = replace(opened, columns=columns or opened.columns, weights=None)
    elif is_dask(X):
        table = DaskRows(X if names is None or not is_frame(X) else X[list(names)], _dask_names(X))
    else:
        return MemoryRows(validate_data(detector, X, reset=False, dtype=[np.float64, np.float32]))
    if table.n_features != detector.n_features_in_:
        raise ValueError(
            f"X has {table.n_features} columns, but the detector was fitted to "
            f"{detector.n_features_in_}."
        )
    return table


def rows_in_memory(detector: EOSDetector, X: Any, method: str) -> FloatArray:
    """Check new rows for a method that returns more than one number per row."""
    if is_on_disk(X) or is_dask(X):
        raise TypeError(f"{method} takes rows in memory: read the rows of interest first.")
    values: FloatArray = validate_data(detector, X, reset=False, dtype=[np.float64, np.float32])
    return values


def _files(X: Any, sample_weight: Any) -> FileRows:
    if sample_weight is not None and not isinstance(sample_weight, str):
        raise TypeError(
            "sample_weight of rows on disk is the name of a column, not an array: use "
            "open_rows(…, weights='column')."
        )
    if isinstance(X, FileRows):
        return X if sample_weight is None else replace(X, weights=sample_weight)
    return open_rows(X, weights=sample_weight)


def _dask_names(X: Any) -> tuple[str, ...]:
    if is_frame(X):
        return tuple(str(name) for name in X.columns)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions: two are needed.")
    return tuple(f"x{i}" for i in range(X.shape[1]))


def _check_rows_differ(values: FloatArray) -> None:
    if all((values[part] == values[0]).all() for part in block_slices(values.shape)):
        raise ValueError("all rows of X are equal: there is nothing to tell them apart by.")
