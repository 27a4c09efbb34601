"""The outcome of a fit: it answers for any row, seen or new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from eosparse.core import BoolArray, FloatArray, Result
from eosparse.core.model import Theta
from eosparse.inference import Combinations, Law, Pull
from eosparse.models.base import TableModel
from eosparse.rows import ColumnRanges, Coordinates, RareWriting, TableView

IMPOSSIBLE = 1e150
"""About the distance of a row with values, or a combination of levels, that do not occur."""

# Rows with smaller p-values are outliers whatever else is known of them.
_LEAST_P = 1e-200


@dataclass(frozen=True)
class Surprise:
    """What the way in which numbers are written adds to the distance of a row.

    The p-value of a row by its distance is multiplied with the share of good rows that are written
    so rarely, and the row has the distance with that p-value.

    Attributes
    ----------
    writing : RareWriting
        Which numbers are written otherwise than nearly all.
    law : Law
        The law of the distances without surprise.
    pull : Pull
        How these relate to the fit without the row.
    """

    writing: RareWriting
    law: Law
    pull: Pull

    def add(self, distances: FloatArray, values: FloatArray) -> FloatArray:
        """Return the distances of rows with their surprise."""
        surprise = self.writing.surprise(values)
        rows = np.flatnonzero(surprise > 0)
        p = self.law.p_values(self.pull.leave_out(distances[rows]))
        rows, p = rows[p > _LEAST_P], p[p > _LEAST_P]
        if not len(rows):
            return distances
        added = distances.copy()
        farther = self.pull.take_in(self.law.distance_at(p * np.exp(-surprise[rows])))
        added[rows] = np.maximum(farther, distances[rows])
        return added


@dataclass(frozen=True)
class Fit(Generic[Theta]):
    """A fitted error model.

    Attributes
    ----------
    model : TableModel
        The error model, with everything chosen that it left open.
    result : Result
        How the alternation ended.
    n_rows : float
        Mass of the training rows.
    coordinates : Coordinates, TableView or None
        The columns as the model sees them; None if it reads rows as stored.
    rounding : float
        Errors up to this size are mere rounding, and count as zero; -inf if every error counts.
    copies : float
        How many times every row stands in the training table.
    combinations : Combinations or None
        Combinations of levels that do not occur: rows with one of them are outliers in any case.
    levels : tuple of int
        The columns of these levels.
    ranges : ColumnRanges or None
        Ranges of columns: rows with a value beyond a wide gap are outliers in any case.
    surprise : Surprise or None
        What numbers add that are written otherwise than nearly all of their column.
    """

    model: TableModel[Theta, Any]
    result: Result[Theta]
    n_rows: float
    coordinates: Coordinates | TableView | None = None
    rounding: float = -np.inf
    copies: float = 1.0
    combinations: Combinations | None = None
    levels: tuple[int, ...] = ()
    ranges: ColumnRanges | None = None
    surprise: Surprise | None = None

    @property
    def has_own_rules(self) -> bool:
        """Whether some rows are farther away than the error model says."""
        return any(rule is not None for rule in (self.combinations, self.ranges, self.surprise))

    def measure(self, values: FloatArray) -> FloatArray:
        """Return the distance of each row from the fit."""
        view = self.coordinates or self.model.view
        distances = self.drop_rounding(self.model.distances(view(values), self.result.theta))
        if self.surprise is not None:
            distances = self.surprise.add(distances, values)
        if self.combinations is not None:
            codes = np.asarray(values[:, list(self.levels)])
            distances = _set_apart(distances, self.combinations.is_impossible(codes))
        if self.ranges is not None:
            distances = _set_apart(distances, self.ranges.is_outside(values))
        return distances

    def drop_rounding(self, distances: FloatArray) -> FloatArray:
        """Return distances, with zeros in place of mere rounding."""
        if self.rounding == -np.inf:
            return distances
        return np.where(distances <= self.rounding, 0.0, distances)

    def whiten(self, values: FloatArray) -> FloatArray:
        """Return rows in coordinates in which they are as far apart as their deviations are."""
        view = self.coordinates or self.model.view
        return self.model.whiten(view(values), self.result.theta, self.result.alpha)

    def deviations(self, values: FloatArray) -> FloatArray:
        """Return a deviation for each column, whose squares explain the distance."""
        view = self.coordinates or self.model.view
        found = self.model.deviations(view(values), self.result.theta, self.result.alpha)
        found = found if not isinstance(view, TableView) else view.expand(found)
        found = np.where(np.isnan(values), 0.0, found)  # what is missing explains nothing
        if self.surprise is not None:
            found = self.surprise.writing.blame(found, values)
        return found if self.ranges is None else self.ranges.blame(found, values)


def _set_apart(distances: FloatArray, is_impossible: BoolArray) -> FloatArray:
    """Return distances with those of some rows beyond all others, in the same order."""
    order = 1.5 + np.arctan(distances) / np.pi
    return np.where(is_impossible, IMPOSSIBLE * order, distances)
