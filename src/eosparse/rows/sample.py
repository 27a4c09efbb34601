"""A sample of the rows, on which everything that the user left open is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from eosparse.core import FloatArray, IntArray, centre_and_spread
from eosparse.rows.parallel import map_columns
from eosparse.rows.table import Table

# Rows that are looked up to see whether a table holds every row several times.
_N_PROBES = 16
# With more rows than this, the law of the distances no longer depends on their number.
_MOST_COUNTED = 2**17
# Of the 24 digits of single precision: rounded numbers do not all end in four zeros.
_FEW_DIGITS = 20


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
        The table that they come from, as the model sees it.
    n_rows : float
        Mass of all rows of the table.
    is_whole : bool
        Whether the sample holds all rows that count.
    copies : float
        How many times each row stands in the table, by its mass; at least one.
    stored : array of shape (n_sampled, n_columns) or None
        The rows as they are stored; None if the model sees them so.
    numbers : array of int or None
        Which of the rows that count these are; None if that is not known.
    places : array of int or None
        The column of the table that each column of the values comes from; None if all do in order.
    """

    values: FloatArray
    mass: FloatArray
    table: Table
    n_rows: float
    is_whole: bool
    copies: float = 1.0
    stored: FloatArray | None = None
    numbers: IntArray | None = None
    places: IntArray | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the values."""
        names = self.table.columns
        return list(names) if self.places is None else [names[i] for i in self.places]

    def look_through(
        self, view: Callable[[FloatArray], FloatArray], places: IntArray | None = None
    ) -> Sample:
        """Return the rows, and the table that they come from, as a model sees them."""
        table = self.table.prepare_with(view)
        return replace(self, values=view(self.values), table=table, places=places)

    @cached_property
    def centre_and_spread(self) -> tuple[FloatArray, FloatArray]:
        """Median and robust spread of each column, in double precision."""

        def find(values: FloatArray) -> tuple[FloatArray, FloatArray]:
            with np.errstate(over="ignore"):
                return centre_and_spread(np.asarray(values, dtype=np.float64), self.mass)

        centres, spreads = zip(*map_columns(find, self.values), strict=True)
        return np.concatenate(centres), np.concatenate(spreads)

    def find_precision(self) -> FloatArray:
        """Return the relative precision of each column, by the digits that its values have."""
        return find_precision(self.values if self.stored is None else self.stored)


def take_sample(table: Table, size: int) -> Sample:
    """Return up to `size` rows from all over a table, always the same ones.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import MemoryRows, take_sample
    >>> sample = take_sample(MemoryRows(np.arange(1000.0)[:, None]), 10)
    >>> len(sample.values), sample.n_rows, sample.is_whole
    (10, 1000.0, False)
    """
    numbers = spread_out(table.n_present, size)
    values, mass = table.take(numbers)
    is_whole = len(mass) == table.n_present
    return Sample(values, mass, table, table.mass, is_whole, stored=values, numbers=numbers)


def find_precision(values: FloatArray) -> FloatArray:
    """Return the relative precision of each column: single if it has been rounded to that.

    Numbers that were rounded to single precision may be held in double precision. Those with few
    digits, such as whole numbers and halves, have not been rounded at all.

    Examples
    --------
    >>> import numpy as np
    >>> tenths = np.arange(1, 9) / 10
    >>> columns = [tenths, tenths.astype(np.float32), 10 * tenths]
    >>> find_precision(np.column_stack(columns)).round(9).tolist()
    [0.0, 1.19e-07, 0.0]
    """
    with np.errstate(over="ignore"):
        is_single = (values.astype(np.float32) == values).all(axis=0)
    precision = np.full(values.shape[1], np.finfo(np.float64).eps)
    for column in np.flatnonzero(is_single):
        if _count_digits(values[:, column]) > _FEW_DIGITS:
            precision[column] = np.finfo(np.float32).eps
    return precision


def _count_digits(column: FloatArray) -> float:
    """Return how many binary digits numbers in single precision have, before and after the point.

    They are multiples of a common power of two, which their last digits show.
    """
    mantissas, exponents = np.frexp(column[column != 0].astype(np.float64))
    if not len(mantissas):
        return 0.0
    whole = np.ldexp(mantissas, 24).astype(np.int64)
    last = np.log2((whole & -whole).astype(np.float64)) + exponents - 24
    return float(exponents.max() - last.min())


def count_copies(table: Table) -> float:
    """Return how many times every row of a table occurs, by its mass; at least one.

    A table pasted below itself, or a weight of two for every row, is no more evidence than the
    table. All rows are counted if some of them occur more than once, unless there are so many that
    their number decides nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import MemoryRows, count_copies
    >>> count_copies(MemoryRows(np.array([[1.0, 2.0], [3.0, 4.0]] * 3)))
    3.0
    """
    if table.n_present > _MOST_COUNTED:
        return 1.0
    probes = _mark_gaps(table.take(spread_out(table.n_present, _N_PROBES))[0])

    def count(block: FloatArray, prior: FloatArray | None) -> FloatArray:
        mass, first = np.ones(len(block)) if prior is None else prior, _mark_gaps(block[:, 0])
        near = (np.flatnonzero(first == probe[0]) for probe in probes)
        equal = (
            rows[(_mark_gaps(block[rows]) == probe).all(axis=1)]
            for rows, probe in zip(near, probes, strict=True)
        )
        return np.array([mass[rows].sum() for rows in equal])

    if table.fold(count).min() <= 1.0:
        return 1.0
    rows, mass = table.take(np.arange(table.n_present))
    _, numbers = np.unique(_mark_gaps(rows), axis=0, return_inverse=True)
    return max(1.0, float(np.bincount(numbers.ravel(), mass).min()))


def _mark_gaps(values: FloatArray) -> FloatArray:
    """Return values in which gaps are equal to each other; no row has infinite ones."""
    return np.where(np.isnan(values), np.inf, values)


def spread_out(n_rows: int, size: int) -> IntArray:
    """Return the numbers of some rows, one from each of `size` equal stretches, always the same.

    Each row is at a random place in its stretch: equal steps could all hit the same weekday.

    Examples
    --------
    >>> spread_out(5, 5).tolist()
    [0, 1, 2, 3, 4]
    """
    if size >= n_rows:
        return np.arange(n_rows)
    places = np.arange(size) + np.random.RandomState(0).random_sample(size)
    return np.asarray((places * (n_rows / size)).astype(np.intp))
