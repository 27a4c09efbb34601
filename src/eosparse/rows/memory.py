"""Rows in memory: blocks of an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from eosparse.core import FloatArray


def _as_float64(values: FloatArray) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


# About as many numbers as fit the processor's cache.
BLOCK_NUMBERS = 2**17


def block_slices(shape: tuple[int, ...], block_numbers: int = BLOCK_NUMBERS) -> Iterator[slice]:
    """Yield slices of the rows of an array, each of about `block_numbers` numbers."""
    n_rows, n_columns = shape
    size = max(256, block_numbers // max(n_columns, 1))
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


@dataclass(frozen=True)
class MemoryRows:
    """An array of rows, visited in blocks that fit the processor's cache.

    Attributes
    ----------
    values : array of shape (n_samples, n_features)
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
    prepare: Callable[[FloatArray], FloatArray] = _as_float64
    block_numbers: int = BLOCK_NUMBERS

    def blocks(self) -> Iterator[tuple[FloatArray, FloatArray | None]]:
        """Yield the prepared blocks with their prior weights."""
        for part in block_slices(self.values.shape, self.block_numbers):
            prior = None if self.prior is None else self.prior[part]
            yield self.prepare(self.values[part]), prior

    def map(self, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Apply a function of a prepared block to all rows, in order."""
        return np.concatenate([function(block) for block, _ in self.blocks()])
