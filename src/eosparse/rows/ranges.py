"""The range of each column: what lies beyond a wide gap is no tail of it.

From the central half of a column outwards, values follow each other. The first gap that is much
wider than everything on this side of it ends the range: 999 among ratings of 1 to 5, a weight in
grams among kilograms. No law is needed, and rows beyond the gap may be many and close to each
other, up to a quarter of the table. Light tails leave no such gap; a tail as heavy as Student's
with three degrees of freedom leaves one in some tables, beside a row or two.

Of a column of levels, those that occur often are levels, unless they are very far from the others.
Counts and yes or no are the whole numbers from zero on, one by one: there, a wide gap is no step to
another level, however many rows lie beyond it. Codes begin with one, and 9 may mean "no answer".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eosparse.core import BoolArray, FloatArray, weighted_quantiles

# The central part of a column ends here on either side: more rows cannot lie beyond a gap.
_CORE = 0.25
# A gap is wide if it is so many times as wide as the values on this side of it, and three steps of
# a column of a few values: 0, 1 and 3 may be levels, but 4 is far from 0 and 1.
_WIDE, _LEAST_STEPS = 2.0, 1.5
# The two farthest of log-normal values lie so far apart in some columns of a hundred, however many
# rows there are. Where rows are fewer than six per column, a gap is wide if chance sets apart this
# share of them. The exponent was chosen by simulation: no more than that for log-normal columns
# whose logarithms have a deviation of one, two to four times as many at 1.4.
_BY_CHANCE, _FALL = 0.01, 2.5
# A level with this share of the rows is no stray, unless a gap is wide by this factor: doses of 1,
# 10, 100 and 1000, but not 999 among ratings of 1 to 5.
_OFTEN, _VERY_WIDE = 0.01, 20.0
# Values farther out than this many such gaps count as this far.
_FARTHEST = 1e3


@dataclass(frozen=True)
class ColumnRanges:
    """The range of some columns, and how wide a gap beside it would be.

    Attributes
    ----------
    places : tuple of int
        The columns.
    low, high : array
        The smallest and the largest value of the range.
    below, above : array
        Values beyond the range by this or more are outside.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import find_ranges
    >>> ratings = np.array([[1.0], [2.0], [4.0], [5.0], [5.0], [9.0], [999.0]])
    >>> ranges = find_ranges(ratings, np.ones(7), (0,))
    >>> ranges.high.tolist(), ranges.is_outside(ratings).tolist()
    ([9.0], [False, False, False, False, False, False, True])
    """

    places: tuple[int, ...]
    low: FloatArray
    high: FloatArray
    below: FloatArray
    above: FloatArray

    def take(self, *chosen: int) -> ColumnRanges:
        """Return the ranges of some of the columns."""
        part = np.array(chosen, dtype=np.intp)
        ends = (self.low[part], self.high[part], self.below[part], self.above[part])
        return ColumnRanges(tuple(self.places[i] for i in chosen), *ends)

    def blame(self, deviations: FloatArray, values: FloatArray) -> FloatArray:
        """Return deviations of rows in which values outside count by how far out they are.

        Three deviations are the end of the range.
        """
        gaps, blamed = self._find_gaps(values), deviations.copy()
        places = list(self.places)
        far = 3.0 * np.sign(gaps) * (1 + _WIDE * np.abs(gaps))
        blamed[:, places] = np.where(np.abs(gaps) >= 1.0, far, blamed[:, places])
        return blamed

    def _find_gaps(self, values: FloatArray) -> FloatArray:
        """Return how far values lie below (negative) or above the range of their column."""
        chosen = np.asarray(values[:, list(self.places)], dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.maximum((self.low - chosen) / self.below, 0.0)
            above = np.maximum((chosen - self.high) / self.above, 0.0)
        return np.asarray(np.clip(np.nan_to_num(above - below), -_FARTHEST, _FARTHEST))

    def is_outside(self, values: FloatArray) -> BoolArray:
        """Return which rows have a value beyond a wide gap."""
        return np.asarray((np.abs(self._find_gaps(values)) >= 1.0).any(axis=1))


def find_ranges(
    values: FloatArray, mass: FloatArray, places: tuple[int, ...], levels: tuple[int, ...] = ()
) -> ColumnRanges:
    """Find the ranges of some columns.

    Parameters
    ----------
    values : array of shape (n_rows, n_features)
        The rows.
    mass : array of shape (n_rows,)
        Their prior weights, which count rows.
    places : tuple of int
        The columns.
    levels : tuple of int
        Those among them that hold levels.

    Returns
    -------
    ColumnRanges
    """
    present = mass > 0
    chosen, mass = values[present], mass[present]
    wide = _find_width(float(mass.sum()), len(places))
    bounds = [
        _bound(np.asarray(chosen[:, place], dtype=np.float64), mass, wide, place in levels)
        for place in places
    ]
    low, high, below, above = np.array(bounds).reshape(-1, 4).T
    return ColumnRanges(places, low, high, below, above)


def _find_width(n_rows: float, n_columns: int) -> float:
    """Return how many times as wide as the values before it a gap must be."""
    columns_per_row = n_columns / max(n_rows, 1.0)
    return max(_WIDE, float((columns_per_row / _BY_CHANCE) ** (1 / _FALL)) - 1)


def _bound(
    column: FloatArray, mass: FloatArray, wide: float, are_levels: bool
) -> tuple[float, ...]:
    """Return the ends of the range of a column, and the gap that would be wide at each."""
    known = ~np.isnan(column)
    column, mass = column[known], mass[known]
    if not known.any():
        return 0.0, 0.0, np.inf, np.inf
    low = float(weighted_quantiles(column, mass, (_CORE,))[0])
    high = -float(weighted_quantiles(-column, mass, (_CORE,))[0])
    different, places = np.unique(column, return_inverse=True)
    if len(different) == 1:
        return low, high, np.inf, np.inf
    width = _find_least_width(column, mass, different)
    core = np.array([low, high])
    (low, high), gaps = _extend(different, core, width, wide)
    if are_levels:
        share = np.bincount(places, mass) / mass.sum()
        often = different[(share >= _OFTEN) | ((different >= core[0]) & (different <= core[1]))]
        if not _are_counts(often[(often >= low) & (often <= high)]):
            ends = _extend(often, core, width, _VERY_WIDE)[0]
            (low, high), gaps = _extend(different, ends, width, wide)
    return low, high, *gaps.tolist()


def _are_counts(levels: FloatArray) -> bool:
    """Whether rising levels are the first whole numbers: 0, 1 and so on."""
    return len(levels) > 1 and bool((levels == np.arange(len(levels))).all())


def _find_least_width(column: FloatArray, mass: FloatArray, different: FloatArray) -> float:
    """Return a width below which no gap is wide: that of some steps, and of half of the rows.

    Where many rows share one value, the others tell how far apart values are.
    """
    widths = [_LEAST_STEPS * float(np.diff(different).min())]
    for sign in (1.0, -1.0):  # an even number of rows has two medians
        middle = sign * float(weighted_quantiles(sign * column, mass, (0.5,))[0])
        others = column != middle
        apart = np.abs(column[others] - middle)
        widths.append(float(weighted_quantiles(apart, mass[others], (0.5,))[0]))
    return max(widths)


def _extend(
    values: FloatArray, ends: FloatArray, width: float, factor: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of a range that grows from given ones, and what is a wide gap at each."""
    low, high = ends
    top, above = _follow(values[values >= high], low, width, factor)
    bottom, below = _follow(-values[values <= low][::-1], -high, width, factor)
    return np.array([-bottom, top]), np.array([below, above])


def _follow(values: FloatArray, begin: float, width: float, factor: float) -> tuple[float, float]:
    """Return the last of rising values before a wide gap, and what is wide there."""
    wide = factor * np.maximum(values - begin, width)
    is_last = np.append(np.diff(values) >= wide[:-1], True)
    last = int(np.argmax(is_last))
    return float(values[last]), float(wide[last])
