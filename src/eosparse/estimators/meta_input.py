"""Input of estimators that wrap others: checked, but left as the inner one wants it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, _num_samples, validate_data

from eosparse.core import FloatArray


def checked_rows(outer: Any, X: Any, inner: Any, *, reset: bool) -> Any:
    """Return X, as an array if it is one; frames and texts reach the inner estimator untouched."""
    if reset and _num_samples(X) < 2:
        raise ValueError(f"n_samples={_num_samples(X)}: at least two rows are needed.")
    tags = get_tags(inner).input_tags
    if hasattr(X, "columns") or not tags.two_d_array:
        validate_data(outer, X, reset=reset, skip_check_array=True)
        return X
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
    if not (prior > 0).any():
        raise ValueError("sample_weight is zero for all rows: at least two must count.")
    return prior
