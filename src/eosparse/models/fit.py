"""The outcome of a fit: it answers for any row, seen or new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic

import numpy as np

from eosparse.core import FloatArray, Result
from eosparse.core.model import Theta
from eosparse.inference import Law, Pull
from eosparse.models.base import TableModel
from eosparse.rows import Coordinates, Table


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
    coordinates : Coordinates or None
        Scaled columns, if the model sees these; otherwise it views rows as stored itself.
    rounding : float
        Error that is mere rounding, and counts as zero; -inf if any error counts.
    """

    model: TableModel[Theta, Any]
    result: Result[Theta]
    n_rows: float
    coordinates: Coordinates | None = None
    rounding: float = -np.inf

    @property
    def view(self) -> Callable[[FloatArray], FloatArray]:
        """From rows as stored to rows as the model sees them."""
        return self.coordinates or self.model.view

    def measure(self, values: FloatArray) -> FloatArray:
        """Return the distance of each row from the fit."""
        distances = self.model.distances(self.view(values), self.result.theta)
        if self.rounding == -np.inf:
            return distances
        return np.where(distances <= self.rounding, 0.0, distances)

    @cached_property
    def pull(self) -> Pull:
        """How distances relate to weights, and to the fit without the row."""
        return self.model.pull(self.result, self.n_rows, self.rounding)

    def find_law(self, distances: Table) -> Law:
        """Return the law of the distance of a new row that belongs, from those of all rows."""
        return self.model.find_law(self.result, self.pull, distances)

    def deviations(self, values: FloatArray) -> FloatArray:
        """Return a deviation for each column, whose squares explain the distance."""
        return self.model.deviations(self.view(values), self.result.theta, self.result.alpha)
