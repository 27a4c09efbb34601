"""Which kind of error is meant."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS
from sklearn.utils import check_array

from eosparse.affinities.computed import ComputedErrors, ErrorFunction, dense_rows
from eosparse.affinities.euclidean import ANGULAR, EUCLIDEAN, AngularErrors, EuclideanErrors
from eosparse.affinities.given import given_errors
from eosparse.affinities.metrics import METRICS, RELATIVE, MetricErrors
from eosparse.affinities.pairs import PairErrors


def pair_errors(X: Any, error: str | ErrorFunction) -> PairErrors:
    """Choose how errors between the rows of `X` are found."""
    if callable(error):
        rows = dense_rows(X)
        if rows.ndim == 0 or len(rows) < 3:
            raise ValueError(f"affinities need at least 3 rows, got X of shape {rows.shape}.")
        return ComputedErrors(rows, error)
    if not isinstance(error, str) or error not in METRICS | RELATIVE | {"precomputed"}:
        raise ValueError(
            f"error={error!r} is neither 'precomputed', nor a function error(A, B), nor the name "
            f"of a metric: {', '.join(sorted(METRICS))}."
        )
    if error == "precomputed":
        return given_errors(X)
    if error in RELATIVE:
        raise ValueError(
            f"error={error!r} depends on which rows it is given at a time. Scale or whiten the "
            "columns and take 'sqeuclidean', or pass a function with the scale fixed."
        )
    return _by_name(X, error)


def _by_name(X: Any, error: str) -> PairErrors:
    is_truth = error in PAIRWISE_BOOLEAN_FUNCTIONS and np.asarray(X).dtype == np.bool_
    dtype = np.bool_ if is_truth else np.float64
    rows = check_array(X, dtype=dtype, ensure_min_samples=3, input_name="X")
    if error in ANGULAR:
        return AngularErrors.of(rows, error)
    if error in EUCLIDEAN:
        pairs = EuclideanErrors(rows, error)
        pairs.check_range()
        return pairs
    return MetricErrors(rows, error)
