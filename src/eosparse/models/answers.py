"""What an error model may say about itself, and what is assumed of one that says nothing.

The alternation needs `errors`, `statistics`, `solve` and `smallest_size`. To choose a start and α,
to judge rows and to explain, an estimator asks more; every one of these methods is optional.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from eosparse.core import ErrorModel, FloatArray, weighted_quantiles
from eosparse.models.custom import checked_errors

Theta = TypeVar("Theta")

_CONCENTRATIONS = 10


@dataclass(frozen=True)
class Answers(Generic[Theta]):
    """A model's answers to what is optional."""

    model: ErrorModel[FloatArray, Theta, Any]

    def errors(self, block: FloatArray, theta: Theta) -> FloatArray:
        """Return the error of each row, checked."""
        named = f"{type(self.model).__name__}.errors()"
        return checked_errors(self.model.errors(block, theta), block, named)

    @property
    def is_squared(self) -> bool:
        """Whether errors are squared distances: the model has `n_directions`."""
        return hasattr(self.model, "n_directions")

    def completed(self, values: FloatArray, mass: FloatArray, n_rows: float) -> Answers[Theta]:
        """Return the model with what it leaves open chosen, and checked, on a sample of n rows.

        Nothing is open by default.
        """
        if not hasattr(self.model, "completed"):
            return self
        return Answers(self.model.completed(values, mass, n_rows))

    def starts(self, values: FloatArray, mass: FloatArray) -> list[Theta]:
        """Return guesses of θ; by default the fit to all rows, and to half of them.

        That half is found by fitting to the rows with the smallest errors, over and over.
        """
        if hasattr(self.model, "starts"):
            return list(self._starts(values, mass)) or self._no_starts("none")
        try:
            theta = whole = self._fit(values, mass, None)
        except (TypeError, AttributeError) as error:
            return self._no_starts(str(error))
        for _ in range(_CONCENTRATIONS):
            errors = self.errors(values, theta)
            near = errors <= weighted_quantiles(errors, mass, (0.5,))[0]
            theta = self._fit(values[near], mass[near], theta)
        return [whole, theta]

    def _fit(self, values: FloatArray, mass: FloatArray, theta: Theta | None) -> Theta:
        statistics = self.model.statistics(values, mass / mass.sum(), theta)  # type: ignore[arg-type]
        return self.model.solve(statistics)

    def _no_starts(self, reason: str) -> list[Theta]:
        raise TypeError(
            f"{type(self.model).__name__} has no start: give it a method starts(values, mass) that "
            f"returns guesses of theta. Without one, statistics(block, weights, None) is asked "
            f"for, and theta must not matter ({reason})."
        )

    def _starts(self, values: FloatArray, mass: FloatArray) -> Iterable[Theta]:
        starts: Iterable[Theta] = self.model.starts(values, mass)  # type: ignore[attr-defined]
        return starts

    def n_directions(self, n_features: int) -> float | None:
        """Return in how many directions rows scatter, if errors are squared distances."""
        asked = getattr(self.model, "n_directions", None)
        return None if asked is None else float(asked(n_features))

    def n_determining(self, n_features: int) -> int:
        """Return through how many rows some θ passes exactly; 1 by default."""
        asked = getattr(self.model, "n_determining", None)
        return 1 if asked is None else int(asked(n_features))

    def natural_alpha(self, efficiency: float, n_rows: float, n_features: int) -> float | None:
        """Return α for an efficiency, if errors have a natural unit; None by default."""
        asked = getattr(self.model, "natural_alpha", None)
        return None if asked is None else float(asked(efficiency, n_rows, n_features))

    def volume(self, theta: Theta, mean_error: float) -> float | None:
        """Return how much room rows that belong take up, as a logarithm, to compare solutions by.

        By default solutions are compared by their objective.
        """
        asked = getattr(self.model, "volume", None)
        return None if asked is None else float(asked(theta, mean_error))

    def is_full(self, theta: Theta, values: FloatArray, weights: FloatArray) -> bool:
        """Whether θ is worth having, such as no cluster being empty; it is by default."""
        asked = getattr(self.model, "is_full", None)
        return True if asked is None else bool(asked(theta, values, weights))

    def deviations(self, block: FloatArray, theta: Theta) -> FloatArray:
        """Return a deviation of each column, whose squares explain the error."""
        asked = getattr(self.model, "deviations", None)
        if asked is None:
            raise ValueError(
                f"{type(self.model).__name__} does not share its error out among the columns; a "
                "model does so by a method deviations(block, theta)."
            )
        return np.asarray(asked(block, theta))
