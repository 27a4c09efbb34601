"""Rows as the models of the ladder see them: numbers by their margins, without their levels.

Columns of levels and categories are no coordinates of a Gaussian. Their effect on the numbers is
taken out instead. Local distances also use levels as numbers: there, ties do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.rows.kinds import ColumnKind, Kind
from eosparse.rows.levels import LevelEffects, learn_effects
from eosparse.rows.margins import Margins, fit_margins

_NUMBERS = (Kind.NUMBER, Kind.DATE)


@dataclass(frozen=True)
class TableView:
    """A map from rows as stored to coordinates that models see.

    Attributes
    ----------
    n_features : int
        Number of columns of the table.
    places : array of int
        The column of each coordinate.
    margins : Margins
        How these columns become normal scores.
    levels : array of int
        Columns whose levels have effects on the numbers.
    effects : LevelEffects
        These effects.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import learn_view, recognise_kinds
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat([0.0, 1.0], 200)
    >>> X = np.column_stack([sex, rng.normal(165 + 12 * sex, 7)])
    >>> view = learn_view(X, np.ones(400), recognise_kinds(X, np.ones(400), ["sex", "height"]))
    >>> view.places.tolist(), view.levels.tolist()
    ([1], [0])
    """

    n_features: int
    places: IntArray
    margins: Margins
    levels: IntArray
    effects: LevelEffects

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the coordinates of rows."""
        scores = self.margins(values[:, self.places])
        if not len(self.levels):
            return scores
        return self.effects.subtract(scores, np.asarray(values[:, self.levels], dtype=np.float64))

    def restore(self, scores: FloatArray, values: FloatArray) -> FloatArray:
        """Return coordinates in the units of their columns, for rows with the levels of others.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse.rows import learn_view, recognise_kinds
        >>> X = np.random.default_rng(0).normal(5, 2, (100, 2))
        >>> view = learn_view(X, np.ones(100), recognise_kinds(X, np.ones(100), ["a", "b"]))
        >>> bool(np.allclose(view.restore(view(X), X), X))
        True
        """
        if len(self.levels):
            codes = np.asarray(values[:, self.levels], dtype=np.float64)
            scores = scores + self.effects.add_up(codes, scores.shape[1])
        return self.margins.invert(scores)

    def expand(self, deviations: FloatArray) -> FloatArray:
        """Return one number per column of the table; zero for columns that are no coordinate."""
        expanded = np.zeros((len(deviations), self.n_features))
        expanded[:, self.places] = deviations
        return expanded

    def location(self, scores: FloatArray) -> FloatArray:
        """Return a point in the units of the columns; NaN for columns that are no coordinate."""
        point = np.full(self.n_features, np.nan)
        point[self.places] = self.margins.invert(scores[None, :])[0]
        return point


def learn_view(
    values: FloatArray,
    mass: FloatArray,
    columns: Sequence[ColumnKind],
    *,
    bends: bool | BoolArray = False,
    left_out: float | None = None,
    is_local: bool = False,
) -> TableView:
    """Learn margins and effects of levels from rows that are believed.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        The rows.
    mass : array of shape (n_rows,)
        Their prior weights.
    columns : sequence of ColumnKind
        What the columns hold.
    bends : bool or array of bool of shape (n_columns,), default=False
        Whether columns may be bent, or which: others are only shifted and scaled.
    left_out : float, optional
        Share of the rows at either end of a column that margins do not look at.
    is_local : bool, default=False
        Whether the coordinates are for local distances, where levels and heaps are numbers too.

    Returns
    -------
    TableView
    """
    kinds = np.array([str(column.kind) for column in columns])
    scored = [*_NUMBERS, Kind.HEAP, Kind.LEVELS] if is_local else [*_NUMBERS]
    conditions = [Kind.CATEGORY] if is_local else [Kind.CATEGORY, Kind.LEVELS]
    places = np.flatnonzero(np.isin(kinds, scored))
    seen = [columns[int(place)] for place in places]
    levels = np.flatnonzero(np.isin(kinds, conditions))
    chosen = np.asarray(values[:, places], dtype=np.float64)
    may_bend = np.broadcast_to(bends, len(columns))[places]
    margins = fit_margins(
        chosen,
        mass,
        left_out,
        bends=tuple(
            bool(may) and column.kind is not Kind.LEVELS
            for may, column in zip(may_bend, seen, strict=True)
        ),
        heaps=tuple(column.heap for column in seen),
    )
    codes = np.asarray(values[:, levels], dtype=np.float64)
    effects = learn_effects(margins(chosen), codes, mass)
    return TableView(len(columns), places, margins, levels, effects)
