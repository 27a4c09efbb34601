"""The table that an estimator is given: in memory, on disk or on a cluster, checked."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from eosparse.core import BoolArray, DegenerateDataWarning, FloatArray, warn_caller
from eosparse.fitting.given_arrays import check_mass, refuse_mask, validate_numbers
from eosparse.rows import (
    STORAGES,
    FrameReader,
    MemoryRows,
    Table,
    collect_rows,
    has_more_than_numbers,
)

_Stored = TypeVar("_Stored", bound=Table)
# Fewer rows say too little about a spread.
_FEWEST_ROWS = 4
_PRECISIONS = [np.float64, np.float32]
# What a fit ends with: where rows or cells are wrong.
_FITTED = ["offset_", "cell_cut_"]


def open_training(estimator: Any, X: Any, sample_weight: Any = None) -> Table:
    """Check training rows and their prior weights; set the column attributes of the estimator.

    Estimators with `_takes_kinds` also take data frames with text, booleans and dates. They get a
    `_reader`, which reads new rows in the same way; for tables of numbers there is none.
    """
    estimator.__dict__.pop("_reader", None)
    for storage in STORAGES:
        if storage.accepts(X):
            table = _let_gaps_through(storage.open(X, sample_weight=sample_weight), estimator)
            estimator.n_features_in_ = table.n_features
            estimator.__dict__.pop("feature_names_in_", None)
            if table.names is not None:
                estimator.feature_names_in_ = np.array(table.names, dtype=object)
            if table.n_empty:
                warn_of_empty(table.n_empty)
            _check_enough(table)
            return table
    values = _read_training(estimator, collect_rows(X))
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else tuple(str(name) for name in names)
    empty = _find_empty(values) if _takes_gaps(estimator) else None
    if sample_weight is None and empty is None:
        return MemoryRows(values, names=names)
    if sample_weight is None:
        sample_weight = np.ones(len(values))
    given = refuse_mask("sample_weight", sample_weight)
    prior = _check_sample_weight(given, values, dtype=np.float64, ensure_non_negative=True)
    if empty is not None:
        prior = np.where(empty, 0.0, prior)
    rows = MemoryRows(values, prior, names=names)
    _check_enough(rows)
    return rows


def _find_empty(values: FloatArray) -> BoolArray | None:
    """Return which rows have no value at all, and say that they get no verdict; None if none."""
    if not np.isnan(values[:, 0]).any():
        return None
    empty = np.asarray(np.isnan(values).all(axis=1))
    if not empty.any():
        return None
    warn_of_empty(int(np.count_nonzero(empty)))
    return empty


def warn_of_empty(n_rows: int) -> None:
    """Say that some rows get no verdict."""
    what = "1 row has" if n_rows == 1 else f"{n_rows} rows have"
    warn_caller(
        f"{what} no value at all, and so no verdict: the weight is 0 and the p-value 1.",
        DegenerateDataWarning,
    )


def _read_training(estimator: Any, X: Any) -> FloatArray:
    """Return training rows in memory; a frame with more than numbers is read by its types."""
    if not (getattr(estimator, "_takes_kinds", False) and has_more_than_numbers(X)):
        return validate_numbers(
            estimator, X, dtype=_PRECISIONS, ensure_min_samples=_FEWEST_ROWS, **_allow(estimator)
        )
    reader = FrameReader.learn(X, getattr(estimator, "kinds", None))
    values = validate_numbers(
        None,
        reader.read(X),
        dtype=_PRECISIONS,
        ensure_min_samples=_FEWEST_ROWS,
        **_allow(estimator),
    )
    estimator.n_features_in_ = len(reader.names)
    estimator.feature_names_in_ = np.array(reader.names, dtype=object)
    estimator._reader = reader
    return values


def _allow(estimator: Any) -> dict[str, Any]:
    """Return the argument of scikit-learn's checks that lets gaps through, where they are taken."""
    return {"ensure_all_finite": "allow-nan"} if _takes_gaps(estimator) else {}


def _takes_gaps(estimator: Any) -> bool:
    return bool(getattr(estimator, "_takes_gaps", False))


def _let_gaps_through(table: _Stored, estimator: Any) -> _Stored:
    return table.allow_gaps() if _takes_gaps(estimator) else table


def _check_enough(table: Table) -> None:
    check_mass(table.mass)
    if table.mass < _FEWEST_ROWS:
        raise ValueError(
            f"X has {table.n_present} rows that count, and their sample_weight sums to "
            f"{table.mass:g}: at least {_FEWEST_ROWS} are needed. Weights count rows: scale them "
            "so that their mean is about 1."
        )


def open_new(estimator: Any, X: Any) -> Table:
    """Check rows to be judged by a fitted estimator."""
    check_is_fitted(estimator, _FITTED, all_or_any=any)
    names = getattr(estimator, "feature_names_in_", None)
    for storage in STORAGES:
        if storage.accepts(X) and not _get_reader(estimator):
            columns = None if names is None else [str(name) for name in names]
            table = _let_gaps_through(storage.open(X, columns), estimator)
            if table.n_features != estimator.n_features_in_:
                raise ValueError(
                    f"X has {table.n_features} columns, but {type(estimator).__name__} was fitted "
                    f"to {estimator.n_features_in_}."
                )
            return table
    return MemoryRows(_read_rows(estimator, X))


def read_new(estimator: Any, X: Any, method: str) -> FloatArray:
    """Check new rows for a method that returns more than one number per row."""
    check_is_fitted(estimator, _FITTED, all_or_any=any)
    if any(storage.accepts(X) for storage in STORAGES):
        raise TypeError(f"{method} takes rows in memory: read the rows of interest first.")
    return _read_rows(estimator, X)


def _get_reader(estimator: Any) -> FrameReader | None:
    reader: FrameReader | None = getattr(estimator, "_reader", None)
    return reader


def _read_rows(estimator: Any, X: Any) -> FloatArray:
    """Return new rows in memory, read as the training rows were."""
    X, reader = collect_rows(X), _get_reader(estimator)
    if reader is None:
        return validate_numbers(estimator, X, reset=False, dtype=_PRECISIONS, **_allow(estimator))
    return validate_numbers(None, reader.read(X), dtype=_PRECISIONS, **_allow(estimator))
