"""The Gaussian error of rows as they are stored, without a copy in working coordinates.

θ lives in working coordinates, where its numbers are tame. A row is brought there by a shift and a
scale; both are taken into θ instead, so that a block is touched three times: centred, multiplied
by the whitening matrix, and by its weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eosparse.core import (
    FloatArray,
    Foresight,
    Moments,
    Visit,
    WeightSummary,
    centred_moments,
    has_lost_digits,
)
from eosparse.models import GaussianModel, Normal, fused, times_transposed
from eosparse.rows import Coordinates

# Columns this many spreads away from zero lose digits when θ is brought to them.
_FAR_FROM_ZERO = 2.0**16
# The square of a smaller mass would lose digits.
_LEAST_MASS = 1e-140


@dataclass(frozen=True)
class RawGaussian:
    """An error model: a Gaussian one seen through coordinates."""

    model: GaussianModel
    coordinates: Coordinates

    @property
    def smallest_size(self) -> float:
        """Effective number of rows below which a fit counts as collapsed."""
        return self.model.smallest_size

    def errors(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of each row."""
        return self.model.error_at(self.distances(block, theta), theta)

    def distances(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the squared distance of each row."""
        if self._is_swept(block, theta):
            distances = fused.squared_distances(block, *self._frame(theta))
            if np.isfinite(distances.max()):
                return distances
        seen = self._seen(block, theta)
        return theta.mahalanobis(self.coordinates(block)) if seen is None else seen[1]

    def look(
        self, block: FloatArray, theta: Normal
    ) -> tuple[FloatArray, Callable[[FloatArray], Moments]]:
        """Return the errors, and the statistics as a function of weights."""
        seen = self._seen(block, theta)
        if seen is None:
            return self.model.look(self.coordinates(block), theta)
        centred, distances = seen

        def statistics(weights: FloatArray) -> Moments:
            moments = centred_moments(centred, weights, diagonal=self.model.structure != "full")
            if moments is None:
                return self.statistics(block, weights)
            return self._working(moments, theta)

        return self.model.error_at(distances, theta), statistics

    def sweep(
        self, block: FloatArray, prior: FloatArray | None, theta: Normal, alpha: float
    ) -> Visit[Moments] | None:
        """Return errors, weights and moments of a block in one sweep of compiled code.

        None where that is not possible: the numbers need care, or no weight is large enough.
        """
        if not self._is_swept(block, theta) or np.isinf(alpha):
            return None
        at_location = self.model.error_at(np.zeros(1), theta)[0]
        exponent = self.model.coupling(alpha) / 2
        totals, sums, products = fused.sweep(block, prior, *self._frame(theta), exponent)
        mass, squares, distances = totals.tolist()
        if not _LEAST_MASS < mass < np.inf:
            return None
        gap = sums / mass
        around = products / mass
        if has_lost_digits(gap, np.diag(around)):
            return None
        summary = WeightSummary(
            alpha=alpha,
            objective=float(at_location - alpha * np.log(mass)),
            mass=float(len(block) if prior is None else prior.sum()),
            entropy=float(exponent * distances / mass + np.log(mass)),
            squares=squares / mass**2,
        )
        moments = Moments(1.0, gap, around - np.outer(gap, gap))
        return Visit(summary, self._working(moments, theta))

    def _is_swept(self, block: FloatArray, theta: Normal) -> bool:
        return (
            theta.covariance.ndim == 2
            and fused.is_worth_it(block)
            and self._is_direct
            and theta.is_well_conditioned
        )

    def _frame(self, theta: Normal) -> tuple[FloatArray, FloatArray]:
        """θ's location and whitening matrix for rows in the units of their columns."""
        scale = self.coordinates.scale
        return self.coordinates.origin + scale * theta.location, theta.inverse_factor / scale

    def statistics(
        self, block: FloatArray, weights: FloatArray, theta: Normal | None = None
    ) -> Moments:
        """Return the weighted moments of the block."""
        return self.model.statistics(self.coordinates(block), weights, theta)

    def solve(self, statistics: Moments) -> Normal:
        """Return the closed-form weighted fit."""
        return self.model.solve(statistics)

    def foresee(self, before: Normal, after: Normal, alpha: float) -> Foresight[Normal]:
        """Return what a step is worth, and where the next ones lead."""
        return self.model.foresee(before, after, alpha)

    def _seen(self, block: FloatArray, theta: Normal) -> tuple[FloatArray, FloatArray] | None:
        """Return the rows less θ's location, and their distances; None where that needs care."""
        if not (self._is_direct and theta.is_well_conditioned):
            return None
        scale = self.coordinates.scale
        centred = np.empty(block.shape, order="F")  # few columns: faster than row by row
        white: FloatArray
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(block, self.coordinates.origin + scale * theta.location, out=centred)
            if theta.factor.ndim == 1:
                white = centred / (theta.factor * scale)
            else:
                white = times_transposed(centred, theta.inverse_factor / scale)
            distances = np.einsum("ij,ij->i", white, white)
        return (centred, distances) if np.isfinite(distances.max()) else None

    @cached_property
    def _is_direct(self) -> bool:
        coordinates = self.coordinates
        near = np.abs(coordinates.origin) <= _FAR_FROM_ZERO * coordinates.scale
        return coordinates.basis is None and bool(near.all())

    def _working(self, moments: Moments, theta: Normal) -> Moments:
        """Bring moments around θ's location to working coordinates."""
        scale = self.coordinates.scale
        squares = scale * scale if moments.scatter.ndim == 1 else np.outer(scale, scale)
        return Moments(
            moments.mass, theta.location + moments.mean / scale, moments.scatter / squares
        )
