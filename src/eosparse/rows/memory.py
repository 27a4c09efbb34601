"""Rows in memory: blocks of an array."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from eosparse.core import (
    BoolArray,
    FloatArray,
    IntArray,
    Mergeable,
    fold_blocks,
    has_gaps,
    has_mass,
)
from eosparse.rows.parallel import fold_in_order, map_parallel
from eosparse.rows.table import Table, as_float64, as_stored

Part = TypeVar("Part", bound=Mergeable)


# Few enough numbers for the processor's cache, enough to outweigh the fixed cost of a block.
BLOCK_NUMBERS = 2**19
# Copies of rows have up to so many numbers, 128 MB in single precision, and leave out some rows.
_MOST_KEPT, _WORTH_A_COPY = 2**25, 0.95
# Statistics may be matrices of columns by columns, so blocks should have this many times as many
# rows as columns, up to so many numbers (32 MB), and not just a few rows in any case.
_ROWS_PER_COLUMN, _MOST_BLOCK_NUMBERS, _FEWEST_BLOCK_ROWS = 4, 2**22, 256


def block_slices(shape: tuple[int, ...], block_numbers: int = BLOCK_NUMBERS) -> Iterator[slice]:
    """Yield slices of the rows of an array, each of about `block_numbers` numbers.

    Examples
    --------
    >>> list(block_slices((1000, 2), block_numbers=1200))
    [slice(0, 600, None), slice(600, 1200, None)]
    """
    n_rows, n_columns = shape[0], max((1, *shape[1:]))
    tall = min(_ROWS_PER_COLUMN * n_columns, _MOST_BLOCK_NUMBERS // n_columns)
    size = max(_FEWEST_BLOCK_ROWS, block_numbers // n_columns, tall)
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def block_rows(n_columns: int) -> int:
    """Return the number of rows in a block of a long array."""
    return int(next(block_slices((sys.maxsize, n_columns))).stop)


def fold_array(
    values: FloatArray,
    prior: FloatArray | None,
    prepare: Callable[[FloatArray], FloatArray],
    kernel: Callable[[FloatArray, FloatArray | None], Part],
) -> Part | None:
    """Fold some rows block by block, in this thread; None if none of them counts."""
    if not len(values) or not has_mass(prior):
        return None
    blocks = (
        (prepare(values[part]), None if prior is None else prior[part])
        for part in block_slices(values.shape)
    )
    return fold_blocks(blocks, kernel)


@dataclass(frozen=True)
class MemoryRows(Table):
    """An array of rows, visited in blocks that fit the processor's cache.

    Attributes
    ----------
    values : array of shape (n_samples, n_features) or (n_samples,)
        The rows, as given.
    prior : array of shape (n_samples,) or None
        Prior weights.
    prepare : callable
        Applied to each block, such as a change of coordinates.
    block_numbers : int
        Approximate number of values in a block.
    names : tuple of str or None
        Names of the columns; x0, x1, ... by default.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import MemoryRows
    >>> rows = MemoryRows(np.array([[1.0, 2.0], [3.0, 4.0]]), prior=np.array([1.0, 2.0]))
    >>> rows.fold(lambda block, prior: prior @ block).tolist(), rows.mass
    ([7.0, 10.0], 3.0)
    """

    values: FloatArray
    prior: FloatArray | None = None
    prepare: Callable[[FloatArray], FloatArray] = as_float64
    block_numbers: int = BLOCK_NUMBERS
    names: tuple[str, ...] | None = None

    is_in_memory = True

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]  # computed on demand
        """Names of the columns."""
        return self.names or tuple(f"x{i}" for i in range(self.n_features))

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""
        return self.values.dtype

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @cached_property
    def has_gaps(self) -> bool:  # computed once: a look at all values
        """Whether values are missing."""
        parts = block_slices(self.values.shape, self.block_numbers)
        return any(map_parallel(lambda part: has_gaps(self.values[part]), parts))

    @property
    def n_present(self) -> int:
        """Number of rows that count."""
        return len(self.values) if self.prior is None else int(np.count_nonzero(self.prior))

    @property
    def mass(self) -> float:
        """Sum of the prior weights."""
        return float(len(self.values)) if self.prior is None else float(self.prior.sum())

    def fold(self, kernel: Callable[[FloatArray, FloatArray | None], Part]) -> Part:
        """Apply a kernel to every prepared block, in parallel; merge the results in order."""

        def visit(part: slice) -> Part | None:
            if self.prior is None:
                return kernel(self.prepare(self.values[part]), None)
            prior = self.prior[part]  # blocks without mass are left out
            return kernel(self.prepare(self.values[part]), prior) if prior.any() else None

        return fold_in_order(block_slices(self.values.shape, self.block_numbers), visit)

    def map(self, function: Callable[[FloatArray], FloatArray]) -> MemoryRows:
        """Return rows of one number each: a function of the prepared blocks."""
        slices = block_slices(self.values.shape, self.block_numbers)
        blocks = map_parallel(lambda part: function(self.prepare(self.values[part])), slices)
        return MemoryRows(np.concatenate(blocks), self.prior)

    def gather(self, blocks: Sequence[FloatArray]) -> MemoryRows | None:
        """Return rows of one number each, given block by block; None if they are not all rows."""
        if sum(map(len, blocks)) != len(self.values):
            return None
        return MemoryRows(np.concatenate(blocks), self.prior)

    def keep(self, function: Callable[[FloatArray], FloatArray], dtype: Any) -> MemoryRows:
        """Return the rows in other coordinates; a copy, unless that would take much memory."""
        if self.values.size > _MOST_KEPT:
            return super().keep(function, dtype)
        width = function(self.prepare(self.values[:1])).shape[1]
        kept = np.empty((len(self.values), width), dtype)

        def fill(part: slice) -> None:
            kept[part] = function(self.prepare(self.values[part]))

        map_parallel(fill, block_slices(self.values.shape, self.block_numbers))
        return MemoryRows(kept, self.prior, as_stored)

    def select(self, chosen: BoolArray) -> MemoryRows:
        """Return some of the rows, if a copy of them takes little memory and saves time."""
        if self.values.size > _MOST_KEPT or chosen.mean() > _WORTH_A_COPY:
            return self
        prior = None if self.prior is None else self.prior[chosen]
        return replace(self, values=self.values[chosen], prior=prior)

    def map_falling(self, function: Callable[[FloatArray], FloatArray]) -> MemoryRows:
        """Apply a function that should fall with the numbers; where it rises, keep it level."""
        order = np.argsort(self.values, kind="stable")
        mapped: FloatArray = np.empty(len(order))
        mapped[order] = np.minimum.accumulate(function(self.values[order]))
        return MemoryRows(mapped, self.prior)

    def to_column(self, dtype: Any) -> Any:
        """Return rows of one number each as one array."""
        return self.values.astype(dtype, copy=False)

    def times_prior(self, column: Any) -> Any:
        """Return a column multiplied by the prior weights."""
        return column if self.prior is None else (column * self.prior).astype(column.dtype)

    def prepare_with(self, prepare: Callable[[FloatArray], FloatArray]) -> MemoryRows:
        """Return the same rows, prepared in another way."""
        return replace(self, prepare=prepare)

    def reweight(self, weights: Any, random_state: np.random.RandomState) -> MemoryRows:
        """Return the rows with additional weights: given ones, or "random"."""
        if isinstance(weights, str):
            weights = random_state.uniform(size=len(self.values))
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != (len(self.values),):
            raise ValueError(f"start has shape {given.shape}, but X has {len(self.values)} rows.")
        if not np.isfinite(given).all() or (given < 0).any() or not (given > 0).any():
            raise ValueError("start must be finite, non-negative weights, not all zero.")
        return replace(self, prior=given if self.prior is None else given * self.prior)

    def take(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return some of the rows that count, by their number among these, with prior weights."""
        if self.prior is None:
            return self.values[numbers], np.ones(len(numbers))
        present = np.flatnonzero(self.prior > 0)[numbers]
        return self.values[present], self.prior[present]
