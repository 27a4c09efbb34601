"""Input of estimators that wrap others: checked, but left as the inner one wants it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

from eosparse.core import FloatArray, IntArray


def checked_rows(outer: Any, X: Any, inner: Any, *, reset: bool) -> Any:
    """Return X, as an array if it is one; frames and texts reach the inner estimator untouched."""
    if reset and _num_samples(X) < 2:
        raise ValueError(f"n_samples={_num_samples(X)}: at least two rows are needed.")
    if not get_tags(_first(inner)).input_tags.two_d_array:
        return X  # texts, one per row
    if hasattr(X, "columns"):
        validate_data(outer, X, reset=reset, skip_check_array=True)
        return X
    tags = get_tags(inner).input_tags
    return validate_data(
        outer,
        X,
        reset=reset,
        accept_sparse=["csr", "csc"] if tags.sparse else False,
        dtype=None,
        ensure_all_finite=False,  # the inner estimator may know what to do with gaps
    )


def checked_prior(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """Return the prior weights of the rows."""
    prior: FloatArray = _check_sample_weight(
        sample_weight, np.empty((_num_samples(X), 1)), dtype=np.float64, ensure_non_negative=True
    )
    return as_row_counts(prior)


def as_row_counts(prior: FloatArray) -> FloatArray:
    """Weights count rows; those that sum to less than the rows they are given to are relative."""
    n_present = np.count_nonzero(prior)
    return prior * (n_present / prior.sum()) if prior.sum() < n_present else prior


def spread(values: FloatArray, present: IntArray, n_rows: int, otherwise: float) -> FloatArray:
    """Put what belongs to the rows that count in their places among all rows."""
    placed = np.full((n_rows, *values.shape[1:]), otherwise)
    placed[present] = values
    return placed


def check_labels(y: Any) -> None:
    """Missing and infinite labels are named by their row, whatever their type."""
    labels = np.asarray(y)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        row = np.flatnonzero(np.isinf(labels))[0]
        raise ValueError(f"Input y contains infinity, first in row {row}.")
    missing = np.flatnonzero([_is_missing(label) for label in labels.ravel().tolist()])
    if len(missing):
        raise ValueError(
            f"Input y contains NaN or None, first in row {missing[0]}: a label is missing. Leave "
            "out the rows without a label."
        )


def _is_missing(label: object) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True  # pandas' NA has no truth value


def last_step(estimator: Any) -> Any:
    """Return what a pipeline or a fitted search ends in."""
    if isinstance(estimator, Pipeline):
        return last_step(estimator.steps[-1][1])
    best = getattr(estimator, "best_estimator_", None)
    return estimator if best is None else last_step(best)


def _first(estimator: Any) -> Any:
    """Return what sees the rows first."""
    if isinstance(estimator, Pipeline):
        return _first(estimator.steps[0][1])
    is_search = hasattr(estimator, "cv") and hasattr(estimator, "estimator")
    return _first(estimator.estimator) if is_search else estimator
