"""The table that a detector is given: in memory, on disk or on a cluster, checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from eosparse.core import FloatArray
from eosparse.rows import (
    DaskRows,
    FileRows,
    MemoryRows,
    Table,
    is_dask,
    is_frame,
    is_on_disk,
    open_rows,
)

_FEWEST_ROWS = 4


def training_table(detector: Any, X: Any, sample_weight: Any) -> Table:
    """Check a table and its prior weights, and note its columns."""
    if is_on_disk(X):
        table: Table = _files(X, sample_weight)
    elif is_dask(X):
        if sample_weight is not None and not is_dask(sample_weight):
            raise TypeError(
                "sample_weight of a Dask collection is a Dask array, partitioned alike."
            )
        table = DaskRows(X, _dask_names(X), sample_weight)
    else:
        return memory_table(detector, X, sample_weight)
    detector.n_features_in_ = table.n_features
    detector.__dict__.pop("feature_names_in_", None)
    if not is_dask(X) or _has_names(X):
        detector.feature_names_in_ = np.array(table.columns, dtype=object)
    _check_enough(table)
    return table


def memory_table(detector: Any, X: ArrayLike, sample_weight: ArrayLike | None) -> MemoryRows:
    """Check a table in memory and its prior weights."""
    values: FloatArray = validate_data(
        detector, X, dtype=[np.float64, np.float32], ensure_min_samples=_FEWEST_ROWS
    )
    if sample_weight is None:
        return MemoryRows(values)
    prior = _check_sample_weight(sample_weight, values, dtype=np.float64, ensure_non_negative=True)
    table = MemoryRows(values, prior)
    _check_enough(table)
    return table


def _check_enough(table: Table) -> None:
    if table.mass < _FEWEST_ROWS:
        raise ValueError(
            f"X has {table.n_present} rows that count, and their sample_weight sums to "
            f"{table.mass:g}: at least {_FEWEST_ROWS} are needed. Weights count rows: scale them "
            "so that their mean is about 1."
        )


def new_table(detector: Any, X: Any) -> Table:
    """Check rows to be judged by a fitted detector."""
    names = getattr(detector, "feature_names_in_", None)
    if is_on_disk(X):
        columns = None if names is None else tuple(str(name) for name in names)
        opened = X if isinstance(X, FileRows) else open_rows(X, columns)
        files = replace(opened, columns=columns or opened.columns, weights=None)
        files.check_columns(chosen=True)
        table: Table = files
    elif is_dask(X):
        chosen = X if names is None or not is_frame(X) else _selected(X, names)
        table = DaskRows(chosen, _dask_names(chosen))
    else:
        return MemoryRows(validate_data(detector, X, reset=False, dtype=[np.float64, np.float32]))
    if table.n_features != detector.n_features_in_:
        raise ValueError(
            f"X has {table.n_features} columns, but the detector was fitted to "
            f"{detector.n_features_in_}."
        )
    return table


def rows_in_memory(detector: Any, X: Any, method: str) -> FloatArray:
    """Check new rows for a method that returns more than one number per row."""
    check_is_fitted(detector, "offset_")
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
    rows = X if isinstance(X, FileRows) else open_rows(X, weights=sample_weight)
    return rows if sample_weight in (None, rows.weights) else rows.weighted_by(sample_weight)


def _has_names(X: Any) -> bool:
    """Whether a Dask frame's columns all have names that are texts, as scikit-learn asks."""
    return is_frame(X) and all(isinstance(name, str) for name in X.columns)


def _selected(X: Any, names: Any) -> Any:
    missing = [name for name in names if name not in set(X.columns)]
    if missing:
        raise ValueError(
            f"no column {missing[0]!r} in X; there are {', '.join(map(str, X.columns))}."
        )
    return X[list(names)]


def _dask_names(X: Any) -> tuple[str, ...]:
    if is_frame(X):
        for name, kind in X.dtypes.items():
            if kind.kind not in "fiub":
                raise ValueError(f"column {name!r} holds {kind}, not numbers. Leave it out.")
        return tuple(str(name) for name in X.columns)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions: two are needed.")
    return tuple(f"x{i}" for i in range(X.shape[1]))
