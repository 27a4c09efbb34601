"""Choose the kind of errors from the parameter `error`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS
from sklearn.utils import check_array

from eosparse.affinities.euclidean import ANGULAR, EUCLIDEAN, AngularErrors, EuclideanErrors
from eosparse.affinities.function import ErrorFunction, FunctionErrors, check_dense
from eosparse.affinities.metrics import METRICS, RELATIVE, MetricErrors
from eosparse.affinities.pairs import PairErrors
from eosparse.affinities.precomputed import read_precomputed


def choose_errors(X: Any, error: str | ErrorFunction) -> PairErrors:
    """Check the rows of `X`, and choose how errors between them are computed."""
    if callable(error):
        rows = check_dense(X)
        if rows.ndim == 0 or len(rows) < 3:
            raise ValueError(f"affinities need at least 3 rows, got X of shape {rows.shape}.")
        return FunctionErrors(rows, error)
    if not isinstance(error, str) or error not in METRICS | RELATIVE | {"precomputed"}:
        raise ValueError(
            f"error={error!r} must be 'precomputed', a function error(A, B), or the name of a "
            f"metric: {', '.join(sorted(METRICS))}."
        )
    if error == "precomputed":
        return read_precomputed(X)
    if error in RELATIVE:
        raise ValueError(
            f"error={error!r} estimates a scale from the rows it is given, which differs from "
            "block to block. Scale or whiten the columns and use 'sqeuclidean', or pass a "
            "function with a fixed scale."
        )
    return _choose_metric(X, error)


def _choose_metric(X: Any, error: str) -> PairErrors:
    is_boolean = error in PAIRWISE_BOOLEAN_FUNCTIONS and np.asarray(X).dtype == np.bool_
    dtype = np.bool_ if is_boolean else np.float64
    rows = check_array(X, dtype=dtype, ensure_min_samples=3, input_name="X")
    if error in ANGULAR:
        return AngularErrors.from_rows(rows, error)
    if error in EUCLIDEAN:
        pairs = EuclideanErrors(rows, error)
        pairs.check_range()
        return pairs
    return MetricErrors(rows, error)
