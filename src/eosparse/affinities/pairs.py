"""Errors between rows, block by block: all of them, or only those to the nearest rows.

`PairErrors` is the interface that every kind of error implements. A query is a row whose errors to
the training rows are needed: a new row, or a training row, which is never its own neighbour.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
from sklearn.utils import check_array

from eosparse.core import FloatArray, IntArray
from eosparse.rows.parallel import map_parallel

Value = TypeVar("Value")

# Numbers in a block: two megabytes, so that a block and its weights stay in the cache.
_BLOCK = 2**18


def cut_blocks(n_rows: int, width: int) -> list[slice]:
    """Cut rows of a given width into blocks of bounded size."""
    size = max(1, _BLOCK // max(1, width))
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


@dataclass(frozen=True)
class Nearest:
    """The nearest training rows of each query, in any order; both of shape (n_queries, k)."""

    indices: IntArray
    errors: FloatArray

    def sort(self) -> Nearest:
        """Order the neighbours of each query by increasing error."""
        return self._take(np.argsort(self.errors, axis=1, kind="stable"))

    def keep_smallest(self, count: int) -> Nearest:
        """Keep the `count` neighbours of each query that have the smallest errors."""
        if count == self.errors.shape[1]:
            return self
        return self._take(np.argpartition(self.errors, count - 1, axis=1)[:, :count])

    def _take(self, places: IntArray) -> Nearest:
        return Nearest(
            np.take_along_axis(self.indices, places, axis=1),
            np.take_along_axis(self.errors, places, axis=1),
        )

    def check_finite(self) -> None:
        """Raise an error that names the first pair of rows whose error is not finite."""
        if np.isfinite(self.errors.min()) and np.isfinite(self.errors.max()):
            return
        row, place = (int(at[0]) for at in np.nonzero(~np.isfinite(self.errors)))
        _raise_not_finite(row, int(self.indices[row, place]), self.errors[row, place])


class PairErrors(ABC):
    """Errors from queries to the training rows."""

    is_thread_safe = True  # may several threads compute blocks at the same time?

    @property
    def n_neighbors(self) -> int | None:
        """Number of neighbours stored for each row; None if errors to all rows are available."""
        return None

    @property
    @abstractmethod
    def training(self) -> Any:
        """The training rows, as queries."""

    @abstractmethod
    def check_queries(self, new: Any) -> Any:
        """Check new rows, and return them in a form that can be cut into blocks."""

    @abstractmethod
    def compute_errors(self, queries: Any) -> FloatArray:
        """Compute the errors of a block of queries to all training rows.

        The array is not checked yet, and the caller may write to it.
        """

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.training.shape[0])

    def compute_training_errors(self, block: slice) -> FloatArray:
        """Compute the errors of a block of training rows to all of them; to themselves infinite."""
        errors = self.compute_errors(self.training[block])
        own = np.arange(len(errors)), np.arange(block.start, block.stop)
        errors[own] = 0.0  # the error of a row to itself never counts, and need not be finite
        _check_finite(errors, block.start)
        errors[own] = np.inf
        return errors

    def compute_query_errors(self, queries: Any, block: slice) -> FloatArray:
        """Compute the errors of a block of new rows to all training rows."""
        errors = self.compute_errors(queries[block])
        _check_finite(errors, block.start)
        return errors

    def find_nearest(self, queries: Any | None, n_neighbors: int) -> Nearest:
        """Find the nearest training rows of new rows, or of the training rows if None."""

        def find_in_block(block: slice) -> Nearest:
            if queries is None:
                errors = self.compute_training_errors(block)
            else:
                errors = self.compute_query_errors(queries, block)
            everyone = np.broadcast_to(np.arange(self.n_rows), errors.shape)
            return Nearest(everyone, errors).keep_smallest(n_neighbors)

        n_queries = self.n_rows if queries is None else len(queries)
        parts = self.map_blocks(cut_blocks(n_queries, self.n_rows), find_in_block)
        return Nearest(
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.errors for part in parts]),
        )

    def map_blocks(self, blocks: list[slice], function: Callable[[slice], Value]) -> list[Value]:
        """Apply a function that computes errors to blocks, in threads where that is safe."""
        return (
            map_parallel(function, blocks) if self.is_thread_safe else list(map(function, blocks))
        )


def check_new_rows(
    new: Any, n_columns: int, *, dtype: Any = np.float64, allow_non_finite: bool = False
) -> FloatArray:
    """Return new rows as numbers, with as many columns as the training rows."""
    rows: FloatArray = check_array(
        new, dtype=dtype, ensure_all_finite=not allow_non_finite, input_name="X_new"
    )
    if rows.shape[1] != n_columns:
        raise ValueError(
            f"X_new has {rows.shape[1]} columns, but the affinities were computed from {n_columns}."
        )
    return rows


def _check_finite(errors: FloatArray, first: int) -> None:
    """Check the errors of rows to all training rows; `first` is the number of the first row."""
    if np.isfinite(errors.min()) and np.isfinite(errors.max()):
        return
    row, column = (int(at[0]) for at in np.nonzero(~np.isfinite(errors)))
    _raise_not_finite(first + row, column, errors[row, column])


def _raise_not_finite(row: int, partner: int, error: float) -> NoReturn:
    raise ValueError(
        f"errors must be finite, but the error of row {row} to row {partner} is {error}."
    )
