"""What a table offers to a fit, wherever its rows live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from eosparse.core import FloatArray, IntArray, Rows


def spread_out(n_rows: int, size: int) -> IntArray:
    """Return the numbers of some rows, one from each of `size` equal stretches, always the same.

    From a random place in its stretch: rows at equal steps might all be Mondays.

    Examples
    --------
    >>> spread_out(5, 5).tolist()
    [0, 1, 2, 3, 4]
    """
    if size >= n_rows:
        return np.arange(n_rows)
    places = np.arange(size) + np.random.RandomState(0).random_sample(size)
    return np.asarray((places * (n_rows / size)).astype(np.intp))


def unchanged(values: FloatArray) -> FloatArray:
    """Prepare a block by doing nothing."""
    return values


@dataclass(frozen=True)
class Chained:
    """One function after another; unlike a lambda it can be saved."""

    first: Callable[[FloatArray], FloatArray]
    then: Callable[[FloatArray], FloatArray]

    def __call__(self, values: FloatArray) -> FloatArray:
        """Apply both."""
        return self.then(self.first(values))


class NamedColumns:
    """What follows from the names of the columns, where answers are in float64."""

    columns: tuple[str, ...]

    @property
    def dtype(self) -> Any:
        """Type of the numbers that are returned."""
        return np.dtype(np.float64)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns)


class Table(Rows[FloatArray], Protocol):
    """Rows of numbers. Rows without prior weight do not count, and are not numbered."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        ...

    @property
    def dtype(self) -> Any:
        """Type of the numbers that are returned."""
        ...

    @property
    def n_features(self) -> int:
        """Number of columns."""
        ...

    @property
    def n_present(self) -> int:
        """Number of rows that count."""
        ...

    @property
    def mass(self) -> float:
        """Sum of the prior weights."""
        ...

    def take(self, numbers: IntArray, /) -> tuple[FloatArray, FloatArray]:
        """Return some rows that count, as they are, and their prior weights."""
        ...

    def prepared(self, prepare: Callable[[FloatArray], FloatArray], /) -> Self:
        """Return the same rows with a function applied to each block, such as coordinates."""
        ...

    def mapped(self, function: Callable[[FloatArray], FloatArray], /) -> Self:
        """Return rows of one number each: a function of the prepared blocks."""
        ...

    def column(self, dtype: Any, /) -> Any:
        """Return mapped rows as users get them: an array, or a lazy one."""
        ...
