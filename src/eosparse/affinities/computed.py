"""Errors by a user's function of two sets of rows."""

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
class ComputedErrors(PairErrors):
    """What the function returns for one block of rows after the other."""

    rows: Any
    function: ErrorFunction
    is_side_by_side = False  # a user's function may not be meant for threads

    @property
    def training(self) -> Any:
        return self.rows

    def queries(self, new: Any) -> Any:
        new = dense_rows(new)
        if new.ndim != self.rows.ndim or new.shape[1:] != self.rows.shape[1:]:
            raise ValueError(f"new rows have shape {new.shape}, training rows {self.rows.shape}.")
        if len(new) == 0:
            raise ValueError(f"X_new has no rows: its shape is {new.shape}.")
        return new

    def to_all(self, queries: Any) -> FloatArray:
        errors = _as_numbers(self.function(queries, self.rows))
        wanted = (len(queries), len(self.rows))
        if errors.shape != wanted:
            raise ValueError(
                "error(A, B) must return one error for each row of A and each row of B: it gave "
                f"an array of shape {errors.shape} instead of {wanted}."
            )
        return errors


def dense_rows(X: Any) -> Any:
    """Return rows as an array of anything; a sparse matrix would be one thing."""
    if issparse(X):
        raise TypeError("rows for a function error(A, B) must be dense: use X.toarray().")
    return np.asarray(X)


def _as_numbers(returned: Any) -> FloatArray:
    """Return a new array of floats, unless that would lose what was returned."""
    is_masked = isinstance(returned, np.ma.MaskedArray) and np.ma.is_masked(returned)
    if not (issparse(returned) or is_masked):
        try:
            values = np.asarray(returned)
            if values.dtype.kind in "biufO":
                return np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            pass  # ragged, or not numbers
    raise ValueError(
        "error(A, B) must return a dense matrix of real numbers without gaps: it gave "
        f"{type(returned).__name__}"
        + (f" of {returned.dtype}." if hasattr(returned, "dtype") else ".")
    )
