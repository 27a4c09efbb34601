"""Flagged rows that form a group of their own: one statement, not forty alarms.

In columns standardised by the fit, two good rows lie about √(2D) apart. Flagged rows that are
linked by gaps of that size are as compact as the bulk, and so a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from eosparse.core import FloatArray, IntArray

# Gaps up to this part of the distance of two good rows link two rows.
_LINK = 1.0
# A group has this many rows, and this share of the table.
FEWEST, LEAST_SHARE = 5, 0.01
# Rows that are looked at: their links grow with the square of their number.
_MOST_ROWS = 1500
# From so many columns on, a tree of rows finds nothing sooner than products of all pairs.
_MANY_COLUMNS = 32
# Relative rounding of squared distances from products.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Group:
    """A group of rows: good ones, or outliers that sit apart together.

    Attributes
    ----------
    n_rows : int
        Number of rows, estimated where there are many.
    share : float
        Their share of all rows.
    centre : array of shape (n_features,)
        Median of its rows, in the units of the columns.
    columns : tuple of str
        The columns that set it apart, most telling first.
    is_outlier : bool
        Whether its rows count as outliers.
    """

    n_rows: int
    share: float
    centre: FloatArray
    columns: tuple[str, ...]
    is_outlier: bool = True

    def __str__(self) -> str:
        named = " and ".join(repr(name) for name in self.columns)
        what = "sit apart as a group" if self.is_outlier else "form a group of good rows"
        return f"{self.n_rows:,} rows ({self.share:.1%}) {what}, by {named}"


def find_groups_apart(
    deviations: FloatArray, n_rows: float, dimension: float, mass: FloatArray | None = None
) -> list[IntArray]:
    """Return the rows of each group among flagged rows, largest group first.

    Parameters
    ----------
    deviations : array of shape (n_flagged, n_features)
        Standardised deviations of the flagged rows.
    n_rows : float
        Number of all rows.
    dimension : float
        Number of dimensions in which good rows scatter.
    mass : array of shape (n_flagged,), optional
        How many rows each of them counts as.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> flagged = np.concatenate([rng.normal(9, 1, (40, 2)), rng.uniform(-90, 90, (5, 2))])
    >>> [len(rows) for rows in find_groups_apart(flagged, 500, 2)]
    [40]
    """
    mass = np.ones(len(deviations)) if mass is None else mass
    chosen = np.arange(len(deviations))
    if len(chosen) > _MOST_ROWS:
        chosen = np.linspace(0, len(chosen) - 1, _MOST_ROWS).astype(np.intp)
    part = len(chosen) / max(len(deviations), 1)
    if mass[chosen].sum() < FEWEST:
        return []
    pairs = _find_close(np.clip(deviations[chosen], -1e6, 1e6), _LINK * np.sqrt(2 * dimension))
    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(chosen),) * 2)
    numbers = connected_components(links, directed=False)[1]
    least = max(FEWEST, LEAST_SHARE * n_rows * part)
    sizes = np.bincount(numbers, mass[chosen])
    order = np.argsort(-sizes, kind="stable")
    return [chosen[numbers == number] for number in order if sizes[number] >= least]


def _find_close(rows: FloatArray, reach: float) -> IntArray:
    """Return the pairs of rows that are no farther apart than `reach`."""
    if rows.shape[1] < _MANY_COLUMNS:
        return np.asarray(cKDTree(rows).query_pairs(reach, output_type="ndarray"))
    lengths = np.einsum("ij,ij->i", rows, rows)
    sums = lengths[:, None] + lengths
    beyond = sums - 2 * (rows @ rows.T) - reach**2
    is_close = np.triu(beyond <= 0, 1)
    is_unclear = np.triu(np.abs(beyond) <= _ROUNDING * sums, 1)
    for i in np.flatnonzero(is_unclear.any(axis=1)):  # differences are exact
        others = np.flatnonzero(is_unclear[i])
        is_close[i, others] = np.linalg.norm(rows[others] - rows[i], axis=1) <= reach
    return np.argwhere(is_close)
