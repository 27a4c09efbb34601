r"""Combinations of levels that hardly occur, although chance alone would bring them about.

A rare level is no mistake, but a pregnant man is. For levels a and b of two columns, with
:math:`n_a` and :math:`n_b` of :math:`n` rows, chance expects :math:`e_{ab} = n_a n_b / n` rows with
both. The hypothesis is that the combination occurs at least a tenth as often; its p-value after
:math:`n_{ab}` rows is :math:`P(N \le n_{ab})` for :math:`N \sim \mathrm{Poisson}(e_{ab} / 10)`.
For a rare level :math:`e_{ab}` is small, and so the p-value large.

Levels that depend on each other by degrees, such as a good and a bad grade, also avoid each other.
There, combinations become rarer by degrees, level by level; such cells are left alone, and so are
those one step beyond the possible ones. What is not told apart is a mistake and an exception, where
one of two levels all but determines the other (two answers with a correlation of 0.99 and more), or
where a column without an order meets one of two levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import gammaincc

from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.inference.false_discovery import count_rejections

# A combination is possible if it occurs at least this part of as often as chance expects.
_POSSIBLE = 0.1
# Cells that are rarer by so many standard deviations are no accident, even compared with the most
# frequent of several: clearly so in one column, and the other is not flat.
_CLEARLY_RARER, _RARER = -3.0, -1.0
# Columns with an order and so many levels are a scale, on which a step more or less is possible.
_SCALE = 3
# Cells of which chance expects fewer rows say nothing about the others.
_ENOUGH = 10.0


@dataclass(frozen=True)
class Combination:
    """A combination of two levels that hardly occurs.

    Attributes
    ----------
    columns : tuple of int
        The two columns.
    levels : tuple of float
        The level in each.
    seen : float
        Number of rows, by their mass.
    expected : float
        Number of rows that chance expects.
    p : float
        P-value of the hypothesis that the combination occurs at least a tenth as often as expected.
    """

    columns: tuple[int, int]
    levels: tuple[float, float]
    seen: float
    expected: float
    p: float


@dataclass(frozen=True)
class Combinations:
    """Combinations of levels that are impossible, as far as a table shows.

    Attributes
    ----------
    cells : tuple of Combination
        Those that occur in the table all the same, the least probable first.
    levels : tuple of arrays
        The levels of each column, in rising order.
    tables : dict of (int, int) to array of bool
        For pairs of columns, which combinations are impossible, also those that never occur. The
        last row and column are for unknown levels, of which nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.inference import find_combinations
    >>> is_male = np.repeat([1.0, 0.0], 1000)
    >>> is_pregnant = np.r_[1, np.zeros(1599), np.ones(400)]
    >>> found = find_combinations(np.column_stack([is_male, is_pregnant]), np.ones(2000), 0.01)
    >>> [(cell.levels, cell.seen, cell.expected) for cell in found.cells]
    [((1.0, 1.0), 1.0, 200.5)]
    >>> found.is_impossible(np.array([[1.0, 1.0], [0.0, 1.0], [7.0, 1.0]]))
    array([ True, False, False])
    """

    cells: tuple[Combination, ...]
    levels: tuple[FloatArray, ...]
    tables: dict[tuple[int, int], BoolArray]

    def is_impossible(self, codes: FloatArray) -> BoolArray:
        """Return which rows hold an impossible combination.

        Parameters
        ----------
        codes : array of shape (n_rows, n_columns)
            Levels of any rows. A combination that never occurred is impossible too, if chance
            expects it often enough. Unknown levels are no alarm.

        Returns
        -------
        array of bool of shape (n_rows,)
        """
        impossible: BoolArray = np.zeros(len(codes), dtype=np.bool_)
        for (first, second), table in self.tables.items():
            rows = _find_places(codes[:, first], self.levels[first])
            impossible |= table[rows, _find_places(codes[:, second], self.levels[second])]
        return impossible


def find_combinations(
    codes: FloatArray, mass: FloatArray, fdr: float, is_ordered: Sequence[bool] | None = None
) -> Combinations:
    """Find the impossible combinations of levels, by Benjamini-Hochberg over all that occur.

    Parameters
    ----------
    codes : array of shape (n_rows, n_columns)
        The levels: any numbers, of which equal ones are the same level.
    mass : array of shape (n_rows,)
        Prior weights, which count rows. For a table several times over, divide them by the number
        of copies, which are no evidence.
    fdr : float
        False-discovery rate among the combinations.
    is_ordered : sequence of bool, optional
        For each column, whether the order of its codes has a meaning; true by default. Levels in
        order may avoid each other by degrees.

    Returns
    -------
    Combinations

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.inference import find_combinations
    >>> rare = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [500, 500, 1], axis=0)
    >>> find_combinations(rare, np.ones(1001), 0.01).cells
    ()
    """
    present = (mass > 0) & ~np.isnan(codes).any(axis=1)
    found = [np.unique(column, return_inverse=True) for column in codes[present].T]
    ordered = [True] * len(found) if is_ordered is None else is_ordered
    counted = {
        (first, second): _Counts.of(found[first], found[second], mass[present])
        for first, second in combinations(range(len(found)), 2)
    }
    levels = tuple(np.asarray(values, dtype=np.float64) for values, _ in found)
    return _decide(counted, levels, fdr, ordered)


def _decide(
    counted: dict[tuple[int, int], _Counts],
    levels: tuple[FloatArray, ...],
    fdr: float,
    is_ordered: Sequence[bool],
) -> Combinations:
    """Decide which cells of all pairs of columns are impossible."""
    cuts = _choose_cuts(list(counted.values()), fdr)
    cells: list[Combination] = []
    tables = {}
    for pair, counts in counted.items():
        table = np.zeros((counts.seen.shape[0] + 1, counts.seen.shape[1] + 1), dtype=np.bool_)
        for place in counts.find_improbable(*cuts):
            if not counts.is_graded(place, [is_ordered[column] for column in pair]):
                table[place] = True
                cells.extend(counts.describe(place, pair, levels))
        if table.any():
            tables[pair] = table
    return Combinations(tuple(sorted(cells, key=lambda cell: cell.p)), levels, tables)


def _choose_cuts(counted: Sequence[_Counts], fdr: float) -> tuple[float, float]:
    """Return up to which p-value a cell that occurs, or one that never occurs, is impossible."""
    p_values = [counts.p_values[counts.seen > 0] for counts in counted]
    p = np.concatenate([np.zeros(0), *p_values])
    if not len(p):
        return 0.0, 0.0

    def count(cuts: FloatArray) -> FloatArray:
        return np.asarray(np.sum(p[:, None] <= cuts, axis=0), dtype=np.float64)

    # What never occurs is no discovery in this table. New rows are judged one by one: no cell of
    # all may be called impossible by accident.
    n_cells = sum(counts.seen.size for counts in counted)
    return fdr * count_rejections(count, float(len(p)), fdr) / len(p), fdr / n_cells


@dataclass(frozen=True)
class _Counts:
    """A table of the mass of each combination of the levels of two columns."""

    seen: FloatArray

    @classmethod
    def of(
        cls,
        first: tuple[FloatArray, IntArray],
        second: tuple[FloatArray, IntArray],
        mass: FloatArray,
    ) -> _Counts:
        shape = len(first[0]), len(second[0])
        places = first[1].ravel() * shape[1] + second[1].ravel()
        counts = np.bincount(places, mass, minlength=shape[0] * shape[1])
        return cls(counts.astype(np.float64).reshape(shape))

    @cached_property
    def expected(self) -> FloatArray:
        products = np.outer(self.seen.sum(axis=1), self.seen.sum(axis=0))
        return np.asarray(products / self.seen.sum())

    @cached_property
    def p_values(self) -> FloatArray:
        # The Poisson distribution function, also between whole numbers.
        return np.asarray(gammaincc(self.seen + 1, _POSSIBLE * self.expected))

    @cached_property
    def is_possible(self) -> BoolArray:
        """Whether a cell clearly is no impossible one."""
        enough = self.expected >= _ENOUGH
        return np.asarray(enough & (self.seen >= _POSSIBLE * self.expected))

    def find_improbable(self, cut: float, cut_of_unseen: float) -> Iterator[tuple[int, int]]:
        cuts = np.where(self.seen > 0, cut, cut_of_unseen)
        for row, column in np.argwhere((self.p_values <= cuts) & (cuts > 0)):
            yield int(row), int(column)

    def is_graded(self, place: tuple[int, int], is_ordered: Sequence[bool]) -> bool:
        """Whether cells become rare by degrees towards this one, in all columns that have degrees.

        A single column without an order has no degrees: some of its levels are rare anyway. Where
        a level of one scale all but determines that of another, a step beyond is a degree.
        """
        lines = [self._cut_line(place, axis) for axis in (0, 1)]
        are_scales = all(is_ordered) and min(self.seen.shape) >= _SCALE
        if are_scales and any(lines[axis].is_edge(place[axis]) for axis in (0, 1)):
            return True
        # One possible cell alone has no degrees.
        axes = [axis for axis in (0, 1) if np.count_nonzero(lines[axis].is_possible) > 1]
        if len(axes) < 2 and not any(is_ordered[axis] for axis in axes):
            return False
        drops = [
            lines[axis].measure_drop(place[axis]) if is_ordered[axis] else lines[axis].unevenness
            for axis in axes
        ]
        is_even = [lines[axis].unevenness > _CLEARLY_RARER for axis in axes]
        is_flat = [drop > _RARER and even for drop, even in zip(drops, is_even, strict=True)]
        return min(drops) < _CLEARLY_RARER and not any(is_flat)

    def _cut_line(self, place: tuple[int, int], axis: int) -> _Line:
        """Return the cells that differ from a cell in one level only."""
        line = (slice(None), place[1]) if axis == 0 else (place[0], slice(None))
        return _Line(self.seen[line], self.expected[line], self.is_possible[line])

    def describe(
        self, place: tuple[int, int], pair: tuple[int, int], levels: tuple[FloatArray, ...]
    ) -> Iterator[Combination]:
        """Yield the combination, if it occurs."""
        if self.seen[place] > 0:
            values = float(levels[pair[0]][place[0]]), float(levels[pair[1]][place[1]])
            seen, expected = float(self.seen[place]), float(self.expected[place])
            yield Combination(pair, values, seen, expected, float(self.p_values[place]))


@dataclass(frozen=True)
class _Line:
    """Cells that share a level of one column."""

    seen: FloatArray
    expected: FloatArray
    is_possible: BoolArray

    @property
    def unevenness(self) -> float:
        """How much rarer the rarest possible cell is than the most frequent, below zero."""
        places = np.flatnonzero(self.is_possible)
        return self._compare(places[np.argsort(self.seen[places] / self.expected[places])])

    def is_edge(self, place: int) -> bool:
        """Whether a place is the first beyond few possible cells, all on one side of it."""
        if 2 * np.count_nonzero(self.is_possible) > len(self.seen):
            return False
        before, after = self.is_possible[:place], self.is_possible[place + 1 :]
        is_beyond = bool(before[-1:].any()) and not after.any()
        return is_beyond or (bool(after[:1].any()) and not before.any())

    def measure_drop(self, place: int) -> float:
        """Return how much rarer cells become towards a place, in standard deviations, below zero.

        The least of both sides counts: a cell next to frequent ones is impossible by itself.
        """
        before, after = np.arange(place)[::-1], np.arange(place + 1, len(self.seen))
        sides = [side[self.is_possible[side]] for side in (before, after)]
        return max(self._compare(side) for side in sides if len(side))

    def _compare(self, side: IntArray) -> float:
        """Compare the nearest of some cells with the most frequent of them."""
        ratio = self.seen[side] / self.expected[side]
        variance = self.seen[side] / self.expected[side] ** 2
        most = int(np.argmax(ratio))
        return float((ratio[0] - ratio[most]) / np.sqrt(variance[0] + variance[most]))


def _find_places(codes: FloatArray, levels: FloatArray) -> IntArray:
    """Return the place of each code among sorted levels; the last place if it is unknown."""
    places = np.searchsorted(levels, codes)
    return np.where(np.append(levels, np.nan)[places] == codes, places, len(levels))
