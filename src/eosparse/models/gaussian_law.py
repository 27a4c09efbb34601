"""The law of the distances from a Gaussian fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import FloatArray, Moments, Result, weighted_moments
from eosparse.inference import FittedGamma, Law, Pull, ScaledF
from eosparse.models.normal import Normal
from eosparse.rows import Table

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel


def find_gaussian_law(
    model: GaussianModel, result: Result[Normal], pull: Pull, distances: Table
) -> Law:
    """Return the law of the distance of a new, good row."""

    def sum_up(fitted: FloatArray, prior: FloatArray | None) -> Moments:
        weights = pull.weigh(fitted)
        if prior is not None:
            weights *= prior
        both = np.column_stack([fitted, pull.leave_out(fitted)])
        return weighted_moments(both, weights, diagonal=True)

    moments, coupling = distances.fold(sum_up), model.coupling(result.alpha)
    mean, variance = float(moments.mean[1]), float(moments.scatter[1])
    if model.covariance == "full" and model.amount == 0.0:
        rank = len(result.theta.location)
        size = result.effective_size / model.copies
        law = ScaledF.of_fit(max(rank, 1), size, coupling)
        return law.match_mean(mean, pull) if rank else law  # equal rows have no distance
    if model.amount > 0.0:
        # A new row's square, in a column whose scale comes from n rows, has a variance that is
        # 1 + 6/n times as large; and the variance itself is known from n rows only.
        variance *= 1 + 8 * model.copies / result.effective_size
    # The weights fall with m; their effect on left-out distances follows from the slope of m.
    slope = (1 - coupling) * (float(moments.mean[0]) / max(mean, 1e-300)) ** 2
    return FittedGamma.of_weighted(mean, variance, coupling / 2 * slope)


def is_law_known(model: GaussianModel) -> bool:
    """Whether nothing but the rows decides the covariance, so that the law is derived."""
    return model.covariance == "full" and model.amount == 0.0 and not model.is_exact_fit


def part_in_span(model: GaussianModel, theta: Normal) -> float:
    """Return the mean part of a row's distance in directions that the rows determine.

    With ``V = (1-λ)S + λτI`` it is ``tr(R²) / tr(R)`` for ``R = I - λτV⁻¹``.
    """
    floor, size = model.amount * model.target, len(theta.location)
    trace = size - floor * theta.precision_trace
    squares = size - 2 * floor * theta.precision_trace + floor**2 * theta.precision_squares
    return float(min(max(squares / max(trace, 1e-300), 0.0), 1.0))
