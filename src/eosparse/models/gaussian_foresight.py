"""Where the alternation of the Gaussian is going: longer steps, and an end one pass early."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import Foresight
from eosparse.models.normal import (
    LONGEST_STRAIGHT,
    Move,
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


def foresee_gaussian(
    model: GaussianModel, before: Normal, after: Normal, alpha: float
) -> Foresight[Normal]:
    """Over-relax the location by 1/(1-c), and the inverse covariance by a little more.

    On many Gaussian rows the plain step leaves a part c of every error; this one leaves none
    of it to first order. With few rows for each parameter of the covariance, the part lies
    around c by Marchenko and Pastur's law, and the step aims at its middle. The objective
    falls by what the θ-step gains at the old weights, and as much again for each further
    plain step that the extrapolated one stands for.
    """
    c = min(model.coupling(alpha), _LARGEST_COUPLING)
    if not len(before.location):
        return Foresight(0.0, None)
    rate = _middle_rate(model, c, before)
    if model.gaps is not None:  # what is missing follows the old θ
        rate = min(1 - (1 - rate) * (1 - model.gaps.share), _LARGEST_COUPLING)
    longer = 1 / (1 - rate)
    gap = before.whiten((after.location - before.location)[None, :])[0]
    move = _move(model, before, after, longer)
    gain = (1 - model.amount) * float(gap @ gap) + move.divergence
    fall = gain * longer / (2 * model.n_features)
    if move.further is None or not 0.0 < c < _LARGEST_RELAXED:
        return Foresight(fall, None)
    location = before.location + (after.location - before.location) / (1 - c)
    return Foresight(fall, Normal(location, move.further))


def _middle_rate(model: GaussianModel, c: float, theta: Normal) -> float:
    """Return the middle of the parts of an error in the covariance that a plain step leaves."""
    # The middle between the least and the largest eigenvalue of the law.
    crowded = (1 + float(np.sqrt(model.crowding))) ** 2 / 2
    rate = c * (1 + model.crowding if model.crowding < 1 else crowded)
    if model.amount > 0.0:
        # Weights follow m, whose mean is tr(R)/(1-λ) in place of D for R = I - λτV⁻¹, and V
        # follows them by 1-λ.
        size = len(theta.location)
        part = 1 - model.amount * model.target * theta.precision_trace / size
        rate = c * (1 + model.crowding) * part**2 / (1 - model.amount)
    return min(rate, _LARGEST_COUPLING)


def _move(model: GaussianModel, before: Normal, after: Normal, longer: float) -> Move:
    """Return the step of the covariance, and the end of a longer one if that is worth it."""
    # What noise adds to c in a crowd is not linear in the inverse covariance, nor in any other
    # function of it. A short step may go straight on then, which takes a quarter of the time.
    is_crowded = model.covariance == "full" and model.crowding >= 1
    if model.amount > 0.0 or (is_crowded and longer < LONGEST_STRAIGHT):
        move = move_straight(before, after, longer)
        if model.amount > 0.0 or move.further is not None:
            return move
    return move_covariance(before, after.covariance, longer)
