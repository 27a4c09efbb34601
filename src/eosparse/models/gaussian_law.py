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


# Rows with smaller p-values are outliers, however little weight they have.
_OUTLYING = 1e-6
# The law is fitted again without the outliers that it shows, until it shows no more of them.
_MOST_FITS, _SAME = 20, 1e-3
# Nearly all weight is on equal rows if their mean distance is smaller, per direction: without
# shrinkage it is one.
_TIED = 1e-3


def find_gaussian_law(
    model: GaussianModel, result: Result[Normal], pull: Pull, distances: Table
) -> Law:
    """Return the law of the distance of a new, good row."""
    if model.covariance != "full" or model.amount > 0.0:
        return _fit_law(model, result, pull, distances)
    rank = len(result.theta.location)
    size, coupling = result.effective_size / model.copies, model.coupling(result.alpha)
    law = ScaledF.of_fit(max(rank, 1), size, coupling)
    if not rank:  # equal rows have no distance
        return law
    return law.match_mean(float(_sum_up(pull, distances, np.inf).mean[1]), pull)


def _fit_law(
    model: GaussianModel, result: Result[Normal], pull: Pull, distances: Table
) -> FittedGamma:
    """Return a law fitted to the distances of good rows.

    In many columns c is small, so that far outliers keep a little weight; their squared distances
    are not little.
    """
    coupling, farthest, rank = model.coupling(result.alpha), np.inf, len(result.theta.location)
    for _ in range(_MOST_FITS):
        moments = _sum_up(pull, distances, farthest)
        mean, variance = float(moments.mean[1]), float(moments.scatter[1])
        if mean < _TIED * rank:  # only the floor of a shrunk covariance says what is far away
            return FittedGamma(rank / 2, 2.0)
        if model.amount > 0.0:
            # A new row's square, in a column whose scale comes from n rows, has a variance that is
            # 1 + 6/n times as large; and the variance itself is known from n rows only.
            variance *= 1 + 8 * model.copies / result.effective_size
        # The weights fall with m; their effect on left-out distances follows from the slope of m.
        slope = (1 - coupling) * (float(moments.mean[0]) / max(mean, 1e-300)) ** 2
        law = FittedGamma.of_weighted(mean, variance, coupling / 2 * slope)
        before, farthest = farthest, float(law.distance_at(np.array([_OUTLYING]))[0])
        if not farthest < (1 - _SAME) * before:
            break
    return law


def _sum_up(pull: Pull, distances: Table, farthest: float) -> Moments:
    """Return weighted moments of fitted and left-out distances, these up to the farthest."""

    def sum_up(fitted: FloatArray, prior: FloatArray | None) -> Moments:
        left_out = pull.leave_out(fitted)
        weights = np.where(left_out <= farthest, pull.weigh(fitted), 0.0)
        if prior is not None:
            weights *= prior
        return weighted_moments(np.column_stack([fitted, left_out]), weights, diagonal=True)

    return distances.fold(sum_up)


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
