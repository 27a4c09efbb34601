"""A sample of the rows, on which everything that is left open is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from eosparse.core import FloatArray, IntArray
from eosparse.rows.table import Table


@dataclass(frozen=True)
class Sample:
    """Some rows that count, from all over a table.

    Attributes
    ----------
    values : array of shape (n_sampled, n_features)
        The rows, as the model sees them.
    mass : array of shape (n_sampled,)
        Their prior weights.
    table : Table
        The table that they come from.
    """

    values: FloatArray
    mass: FloatArray
    table: Table

    @property
    def n_rows(self) -> float:
        """Mass of all rows of the table."""
        return self.table.mass

    @property
    def is_whole(self) -> bool:
        """Whether the sample holds all rows that count."""
        return len(self.mass) == self.table.n_present

    @property
    def prior(self) -> FloatArray | None:
        """The prior weights; None if all are one."""
        return None if (self.mass == 1.0).all() else self.mass

    def view_by(self, view: Callable[[FloatArray], FloatArray]) -> Sample:
        """Return the sample with a function applied to its rows."""
        return replace(self, values=view(self.values))


def take_sample(table: Table, size: int) -> Sample:
    """Return up to `size` rows from all over a table, always the same ones."""
    return Sample(*table.take(spread_out(table.n_present, size)), table)


def spread_out(n_rows: int, size: int) -> IntArray:
    """Return the numbers of some rows, one from each of `size` equal stretches, always the same.

    Each at a random place in its stretch: rows at equal steps might all be Mondays.

    Examples
    --------
    >>> spread_out(5, 5).tolist()
    [0, 1, 2, 3, 4]
    """
    if size >= n_rows:
        return np.arange(n_rows)
    places = np.arange(size) + np.random.RandomState(0).random_sample(size)
    return np.asarray((places * (n_rows / size)).astype(np.intp))
