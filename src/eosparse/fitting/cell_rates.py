"""Where a cell is wrong: false-discovery control over all cells, in two passes over the rows.

A flagged cell may be right in two ways. It may lie far out by chance: its p-value tells, and
Benjamini-Hochberg bounds the share of these. Or another cell of its row may be wrong instead: a
chance tells, and cells are flagged while the mean of these chances stays below the rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.fitting.cell_fit import CellFit, CellVerdict, check_p_values
from eosparse.inference import Promise, TailCheck, count_rejections
from eosparse.rows import Table

# P-values and chances are counted in steps of their logarithm to base ten.
_STEPS, _SMALLEST = 64, 300
# Flags at a rate smaller by this factor allow for the error of p-values far in the tail.
_ALLOWANCE = 1.15
# Chances of rivals rest on a law that is only found: their mean is kept this much smaller.
_SAFETY = 3.0
# With more wrong cells than this share, rows have several, and good ones are blamed more often.
_MANY = 0.03
# A column with more wrong cells than this share may hold several groups. With more than that, or if
# it stands alone by such a factor among the columns, no cell of it is called wrong.
_MANY_OF_COLUMN, _MOST_OF_COLUMN, _ALONE = 0.1, 0.25, 3.0
# Rows that are wrong as a whole say nothing about a column. With more than this share they may be
# a group of rows, such as the large cities of a country, and count.
_MANY_ROWS = 0.15
# Of the wrong cells, so many just beyond the others are a tail; fewer are chance.
_TAIL, _FEW_NEAR = 0.4, 5


@dataclass(frozen=True)
class CellCut:
    """Up to which p-value, and which chance of a rival, cells are wrong; and what is promised."""

    p_value: float
    rival: float
    promise: Promise
    groups: IntArray  # columns of which so many cells lie apart that none is called wrong

    def find_wrong(self, verdict: CellVerdict) -> BoolArray:
        """Return which cells of numbers are wrong."""
        with np.errstate(invalid="ignore"):  # gaps
            is_wrong = (verdict.p_values <= self.p_value) & (verdict.rivals <= self.rival)
        is_wrong[:, self.groups] = False
        return np.asarray(is_wrong)


@dataclass(frozen=True)
class _Flags:
    """Counts of flagged cells, which add up: rivals by chance, flags by column, and the check.

    Flags by column, and the mass of the rows, of rows that are wrong as a whole and of the others.
    """

    rivals: FloatArray
    columns: FloatArray  # of shape (2, n_columns)
    mass: FloatArray  # of shape (2,)
    check: TailCheck

    @property
    def shares(self) -> FloatArray:
        """Share of each column that is flagged, as far as it tells of the column."""
        wrong_rows, rows = self.mass
        if wrong_rows > _MANY_ROWS * (wrong_rows + rows):
            return np.asarray(self.columns.sum(axis=0) / (wrong_rows + rows))
        return np.asarray(self.columns[1] / rows)

    def __add__(self, other: _Flags) -> _Flags:
        return _Flags(
            self.rivals + other.rivals,
            self.columns + other.columns,
            self.mass + other.mass,
            self.check + other.check,
        )


def find_cell_cut(fit: CellFit, table: Table, fdr: float) -> CellCut:
    """Return the cut over all cells of numbers.

    Where the tail of the p-values is too heavy, logarithms beyond it are taken as too large by the
    factor by which they are in it, and fewer cells are flagged.
    """
    names = [fit.columns[int(place)].name for place in fit.view.places]
    groups = np.zeros(len(names), dtype=np.bool_)
    bins, level, flags = _find_flags(fit, table, fdr, groups)
    promise = _decide(flags, names)
    if (groups := _find_groups(flags)).any():  # their cells tell nothing about the others
        bins, level, flags = _find_flags(fit, table, fdr, groups)
    if not promise and flags.check.excess > 1.0:
        heavier = flags.check.logs / max(flags.check.tail, 1.0)
        level = _find_level(bins, fdr, power=max(heavier, 1.0))
        flags = _count_flags(fit, table, level, groups)
    rival = _find_rival_cut(flags.rivals, fdr / _SAFETY)
    return CellCut(level, rival, promise, fit.view.places[groups])


def _find_flags(
    fit: CellFit, table: Table, fdr: float, groups: BoolArray
) -> tuple[FloatArray, float, _Flags]:
    """Return p-values counted, the level of the rate, and the flags there; but for some columns."""
    bins = _count(table, lambda values: _leave_out(fit.compare(values).p_values, groups))
    level = _find_level(bins, fdr)
    return bins, level, _count_flags(fit, table, level, groups)


def _find_groups(flags: _Flags) -> BoolArray:
    """Return the columns of which so many cells lie apart that they are a group, not wrong."""
    shares = flags.shares
    alone = (shares > _MANY_OF_COLUMN) & (shares > _ALONE * np.median(shares))
    return np.asarray(alone | (shares > _MOST_OF_COLUMN))


def _leave_out(p_values: FloatArray, columns: BoolArray) -> FloatArray:
    return np.where(columns, np.nan, p_values) if columns.any() else p_values


def _count_flags(fit: CellFit, table: Table, level: float, groups: BoolArray) -> _Flags:
    """Count the cells with p-values up to a level, in one pass."""

    def count(values: FloatArray, prior: FloatArray | None) -> _Flags:
        compared, mass = fit.compare(values), np.ones(len(values)) if prior is None else prior
        p_values = _leave_out(compared.p_values, groups)
        with np.errstate(invalid="ignore"):
            flagged = p_values <= level
        rows, _ = np.nonzero(flagged)
        rivals = _bin(fit.find_rivals(compared)[flagged], mass[rows])
        check = check_p_values(p_values, mass, level)
        masses = np.where(compared.is_wrong_row, [mass, 0.0 * mass], [0.0 * mass, mass])
        return _Flags(rivals, masses @ flagged, masses.sum(axis=1), check)

    return table.fold(count)


def find_row_cut(fit: CellFit, table: Table, fdr: float) -> float:
    """Return the p-value up to which rows do not belong as they are."""
    return _find_level(_count(table, lambda values: fit.judge_rows(values)[:, None]), fdr)


def _decide(flags: _Flags, names: list[str]) -> Promise:
    check, worst = flags.check, int(flags.shares.argmax())
    if (share := flags.shares[worst]) > _MANY_OF_COLUMN:
        return Promise(False, f"{share:.0%} of {names[worst]!r} lie apart, and may be a group")
    if check.flagged > _MANY * check.total:
        return Promise(
            False,
            f"{check.flagged / check.total:.1%} of the cells lie apart: so many may hide others",
        )
    if check.near > _TAIL * check.flagged and check.near >= _FEW_NEAR:
        return Promise(
            False, f"{check.near:.0f} cells lie just beyond the others, and may be a tail"
        )
    if not check.passes:
        why_not = check.why_not.replace("rows", "cells")
        return Promise(False, f"the cells do not follow the law of the model: {why_not}")
    if not check.convinces:
        return Promise(False, "it is not clear that the cells follow the law of the model")
    return Promise(True, "the p-values of the cells that belong are as the law says")


def _count(table: Table, judge: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Count p-values by their logarithms, in one pass."""

    def count(values: FloatArray, prior: FloatArray | None) -> FloatArray:
        p_values = judge(values)
        mass = np.ones(len(values)) if prior is None else prior
        there = ~np.isnan(p_values)
        return _bin(p_values[there], np.broadcast_to(mass[:, None], p_values.shape)[there])

    return table.fold(count)


