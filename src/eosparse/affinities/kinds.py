"""Which kind of error is meant."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array

from eosparse.affinities.computed import ComputedErrors, ErrorFunction
from eosparse.affinities.given import given_errors
from eosparse.affinities.metrics import EUCLIDEAN, RELATIVE, EuclideanErrors, MetricErrors
from eosparse.affinities.pairs import PairErrors


def pair_errors(X: Any, error: str | ErrorFunction) -> PairErrors:
    """Choose how errors between the rows of `X` are found."""
    if callable(error):
        rows = np.asarray(X)
        if rows.ndim == 0 or len(rows) < 3:
            raise ValueError(f"affinities need at least 3 rows, got X of shape {rows.shape}.")
        return ComputedErrors(rows, error)
    if error == "precomputed":
        return given_errors(X)
    if error in RELATIVE:
        raise ValueError(
            f"error={error!r} depends on which rows it is given at a time. Scale or whiten the "
            "columns and take 'sqeuclidean', or pass a function with the scale fixed."
        )
    rows = check_array(X, dtype=np.float64, ensure_min_samples=3, input_name="X")
    if error in EUCLIDEAN:
        return EuclideanErrors(rows, error)
    pairwise_distances(rows[:2], metric=error)  # an unknown name is an error now, not in a block
    return MetricErrors(rows, error)
