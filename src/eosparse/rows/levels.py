"""The effect of levels on numbers, taken out of them: a person is tall *for a woman*.

Indicators of levels are tied in most rows, which makes a robust covariance singular and every rare
level an outlier. Instead, the median of each level is subtracted from the numbers. With several
columns of levels this is Tukey's median polish. Levels whose medians differ by chance have no
effect: where a column of numbers has two peaks, the medians of levels jump from one to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from eosparse.core import BoolArray, FloatArray, IntArray, interpolate_quantiles

# The median of fewer rows is too noisy to be subtracted.
_FEWEST_ROWS = 10
# Level of the test whether medians of levels differ.
_BY_CHANCE = 0.001
# With several columns of levels, a second sweep of the median polish corrects the first.
_SWEEPS = 2
# Of numbers in units of their spread.
_DECIMALS = 9

UNSEEN = -(2.0**-100)
"""The code of a level that a reader has not learned: a number that single precision holds, and that
no column of levels does."""


@dataclass(frozen=True)
class LevelEffects:
    """How far the rows of each level lie from all rows, in every column of numbers.

    Attributes
    ----------
    levels : tuple of arrays
        For each column of levels, those that have an effect, in rising order.
    steps : tuple of arrays of shape (n_levels, n_numbers)
        Their effects.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import LevelEffects
    >>> effects = LevelEffects((np.array([0.0, 1.0]),), (np.array([[-0.5], [0.5]]),))
    >>> effects.subtract(np.array([[3.0], [3.0], [3.0]]), np.array([[0.0], [1.0], [7.0]])).ravel()
    array([3.5, 2.5, 3. ])
    """

    levels: tuple[FloatArray, ...]
    steps: tuple[FloatArray, ...]

    def subtract(self, z: FloatArray, level_codes: FloatArray) -> FloatArray:
        """Return numbers without the effects of their rows' levels; rare levels have none.

        The effect of a level that is missing, or was never seen, is unknown. Numbers that it can
        explain are missing then, and others keep what it leaves.

        Parameters
        ----------
        z : array of shape (n_rows, n_numbers)
            The numbers of a block of rows.
        level_codes : array of shape (n_rows, n_level_columns)
            Their levels; `UNSEEN` for one that was never seen.

        Returns
        -------
        array of shape (n_rows, n_numbers)
            In float64.
        """
        left = np.array(z, dtype=np.float64)
        for codes, levels, steps in zip(level_codes.T, self.levels, self.steps, strict=True):
            left -= _look_up(codes, levels, steps)
            is_unknown = (codes == UNSEEN) | np.isnan(codes)
            if is_unknown.any():
                left[is_unknown] = _subtract_unknown(left[is_unknown], steps)
        return left

    def add_up(self, level_codes: FloatArray, n_numbers: int) -> FloatArray:
        """Return the sum of the effects of each row's levels; unknown and rare levels have none.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse.rows import LevelEffects
        >>> effects = LevelEffects((np.array([0.0, 1.0]),), (np.array([[-0.5], [0.5]]),))
        >>> effects.add_up(np.array([[0.0], [1.0], [np.nan]]), 1).ravel()
        array([-0.5,  0.5,  0. ])
        """
        total = np.zeros((len(level_codes), n_numbers))
        for codes, levels, steps in zip(level_codes.T, self.levels, self.steps, strict=True):
            total += _look_up(codes, levels, steps)
        return total


def _look_up(codes: FloatArray, levels: FloatArray, steps: FloatArray) -> FloatArray:
    """Return the effect of each code; none if it is unknown or rare."""
    with_none = np.vstack([steps, np.zeros((1, steps.shape[1]))])
    return np.asarray(with_none[_find_places(codes, levels)])


def _subtract_unknown(z: FloatArray, steps: FloatArray) -> FloatArray:
    """Return what no effect of an unknown level explains; NaN where one does.

    A new level may lie beyond those that are known, as far as these lie apart.
    """
    low, high = steps.min(axis=0, initial=0.0), steps.max(axis=0, initial=0.0)
    nearest = np.clip(z, 2 * low - high, 2 * high - low)
    return np.where((z == nearest) & (low < high), np.nan, z - nearest)


def _find_places(codes: FloatArray, levels: FloatArray) -> IntArray:
    """Return the place of each code among sorted levels; one beyond the last if it is not there."""
    places = np.searchsorted(levels, codes)
    known = np.append(levels, np.nan)[places] == codes
    return np.where(known, places, len(levels))


def learn_effects(z: FloatArray, level_codes: FloatArray, mass: FloatArray) -> LevelEffects:
    """Learn the effect of each level: the median of its rows, less that of all rows.

    Levels with fewer than ten rows have no effect, and none has if medians differ by chance.

    Parameters
    ----------
    z : array of shape (n_rows, n_numbers)
        Columns of numbers.
    level_codes : array of shape (n_rows, n_level_columns)
        Columns of levels: any numbers, of which equal ones are the same level.
    mass : array of shape (n_rows,)
        Prior weights, which count rows.

    Returns
    -------
    LevelEffects

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import learn_effects
    >>> women, men = np.linspace(1.5, 1.8, 91), np.linspace(1.6, 1.9, 91)
    >>> heights, sex = np.append(women, men)[:, None], np.repeat([0.0, 1.0], 91)[:, None]
    >>> learn_effects(heights, sex, np.ones(182)).steps[0].ravel().round(3)
    array([-0.05,  0.05])
    """
    if not level_codes.shape[1]:
        return LevelEffects((), ())
    present = mass > 0
    z, level_codes, mass = z[present], level_codes[present], mass[present]
    found = [_find_levels(codes, mass) for codes in level_codes.T]
    steps = [np.zeros((len(levels), z.shape[1])) for levels in found]
    left = z - _compute_medians(z, mass)
    rows_of = [
        [np.flatnonzero(codes == level) for level in levels]
        for codes, levels in zip(level_codes.T, found, strict=True)
    ]
    differ: dict[int, BoolArray] = {}
    for _ in range(_SWEEPS if len(found) > 1 else 1):
        for place, (rows, step) in enumerate(zip(rows_of, steps, strict=True)):
            if place not in differ:
                differ[place] = _test_medians(left, rows, mass)
            step += _sweep(left, rows, differ[place], mass)
    return LevelEffects(tuple(found), tuple(steps))


def _find_levels(codes: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the levels with enough rows, in rising order."""
    known = ~np.isnan(codes)
    levels, places = np.unique(codes[known], return_inverse=True)
    has_enough = np.bincount(places, mass[known], minlength=len(levels)) >= _FEWEST_ROWS * (
        1 - 1e-9
    )
    return np.asarray(levels[has_enough], dtype=np.float64)


