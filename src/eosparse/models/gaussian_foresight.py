"""Where the alternation of the Gaussian is going: longer steps, and an end one pass early."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import FloatArray, Foresight, Trail
from eosparse.models.efficiency import covariance_parameters
from eosparse.models.normal import (
    LONGEST_STRAIGHT,
    Normal,
    move_covariance,
    move_straight,
)

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel

# c = 1 is the collapse onto a point; 1/(1-c) has to stay finite.
_LARGEST_COUPLING = 0.999
# With a larger c, an extrapolation by 1/(1-c) would be longer than twenty steps.
_LARGEST_RELAXED = 0.95
# Parts that plain steps leave are spread by this factor more than for rows of equal weight: found
# by trial, on other tables than those of the figures too. Without it a fit may need a pass more.
_WIDER = 1.25


@dataclass(frozen=True)
class _Pace:
    """How the covariance goes beyond a plain step.

    Attributes
    ----------
    rate : float
        Part of an error that a plain step leaves, in the middle between the least and the most.
    is_straight : bool
        Whether along the covariance, and not along its inverse.
    inertia : float
        Part of the way from the θ before that is gone once more.
    """

    rate: float
    is_straight: bool = False
    inertia: float = 0.0

    @property
    def longer(self) -> float:
        """How many times as long as a plain step."""
        return 1 / (1 - self.rate)


def foresee_gaussian(
    model: GaussianModel, before: Normal, after: Normal, alpha: float, trail: Trail[Normal]
) -> Foresight[Normal]:
    """Over-relax the location by 1/(1-c), and the covariance by a little more.

    On many Gaussian rows the plain step leaves a part c of every error; this one leaves none
    of it to first order. With few rows for each parameter of the covariance, the part lies
    around c by Marchenko and Pastur's law, and the step aims at its middle. The objective
    falls by what the θ-step gains at the old weights, and as much again for each further
    plain step that the extrapolated one stands for.
    """
    c = min(model.coupling(alpha), _LARGEST_COUPLING)
    if not len(before.location):
        return Foresight(0.0, None)
    pace = _find_pace(model, c, before, trail)
    gap = before.whiten((after.location - before.location)[None, :])[0]
    if pace.is_straight:
        move = move_straight(before, after, pace.longer)
    else:
        move = move_covariance(before, after.covariance, pace.longer)
    gain = (1 - model.amount) * float(gap @ gap) + move.divergence
    fall = gain * pace.longer / (2 * model.n_features)
    if move.further is None or not 0.0 < c < _LARGEST_RELAXED:
        return Foresight(fall, None)
    location = before.location + (after.location - before.location) / (1 - c)
    return Foresight(fall, Normal(location, _keep_going(move.further, pace, trail)))


def _keep_going(end: FloatArray, pace: _Pace, trail: Trail[Normal]) -> FloatArray:
    """Return the end of a step that also follows the way from the θ before."""
    if pace.inertia == 0.0 or trail.earlier is None:
        return end
    return end + pace.inertia * (end - trail.earlier.covariance)


def _find_pace(model: GaussianModel, c: float, theta: Normal, trail: Trail[Normal]) -> _Pace:
    """Return the pace for the parts of an error in the covariance that a plain step leaves."""
    if model.amount > 0.0:
        # Weights follow m, whose mean is tr(R)/(1-λ) in place of D for R = I - λτV⁻¹, and V
        # follows them by 1-λ.
        size = len(theta.location)
        part = 1 - model.amount * model.target * theta.precision_trace / size
        rate = c * (1 + model.crowding) * part**2 / (1 - model.amount)
        return _Pace(_fill_gaps(model, rate), is_straight=True)
    if model.is_crowded:
        pace = _find_crowded_pace(model, c, theta, trail)
        if pace.longer < LONGEST_STRAIGHT:
            return pace
        # The middle between none, along what no row shows, and the largest eigenvalue of the law.
        return _Pace(_fill_gaps(model, c * (1 + float(np.sqrt(model.crowding))) ** 2 / 2))
    return _Pace(_fill_gaps(model, c * (1 + model.crowding)))


def _find_crowded_pace(
    model: GaussianModel, c: float, theta: Normal, trail: Trail[Normal]
) -> _Pace:
    """Return the pace where the covariance has more parameters than rows.

    The parts that a plain step leaves are c(1 ± √γ)², γ being the parameters for each row that
    counts, and none along matrices that are no sum of products of rows. Straight steps between
    weighted sums never take such a direction, which steps of the inverse would. What they leave of
    the parts at both ends has opposite signs, so that some inertia (the stationary
    second-order method of Richardson, with the best constant) leaves less of both.
    """
    parameters = covariance_parameters("full", len(theta.location))
    root = float(np.sqrt(parameters * model.copies / trail.effective_size))
    rate = min(c * (1 + root**2), _LARGEST_COUPLING)
    spread = min(_WIDER * 2 * c * root / (1 - rate), 1.0)
    inertia = 2 / (1 + float(np.sqrt(1 - spread**2))) - 1
    return _Pace(_fill_gaps(model, rate), True, inertia)


def _fill_gaps(model: GaussianModel, rate: float) -> float:
    """Return the part of an error that is left if what is missing follows the old θ."""
    if model.gaps is not None:
        rate = 1 - (1 - rate) * (1 - model.gaps.share)
    return min(rate, _LARGEST_COUPLING)