def _find_level(bins: FloatArray, fdr: float, power: float = 1.0) -> float:
    """Return the last rejection of Benjamini-Hochberg on p^(1/power); 0 if there is none."""
    beyond = np.append(np.cumsum(bins[::-1])[::-1], 0.0)  # with p-values up to 10^(-k/_STEPS)
    total, rate = float(bins.sum()), fdr / _ALLOWANCE

    def count_up_to(levels: FloatArray) -> FloatArray:
        logs = power * np.log10(np.maximum(levels, 10.0**-_SMALLEST))
        places = np.ceil(-_STEPS * logs - 1e-9)
        return np.asarray(beyond[np.clip(places, 0, len(bins)).astype(np.int64)])

    n_rejected = count_rejections(count_up_to, total, rate) if total > 0 else 0.0
    return float((rate * n_rejected / total) ** power) if n_rejected > 0 else 0.0


def _bin(chances: FloatArray, masses: FloatArray) -> FloatArray:
    """Count chances by their logarithms, from one down."""
    logs = -np.log10(np.maximum(chances, 10.0**-_SMALLEST))
    bins = np.minimum(np.floor(_STEPS * logs).astype(np.int64), _STEPS * _SMALLEST)
    return np.asarray(np.bincount(bins, masses, _STEPS * _SMALLEST + 1), dtype=np.float64)


def _find_rival_cut(bins: FloatArray, fdr: float) -> float:
    """Return the largest chance up to which the mean of the chances is at most the rate."""
    chances = 10.0 ** (-np.arange(len(bins)) / _STEPS)  # the largest of each bin
    counts = np.cumsum(bins[::-1])[::-1]
    sums = np.cumsum((bins * chances)[::-1])[::-1]
    kept = np.flatnonzero(sums <= fdr * np.maximum(counts, 1e-300))
    return float(chances[kept[0]]) if len(kept) else 0.0