def _sweep(
    left: FloatArray, rows_of: Sequence[IntArray], differ: BoolArray, mass: FloatArray
) -> FloatArray:
    """Subtract the median of each level's rows in place, and return these medians."""
    steps = np.zeros((len(rows_of), left.shape[1]))
    for place, rows in enumerate(rows_of):
        steps[place] = np.where(differ, _compute_medians(left[rows], mass[rows]), 0.0)
        left[rows] -= steps[place]
    return steps


def _test_medians(left: FloatArray, rows_of: Sequence[IntArray], mass: FloatArray) -> BoolArray:
    """Whether the medians of levels differ more than by chance, for each column.

    Mood's test: of each level, about as many rows lie above the median of all as of all rows.
    """
    above = np.sign(left - _compute_medians(left, mass))
    known = ~np.isnan(above)  # gaps say nothing
    total = np.maximum(mass @ known, 1e-300)
    # Shared values may leave more than half on one side.
    excess = np.where(known, above - mass @ np.nan_to_num(above) / total, 0.0)
    variance = np.maximum(mass @ np.square(excess) / total, 1e-300)
    sums = [np.square(mass[rows] @ excess[rows]) / mass[rows].sum() for rows in rows_of]
    chi_squared = np.sum(sums, axis=0) / variance
    return np.asarray(chdtrc(max(len(sums) - 1, 1), chi_squared) < _BY_CHANCE)


def _compute_medians(values: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the median of the values of each column that are there; 0 if none is.

    Of values that many rows share, it lies between them. Otherwise subtracting it would put the
    medians of all levels in one place, which may then hold most of the rows.
    """
    return np.array([_compute_median(column, mass) for column in values.T])


def _compute_median(column: FloatArray, mass: FloatArray) -> float:
    known = ~np.isnan(column)
    if not known.any():
        return 0.0
    # What is equal but for rounding is one value.
    rounded = np.round(column[known].astype(np.float64), _DECIMALS)
    return float(interpolate_quantiles(rounded, mass[known], np.array([0.5]))[0])
