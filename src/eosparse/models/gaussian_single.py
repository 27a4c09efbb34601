"""The Gaussian error in single precision: a pass takes half the time, and has seven digits.

Objectives depend on the square of what θ is off, so that seven digits of θ are enough for all but
the last passes of an alternation; those are made in double precision, as is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import (
    ErrorModel,
    FloatArray,
    Foresight,
    Moments,
    Visit,
    centred_moments,
    optimal_weights,
)
from eosparse.models.normal import Normal, times_transposed

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel
    from eosparse.rows import Coordinates

# The inverse of a factor that is conditioned worse would leave fewer than five of seven digits.
_LEAST_RECIPROCAL = 1e-2


@dataclass(frozen=True)
class SingleGaussian(ErrorModel[FloatArray, Normal, Moments]):
    """A Gaussian model whose rows are visited in single precision.

    Attributes
    ----------
    model : GaussianModel
        The model.
    coordinates : Coordinates
        Its coordinates: a shift and a scale of the columns.
    """

    model: GaussianModel
    coordinates: Coordinates

    is_proven = True

    @property
    def smallest_size(self) -> float:  # type: ignore[override]  # computed on demand
        """Effective number of rows below which a fit counts as collapsed."""
        return self.model.smallest_size

    def errors(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of each row."""
        return self.model.errors(block, theta)

    def statistics(self, block: FloatArray, weights: FloatArray, theta: Normal) -> Moments:
        """Return the weighted moments of the block, in working coordinates."""
        return self.model.statistics(block, weights, theta)

    def solve(self, statistics: Moments) -> Normal:
        """Return the closed-form weighted fit."""
        return self.model.solve(statistics)

    def objective_unit(self, alpha: float) -> float:
        """Return the unit of the model."""
        return self.model.objective_unit(alpha)

    def foresee(self, before: Normal, after: Normal, alpha: float) -> Foresight[Normal]:
        """Extrapolate as the model does."""
        return self.model.foresee(before, after, alpha)

    def visit(
        self, block: FloatArray, prior: FloatArray | None, theta: Normal, alpha: float
    ) -> Visit[Moments]:
        """Return summary and moments of a block; in double precision where digits are needed."""
        seen = self._visit_single(block, prior, theta, alpha)
        return self.model.visit(block, prior, theta, alpha) if seen is None else seen

    def _visit_single(
        self, block: FloatArray, prior: FloatArray | None, theta: Normal, alpha: float
    ) -> Visit[Moments] | None:
        if theta.reciprocal_condition < _LEAST_RECIPROCAL:
            return None
        scale = self.coordinates.scale
        centred = np.empty(block.shape, dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            centre = self.coordinates.origin + scale * theta.location
            # Rounded after the subtraction, so that columns may be far from zero.
            np.subtract(block, centre, out=centred, casting="same_kind")
            centred /= scale.astype(np.float32)
            inverse = theta.inverse_factor.astype(np.float32)
            white = times_transposed(centred, inverse).T
            distances = np.square(white, out=white).sum(axis=0, dtype=np.float64)
        if not np.isfinite(distances.max()):
            return None
        errors = self.model.error_at(distances, theta)
        # The determinant of the θ that was used: otherwise its rounding would be an error of first
        # order in the objective, and the alternation would take that for a rise.
        log_det = -2.0 * float(np.log(np.diag(inverse), dtype=np.float64).sum())
        errors += (log_det - theta.log_det) / (2 * self.model.n_features)
        solution = optimal_weights(errors, alpha, prior)
        moments = centred_moments(centred, solution.weights, diagonal=False)
        if moments is None:
            return None
        mean = theta.location + moments.mean
        return Visit(solution.summary, Moments(moments.mass, mean, moments.scatter))
