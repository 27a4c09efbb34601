"""How numbers are written: 3.7 children, or a negative price, are odd whatever their size.

Nearly all numbers of a column may have at most some decimals, or none below zero. Those that are
written otherwise are surprising by how rare that is among the rows that belong,

    surprise = -log(share of good rows with a number written so rarely),

in the same unit as minus the log of a p-value, to which it adds up. A share counts twice the rows
that lie in the middle of the others, for good rows do half of the time and mistakes rarely do.

What a number's size explains is no way of writing. Numbers with four significant digits have more
decimals if they are small, and the lower tail of a column may reach below zero: then nearly all
numbers of that size are written so.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eosparse.core import BoolArray, FloatArray, weighted_quantiles
from eosparse.rows.parallel import map_parallel

# A way of writing is rare in a column up to this share of its rows.
_RARE = 0.03
# Columns that are looked at together.
_BLOCK = 128
# Relative error of a number that is mere rounding, in single precision.
_ROUNDING = 1e-7
# Usual numbers for each that is written otherwise, up to the same size, or half of it. Where a
# column has a tail below zero there are one or two; at a bound of zero, hundreds.
_USUAL_EACH = {"decimals": 1.0, "sign": 20.0}
_PART_OF_SIZE = {"decimals": 1.0, "sign": 0.5}

MOST_DECIMALS = 4
"""Numbers with more decimals are as good as continuous."""


@dataclass(frozen=True)
class RareWriting:
    """Columns in which some numbers are written otherwise than nearly all.

    Attributes
    ----------
    places : tuple of int
        The columns.
    decimals : array of shape (n_places,)
        How many decimals nearly all numbers have at most.
    more : array of shape (n_places,)
        Surprise of numbers with more decimals; 0 if that is not rare.
    below_zero : array of shape (n_places,)
        Surprise of negative numbers; 0 if they are not rare.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import find_rare_writing
    >>> children = np.r_[np.arange(400) % 6, 2.5, -3][:, None]
    >>> usual = np.arange(402) < 200
    >>> rare = find_rare_writing(children, np.ones(402), usual, (0,))
    >>> rare.surprise(np.array([[3.0], [3.7], [-1.0]])).round(1).tolist()
    [0.0, 6.0, 6.0]
    """

    places: tuple[int, ...]
    decimals: FloatArray
    more: FloatArray
    below_zero: FloatArray

    def surprise(self, values: FloatArray) -> FloatArray:
        """Return the surprise of each row: that of its most surprising number."""
        return np.asarray(self._measure(values).max(axis=1))

    def blame(self, deviations: FloatArray, values: FloatArray) -> FloatArray:
        """Return deviations whose squares count surprise, as those of a normal law do."""
        blamed, places = deviations.copy(), list(self.places)
        found = deviations[:, places]
        size = np.sqrt(np.square(found) + 2 * self._measure(values))
        blamed[:, places] = np.where(found < 0, -size, size)
        return blamed

    def _measure(self, values: FloatArray) -> FloatArray:
        chosen = np.asarray(values[:, list(self.places)], dtype=np.float64)
        found = np.zeros(chosen.shape)
        for j, column in enumerate(chosen.T):
            if self.more[j] > 0:
                found[_has_more_decimals(column, int(self.decimals[j])), j] = self.more[j]
            if self.below_zero[j] > 0:
                found[:, j] = np.maximum(found[:, j], self.below_zero[j] * (column < 0))
        return found


@dataclass(frozen=True)
class _Rare:
    """Rows with a number that is written otherwise than nearly all of its column."""

    place: int
    name: str
    decimals: int
    rows: BoolArray


def find_rare_writing(
    values: FloatArray, mass: FloatArray, is_usual: BoolArray, places: tuple[int, ...]
) -> RareWriting | None:
    """Find rare ways of writing, and how surprising each is.

    Parameters
    ----------
    values : array of shape (n_rows, n_features)
        The rows.
    mass : array of shape (n_rows,)
        Their prior weights, which count rows.
    is_usual : array of bool of shape (n_rows,)
        Which rows lie in the middle of the others, as half of the good rows do.
    places : tuple of int
        The columns of numbers.

    Returns
    -------
    RareWriting or None
        None if nothing is rare.
    """
    chosen = _choose_columns(values, mass, places)
    rare = [found for place in chosen for found in _list_rare(values[:, place], mass, place)]
    if not rare:
        return None
    shares = np.array([_count_good(found.rows, mass, is_usual) for found in rare])
    surprises = [
        -np.log(_count_good(_join(rare, shares <= share), mass, is_usual)) for share in shares
    ]
    chosen = sorted({found.place for found in rare})
    table = {name: np.zeros(len(chosen)) for name in _USUAL_EACH}
    decimals = np.zeros(len(chosen))
    for found, surprise in zip(rare, surprises, strict=True):
        place = chosen.index(found.place)
        table[found.name][place] = max(surprise, 0.0)
        decimals[place] = max(found.decimals, decimals[place])
    return RareWriting(tuple(chosen), decimals, table["decimals"], table["sign"])


def _choose_columns(values: FloatArray, mass: FloatArray, places: tuple[int, ...]) -> list[int]:
    """Return the columns with few decimals, or few numbers below zero; some hundred at a time."""

    def choose(part: tuple[int, ...]) -> list[int]:
        block = np.asarray(values[:, list(part)], dtype=np.float64)
        most = _RARE * (mass @ ~np.isnan(block))
        n_below = mass @ (block < 0)
        has_few = mass @ _has_more_decimals(block, MOST_DECIMALS) <= most
        is_asked = has_few | ((n_below > 0) & (n_below <= most))
        return [place for place, is_one in zip(part, is_asked, strict=True) if is_one]

    parts = [places[i : i + _BLOCK] for i in range(0, len(places), _BLOCK)]
    return list(itertools.chain.from_iterable(map_parallel(choose, parts)))


def _list_rare(column: FloatArray, mass: FloatArray, place: int) -> Iterator[_Rare]:
    column = np.asarray(column, dtype=np.float64)
    n_known = float(mass[~np.isnan(column)].sum())
    decimals = _count_decimals(column, mass, n_known)
    ways = {"sign": column < 0}
    if decimals is not None:
        ways["decimals"] = _has_more_decimals(column, decimals)
    for name, rows in ways.items():
        share = mass[rows].sum()
        if 0 < share <= _RARE * n_known and not _has_own_size(column, mass, rows, name):
            yield _Rare(place, name, decimals or 0, rows)


def _count_decimals(column: FloatArray, mass: FloatArray, n_known: float) -> int | None:
    """Return the decimals that nearly all numbers have at most; None if they have many."""

    def is_enough(decimals: int) -> bool:
        return bool(mass[_has_more_decimals(column, decimals)].sum() <= _RARE * n_known)

    if not is_enough(MOST_DECIMALS):  # most columns of measurements end here
        return None
    return next(filter(is_enough, range(MOST_DECIMALS + 1)))


def _has_more_decimals(numbers: FloatArray, decimals: int) -> BoolArray:
    """Return which numbers have more decimals; gaps have none."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows has no decimals
        scaled = numbers * 10.0**decimals
        return np.asarray(np.abs(np.rint(scaled) - scaled) > _ROUNDING * np.abs(scaled))


def _has_own_size(column: FloatArray, mass: FloatArray, rows: BoolArray, name: str) -> bool:
    """Whether numbers of the same size and less are mostly written so too."""
    size = np.abs(column)
    middle = weighted_quantiles(size[rows], mass[rows], (0.5,))[0]
    usual = mass[~rows & (size <= _PART_OF_SIZE[name] * middle)].sum()
    others = mass[rows & (size <= middle)].sum()
    return bool(usual < _USUAL_EACH[name] * others)


def _join(rare: list[_Rare], chosen: BoolArray) -> BoolArray:
    """Return the rows that are in one of some sets."""
    return np.asarray(
        np.any([found.rows for found, is_in in zip(rare, chosen, strict=True) if is_in], axis=0)
    )


def _count_good(rows: BoolArray, mass: FloatArray, is_usual: BoolArray) -> float:
    """Return the share of good rows in a set: twice those in the middle, and one more."""
    good = min(float(mass[rows].sum()), 2 * float(mass[rows & is_usual].sum()))
    return (good + 1) / (float(mass.sum()) + 1)
