"""Errors computed by a user's function of two sets of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from eosparse.affinities.pairs import PairErrors
from eosparse.core import FloatArray

ErrorFunction = Callable[[Any, Any], ArrayLike]


@dataclass(frozen=True)
class FunctionErrors(PairErrors):
    """Errors that a function returns, one block of rows at a time."""

    rows: Any
    function: ErrorFunction
    is_thread_safe = False  # nothing is known about the user's function

    @property
    def training(self) -> Any:
        return self.rows

    def check_queries(self, new: Any) -> Any:
        new = check_dense(new)
        if new.ndim != self.rows.ndim or new.shape[1:] != self.rows.shape[1:]:
            raise ValueError(
                f"X_new has shape {new.shape}, which does not match the training rows of shape "
                f"{self.rows.shape}."
            )
        if len(new) == 0:
            raise ValueError(f"X_new has no rows: its shape is {new.shape}.")
        return new

    def compute_errors(self, queries: Any) -> FloatArray:
        errors = _convert_to_numbers(self.function(queries, self.rows))
        expected = (len(queries), len(self.rows))
        if errors.shape != expected:
            raise ValueError(
                "error(A, B) must return one error for each row of A and each row of B: it "
                f"returned an array of shape {errors.shape} instead of {expected}."
            )
        return errors


def check_dense(X: Any) -> Any:
    """Return rows of any kind as an array; raise if they are sparse."""
    if issparse(X):  # np.asarray would wrap a sparse matrix into a single object
        raise TypeError("rows for a function error(A, B) must be dense: use X.toarray().")
    return np.asarray(X)


def _convert_to_numbers(returned: Any) -> FloatArray:
    """Return a new array of floats; raise where that would lose information."""
    is_masked = isinstance(returned, np.ma.MaskedArray) and np.ma.is_masked(returned)
    if not (issparse(returned) or is_masked):
        try:
            values = np.asarray(returned)
            if values.dtype.kind in "biufO":
                return np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            pass  # ragged, or not numbers
    raise ValueError(
        "error(A, B) must return a dense matrix of real numbers without missing values: it "
        f"returned {type(returned).__name__}"
        + (f" of {returned.dtype}." if hasattr(returned, "dtype") else ".")
    )
