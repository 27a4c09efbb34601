"""A sample of the rows, on which everything that the user left open is decided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eosparse.core import FloatArray, IntArray
from eosparse.rows.table import Table

# Rows that are looked up to see whether a table holds every row several times.
_N_PROBES = 16
# With more rows than this, the law of the distances no longer depends on their number.
_MOST_COUNTED = 2**17


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
    n_rows : float
        Mass of all rows of the table.
    is_whole : bool
        Whether the sample holds all rows that count.
    copies : float
        How many times each row stands in the table, by its mass; at least one.
    """

    values: FloatArray
    mass: FloatArray
    table: Table
    n_rows: float
    is_whole: bool
    copies: float = 1.0


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
    values, mass = table.take(spread_out(table.n_present, size))
    return Sample(values, mass, table, table.mass, len(mass) == table.n_present)


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
    probes, _ = table.take(spread_out(table.n_present, _N_PROBES))

    def count(block: FloatArray, prior: FloatArray | None) -> FloatArray:
        mass = np.ones(len(block)) if prior is None else prior
        near = (np.flatnonzero(block[:, 0] == probe[0]) for probe in probes)
        equal = (
            rows[(block[rows] == probe).all(axis=1)]
            for rows, probe in zip(near, probes, strict=True)
        )
        return np.array([mass[rows].sum() for rows in equal])

    if table.fold(count).min() <= 1.0:
        return 1.0
    rows, mass = table.take(np.arange(table.n_present))
    _, numbers = np.unique(rows, axis=0, return_inverse=True)
    return max(1.0, float(np.bincount(numbers.ravel(), mass).min()))


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
