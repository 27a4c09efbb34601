"""The outcome of a fit of any error model but the Gaussian: it answers for any row, seen or new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from eosparse.core import ErrorModel, FloatArray, Result
from eosparse.inference import DistanceLaw, FittedGamma, MixtureLaw
from eosparse.models import Answers, MixtureModel
from eosparse.rows import Table, as_float64

Theta = TypeVar("Theta")


@dataclass(frozen=True)
class ErrorFit(Generic[Theta]):
    """A fitted error model; the distance of a row is its error.

    Attributes
    ----------
    model : ErrorModel
        The error.
    result : Result
        How the alternation ended.
    n_rows : float
        Mass of the training rows.
    rounding : float
        Error that is mere rounding; -inf if any error counts.
    prepare : callable
        From rows to what the model sees of them, such as scaled columns.
    """

    model: ErrorModel[FloatArray, Theta, Any]
    result: Result[Theta]
    n_rows: float
    rounding: float = -np.inf
    prepare: Callable[[FloatArray], FloatArray] = as_float64

    def uncorrected_distances(self, values: FloatArray) -> FloatArray:
        """Return the error of each row; rounding is none."""
        errors = Answers(self.model).errors(self.prepare(values), self.result.theta)
        return np.where(errors <= self.rounding, 0.0, errors)

    def corrected(self, uncorrected: FloatArray) -> FloatArray:
        """Return the errors: nothing is corrected."""
        return uncorrected

    def left_out(self, uncorrected: FloatArray) -> FloatArray:
        """Return the errors: what a row does to its own fit is not known."""
        return uncorrected

    def taken_in(self, left_out: FloatArray) -> FloatArray:
        """Return the errors, from that of rounding on."""
        return np.maximum(left_out, self.rounding)

    def weights(self, uncorrected: FloatArray) -> FloatArray:
        """Return the weights of rows of prior weight one, exp((L-g)/α)."""
        weights: FloatArray = np.exp((self.result.objective - uncorrected) / self.result.alpha)
        return weights

    def distance_at_weight(self, relative_weight: float) -> float:
        """Return the error at which T·w has a given value."""
        drop = float(np.log(self.n_rows / relative_weight))
        return self.result.objective + self.result.alpha * drop

    def law(self, uncorrected: Table) -> DistanceLaw:
        """Return the law of the error of a new row that belongs."""
        result = self.result
        middle = result.objective + result.alpha * float(np.log(result.perplexity))  # L = Σwg - αH

        def one(errors: FloatArray, prior: FloatArray | None) -> FloatArray:
            mass = np.ones_like(errors) if prior is None else prior
            return power_sums(self.model, errors, self.weights(errors), mass, middle)

        sums = uncorrected.fold(one)
        return error_law(self.model, result.theta, result.alpha, sums, middle)

    def deviations(self, values: FloatArray) -> FloatArray:
        """Return a deviation of each column, whose squares explain the error."""
        return Answers(self.model).deviations(self.prepare(values), self.result.theta)


def power_sums(
    model: Any, errors: FloatArray, weights: FloatArray, mass: FloatArray, middle: float
) -> FloatArray:
    """Return sums of the powers 0 to 3 of errors less `middle`, by powers of the weights.

    `weights` are those of prior weight one. Rows without weight may have errors too large for
    powers, and are left out.
    """
    tilted = weights ** _law_power(model) * mass
    present = tilted > 0
    away, w = errors[present] - middle, tilted[present]
    return np.array([w.sum(), w @ away, w @ away**2, w @ away**3])


def _law_power(model: Any) -> int:
    """Return the power of the weights by which the law is found.

    Outliers that still have a little weight would show in the higher moments, and a law, or an α,
    that allows for them would give them more. Three moments need more care than two.
    """
    return 2 if Answers(model).is_squared or isinstance(model, MixtureModel) else 4


def error_law(
    model: Any,
    theta: Any,
    alpha: float,
    sums: FloatArray,
    middle: float,
) -> DistanceLaw:
    """Return the law of errors of rows that belong, from `power_sums`.

    A mixture has a law of its own. Squared distances follow about a gamma law, as a sum of squares
    does; other errors, one with an unknown least value. The power k of the weights tilts it by k/α.
    """
    first, second, third = sums[1:4] / sums[0]
    mean, variance = middle + first, second - first**2
    if isinstance(model, MixtureModel):  # Σ w²/prior, weights summing to one
        return _mixture_law(model, theta, alpha, 1 / float(sums[0]))
    tilt = _law_power(model) / alpha
    if Answers(model).is_squared:
        return FittedGamma.of_weighted(mean, variance, tilt)
    around = third - 3 * first * second + 2 * first**3
    return FittedGamma.of_moments(mean, variance, around, tilt)


def _mixture_law(model: MixtureModel, theta: Any, alpha: float, kish_size: float) -> MixtureLaw:
    return MixtureLaw.of_fit(
        theta.shares,
        np.array([part.log_det for part in theta.components]),
        model.peak_errors(theta),
        n_features=theta.locations.shape[1],
        alpha=alpha,
        kish_size=kish_size,
    )
