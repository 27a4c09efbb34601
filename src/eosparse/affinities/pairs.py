"""Errors from rows to rows: all of them, or those to the nearest, block by block.

`PairErrors` is what every kind of error offers. Queries are rows whose errors to the training rows
are wanted: new ones, or the training rows themselves, which are not their own neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_array

from eosparse.core import FloatArray, IntArray
from eosparse.rows.parallel import map_parallel

Value = TypeVar("Value")

# Numbers in a block: two megabytes, so that a block and its weights stay in the cache.
_BLOCK = 2**18


def blocks(n_rows: int, width: int) -> list[slice]:
    """Cut rows of a width into blocks of bounded size."""
    size = max(1, _BLOCK // max(1, width))
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


@dataclass(frozen=True)
class Nearest:
    """The nearest training rows of queries in any order; both of shape (n_queries, k)."""

    indices: IntArray
    errors: FloatArray

    def sorted(self) -> Nearest:
        """Order the neighbours of every query by increasing error."""
        return self._taken(np.argsort(self.errors, axis=1, kind="stable"))

    def smallest(self, count: int) -> Nearest:
        """Keep some of the neighbours of every query, those with the smallest errors."""
        if count == self.errors.shape[1]:
            return self
        return self._taken(np.argpartition(self.errors, count - 1, axis=1)[:, :count])

    def _taken(self, places: IntArray) -> Nearest:
        return Nearest(
            np.take_along_axis(self.indices, places, axis=1),
            np.take_along_axis(self.errors, places, axis=1),
        )

    def check_finite(self) -> None:
        """Refuse errors that are not finite, by the numbers of the two rows."""
        if np.isfinite(self.errors.min()) and np.isfinite(self.errors.max()):
            return
        row, place = (int(at[0]) for at in np.nonzero(~np.isfinite(self.errors)))
        raise _not_finite(row, int(self.indices[row, place]), self.errors[row, place])


class PairErrors(ABC):
    """Errors from queries to the training rows."""

    is_side_by_side = True  # may blocks be computed by several threads?

    @property
    def n_neighbors(self) -> int | None:
        """Neighbours of each row whose errors were given; None if all can be found."""
        return None

    @property
    @abstractmethod
    def training(self) -> Any:
        """The training rows, as queries."""

    @abstractmethod
    def queries(self, new: Any) -> Any:
        """Check new rows; what is returned can be cut into blocks."""

    @abstractmethod
    def to_all(self, queries: Any) -> FloatArray:
        """Errors of a block of queries to all training rows, not yet checked, to be written to."""

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.training.shape[0])

    def to_others(self, block: slice) -> FloatArray:
        """Errors of a block of training rows to all; infinite to themselves, which never count."""
        errors = self.to_all(self.training[block])
        own = np.arange(len(errors)), np.arange(block.start, block.stop)
        errors[own] = 0.0  # whatever it was
        _check_finite(errors, block.start)
        errors[own] = np.inf
        return errors

    def to_training(self, queries: Any, block: slice) -> FloatArray:
        """Errors of a block of new rows to all training rows."""
        errors = self.to_all(queries[block])
        _check_finite(errors, block.start)
        return errors

    def nearest(self, queries: Any | None, n_neighbors: int) -> Nearest:
        """Find the nearest training rows of new rows, or of the training rows if they are None."""

        def of_block(block: slice) -> Nearest:
            found = self.to_others(block) if queries is None else self.to_training(queries, block)
            everyone = np.broadcast_to(np.arange(self.n_rows), found.shape)
            return Nearest(everyone, found).smallest(n_neighbors)

        n_queries = self.n_rows if queries is None else len(queries)
        parts = self.over(blocks(n_queries, self.n_rows), of_block)
        return Nearest(
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.errors for part in parts]),
        )

    def over(self, parts: list[slice], function: Callable[[slice], Value]) -> list[Value]:
        """Apply a function that needs errors to blocks."""
        return map_parallel(function, parts) if self.is_side_by_side else list(map(function, parts))


def checked_rows(
    new: Any, n_columns: int, *, dtype: Any = np.float64, allow_non_finite: bool = False
) -> FloatArray:
    """Return new rows as numbers, in as many columns as the training rows have."""
    rows: FloatArray = check_array(
        new, dtype=dtype, ensure_all_finite=not allow_non_finite, input_name="X_new"
    )
    if rows.shape[1] != n_columns:
        raise ValueError(f"new rows have {rows.shape[1]} columns instead of {n_columns}.")
    return rows


def _check_finite(errors: FloatArray, first: int) -> None:
    """Refuse errors to all training rows that are not finite; `first` is the first row's number."""
    if np.isfinite(errors.min()) and np.isfinite(errors.max()):
        return
    row, column = (int(at[0]) for at in np.nonzero(~np.isfinite(errors)))
    raise _not_finite(first + row, column, errors[row, column])


def _not_finite(row: int, partner: int, error: float) -> ValueError:
    return ValueError(
        f"errors must be finite, but the error of row {row} to row {partner} is {error}."
    )
