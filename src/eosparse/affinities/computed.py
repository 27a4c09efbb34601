"""Errors by a user's function of two sets of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
        new = np.asarray(new)
        if new.ndim != self.rows.ndim or new.shape[1:] != self.rows.shape[1:]:
            raise ValueError(f"new rows have shape {new.shape}, training rows {self.rows.shape}.")
        return new

    def to_all(self, queries: Any) -> FloatArray:
        errors = np.array(self.function(queries, self.rows), dtype=np.float64)
        wanted = (len(queries), len(self.rows))
        if errors.shape != wanted:
            raise ValueError(
                "error(A, B) must return one error for each row of A and each row of B: it gave "
                f"an array of shape {errors.shape} instead of {wanted}."
            )
        return errors
