"""Levels that contradict the numbers beside them: what a row says about its own category.

Each level shifts the numbers by its effect (`LevelEffects`). A row has an error under each level
that it might have, with its wrong cells set aside, and so a chance of each by Bayes' rule. With one
level in a hundred wrong beforehand, a level whose chance is below the false-discovery rate is a
wrong cell, and the most probable other one is suggested.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtrc

from eosparse.core import BoolArray, FloatArray

if TYPE_CHECKING:
    from eosparse.fitting.cell_fit import CellFit, CellVerdict

# Of levels, how many are wrong before the numbers are looked at.
_WRONG = 0.01
# More levels than this are names, and not compared.
_MOST_LEVELS = 50
# Rows with smaller p-values may have another level.
_DOUBTFUL = 0.05
# Chances below this one suggest another level, under which the numbers are judged.
_SUGGESTED = 0.05


@dataclass(frozen=True)
class LevelColumn:
    """A column of levels that have effects: its place, its levels and their shares."""

    place: int
    levels: FloatArray
    shares: FloatArray


@dataclass(frozen=True)
class LevelCells:
    """The columns of levels whose cells can be judged.

    Examples
    --------
    >>> LevelCells(()).columns
    ()
    """

    columns: tuple[LevelColumn, ...]

    def judge(self, fit: CellFit, values: FloatArray) -> tuple[FloatArray, dict[int, FloatArray]]:
        """Return rows with the levels that they probably have, and the chance of those given."""
        if not self.columns:
            return values, {}
        found: FloatArray = np.array(values, dtype=np.float64)
        chances: dict[int, FloatArray] = {}
        doubtful = _find_doubtful(fit, values)
        for column in self.columns:
            of_given = np.ones(len(values))
            rows = np.flatnonzero(doubtful & np.isin(values[:, column.place], column.levels))
            if len(rows):
                chance, best = _compare_levels(fit, found[rows], column)
                of_given[rows] = chance
                is_other = chance < _SUGGESTED
                found[rows[is_other], column.place] = best[is_other]
            chances[column.place] = of_given
        return found, chances

    def add(
        self,
        verdict: CellVerdict,
        values: FloatArray,
        found: FloatArray,
        chances: dict[int, FloatArray],
    ) -> CellVerdict:
        """Return a verdict with the chances of levels and those that are suggested."""
        if not chances:
            return verdict
        weights, p_values = verdict.weights.copy(), verdict.p_values.copy()
        expected = verdict.expected.copy()
        for place, chance in chances.items():
            there = ~np.isnan(values[:, place])
            weights[there, place] = p_values[there, place] = chance[there]
            expected[:, place] = found[:, place]
        return replace(verdict, weights=weights, p_values=p_values, expected=expected)


def _find_doubtful(fit: CellFit, values: FloatArray) -> BoolArray:
    """Return the rows that lie far out under their own levels, with or without some cells."""
    z = fit.view(values)
    cells = fit.model.choose(z, fit.law)
    is_far = chdtrc(np.maximum(cells.kept.sum(axis=1), 1), cells.distances) < _DOUBTFUL
    return np.asarray(is_far | (~cells.kept & ~np.isnan(z)).any(axis=1))


def _compare_levels(
    fit: CellFit, rows: FloatArray, column: LevelColumn
) -> tuple[FloatArray, FloatArray]:
    """Return the chance of the level that each row has, and the most probable other one."""
    size, theta = fit.model.n_features, fit.law
    logs = np.empty((len(rows), len(column.levels)))
    trial = rows.copy()
    for k, level in enumerate(column.levels):
        trial[:, column.place] = level
        logs[:, k] = np.log(column.shares[k]) - size * fit.model.errors(fit.view(trial), theta)
    given: BoolArray = rows[:, column.place][:, None] == column.levels
    own = (logs * given).sum(axis=1) - np.log(column.shares) @ given.T
    others = np.where(given, -np.inf, logs)
    top = others.max(axis=1)
    rest = np.log(np.maximum(1 - column.shares @ given.T, 1e-12))
    beside = top + np.log(np.exp(others - top[:, None]).sum(axis=1)) - rest
    odds = np.log(_WRONG / (1 - _WRONG)) + beside - own
    return 1 / (1 + np.exp(np.clip(odds, -700, 700))), column.levels[others.argmax(axis=1)]


def learn_level_cells(fit: CellFit, values: FloatArray, mass: FloatArray) -> LevelCells:
    """Find the columns of levels that have effects on the numbers."""
    found = []
    effects = fit.view.effects
    for place, levels, steps in zip(fit.view.levels, effects.levels, effects.steps, strict=True):
        if not 2 <= len(levels) <= _MOST_LEVELS or not np.any(steps):
            continue
        shares = np.array([mass[values[:, place] == level].sum() for level in levels])
        found.append(LevelColumn(int(place), levels, shares / shares.sum()))
    return LevelCells(tuple(found))
