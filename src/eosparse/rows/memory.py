"""Rows in memory: blocks of an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from eosparse.core import FloatArray, IntArray, Mergeable, counts, fold_blocks
from eosparse.rows.side_by_side import folded, in_order, single_threaded_blas

Part = TypeVar("Part", bound=Mergeable)


def as_float64(values: FloatArray) -> FloatArray:
    """Return rows in the precision in which they are worked on."""
    return np.asarray(values, dtype=np.float64)


# Few enough numbers for the processor's cache, and enough to outweigh what a block costs by itself.
BLOCK_NUMBERS = 2**19


# Statistics may be matrices of the columns, so that blocks should have some times as many rows as
# columns, up to this many numbers (32 MB).
_MOST_BLOCK_NUMBERS = 2**22


def block_rows(n_columns: int, block_numbers: int = BLOCK_NUMBERS) -> int:
    """Return how many rows make a block."""
    n_columns = max(n_columns, 1)
    some_times_columns = min(4 * n_columns, _MOST_BLOCK_NUMBERS // n_columns)
    return max(256, block_numbers // n_columns, some_times_columns)


def block_slices(shape: tuple[int, ...], block_numbers: int = BLOCK_NUMBERS) -> Iterator[slice]:
    """Yield slices of the rows of an array, each of about `block_numbers` numbers."""
    n_rows, size = shape[0], block_rows(max((1, *shape[1:])), block_numbers)
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def fold_array(
    values: FloatArray,
    prior: FloatArray | None,
    prepare: Callable[[FloatArray], FloatArray],
    kernel: Callable[[FloatArray, FloatArray | None], Part],
) -> Part | None:
    """Fold some rows block by block, in this thread; None if none of them counts."""
    if not len(values) or not counts(prior):
        return None
    blocks = (
        (prepare(values[part]), None if prior is None else prior[part])
        for part in block_slices(values.shape)
    )
    return fold_blocks(blocks, kernel)


@dataclass(frozen=True)
class MemoryRows:
    """An array of rows, visited in blocks that fit the processor's cache.

    Attributes
    ----------
    values : array of shape (n_samples, n_features) or (n_samples,)
        The rows, as they were given.
    prior : array of shape (n_samples,) or None
        Prior weights.
    prepare : callable
        Applied to each block, such as a change of coordinates.
    block_numbers : int
        About how many numbers a block holds.
    """

    values: FloatArray
    prior: FloatArray | None = None
    prepare: Callable[[FloatArray], FloatArray] = as_float64
    block_numbers: int = BLOCK_NUMBERS

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(f"x{i}" for i in range(self.n_features))

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""
        return self.values.dtype

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def n_present(self) -> int:
        """Number of rows that count."""
        return len(self.values) if self.prior is None else int(np.count_nonzero(self.prior))

    @property
    def mass(self) -> float:
        """Sum of the prior weights."""
        return float(len(self.values)) if self.prior is None else float(self.prior.sum())

    def fold(self, kernel: Callable[[FloatArray, FloatArray | None], Part]) -> Part:
        """Apply a kernel to every prepared block, side by side; merge the results in order."""

        def one(part: slice) -> Part | None:
            prior = None if self.prior is None else self.prior[part]
            return kernel(self.prepare(self.values[part]), prior) if counts(prior) else None

        return folded(self._slices(), one)

    def mapped(self, function: Callable[[FloatArray], FloatArray]) -> MemoryRows:
        """Return rows of one number each: a function of the prepared blocks."""

        def one(part: slice) -> FloatArray:
            return function(self.prepare(self.values[part]))

        with single_threaded_blas() as n_threads:
            numbers = np.concatenate(list(in_order(self._slices(), one, n_threads=n_threads)))
        return MemoryRows(numbers, self.prior)

    def column(self, dtype: Any) -> Any:
        """Return mapped rows as one array."""
        return self.values.astype(dtype, copy=False)

    def prepared(self, prepare: Callable[[FloatArray], FloatArray]) -> MemoryRows:
        """Return the same rows, prepared in another way."""
        return replace(self, prepare=prepare)

    def take(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return some of the rows that count, by their number among these, with prior weights."""
        if self.prior is None:
            return self.values[numbers], np.ones(len(numbers))
        present = np.flatnonzero(self.prior > 0)[numbers]
        return self.values[present], self.prior[present]

    def _slices(self) -> Iterator[slice]:
        return block_slices(self.values.shape, self.block_numbers)
