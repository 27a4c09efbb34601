"""The Gaussian in single precision: for first passes, which only have to find a better start.

Products take half as long. Errors of rows have seven digits, but what a step still gains is known
far better than the objective, of which it is a difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import (
    ErrorModel,
    FloatArray,
    Foresight,
    Moments,
    Trail,
    Visit,
    rough_moments,
)
from eosparse.models import fused
from eosparse.models.base import Roughly
from eosparse.models.normal import Normal, times_transposed
from eosparse.models.sketch import Members
from eosparse.rows import Coordinates

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel

# With fewer columns, compiled code is as fast as products of a copy.
_FEWEST_COLUMNS = 200
# With fewer, it is hardly faster in single precision.
_FEWEST_SWEPT = 32
# The square of a larger number, summed over columns, may not fit single precision.
_FARTHEST = 1e15
_FEW_SQUARES = 32
# Sums over rows and columns have lost a digit or two.
_ROUNDING = 1e-6


def find_rough_model(model: GaussianModel, start: Normal | Members) -> Roughly[Normal] | None:
    """Return a model in single precision around a start; None if that would save no time.

    A shrunk covariance needs a pass or two, and most of their time for its inverse.
    """
    is_full = model.covariance == "full" and model.amount == 0.0
    if not is_full or model.gaps is not None or model.is_exact_fit:
        return None
    if model.n_features >= _FEWEST_COLUMNS:
        assert model.coordinates is not None
        centre = start.location
        return Roughly(RoughGaussian(model, centre), _Bring(model.coordinates, centre))
    if model.n_features >= _FEWEST_SWEPT and fused.can_sweep(model.n_features):
        return Roughly(SweptGaussian(model), None)
    return None


@dataclass(frozen=True)
class SweptGaussian(ErrorModel[FloatArray, Normal, Moments]):
    """A Gaussian of rows as stored, which compiled code sums up in single precision."""

    exact: GaussianModel

    is_proven = True
    objective_rounding = _ROUNDING

    @property
    def smallest_size(self) -> float:  # type: ignore[override]  # computed on demand
        """Effective number of rows below which a solution counts as collapsed."""
        return self.exact.smallest_size

    def objective_unit(self, alpha: float) -> float:
        """Return α: squared distances have units."""
        return self.exact.objective_unit(alpha)

    def visit(
        self, block: FloatArray, prior: FloatArray | None, theta: Normal, alpha: float
    ) -> Visit[Moments]:
        """Return summary and moments of a block; in double precision where single is not enough."""
        if fused.is_large(block):
            swept = self.exact.sweep(block, prior, theta, alpha, np.float32)
            if swept is not None:
                return swept
        return self.exact.visit(block, prior, theta, alpha)

    def errors(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of each row."""
        return self.exact.errors(block, theta)

    def statistics(
        self, block: FloatArray, weights: FloatArray, theta: Normal | None = None
    ) -> Moments:
        """Return the weighted moments of the block."""
        return self.exact.statistics(block, weights, theta)

    def solve(self, statistics: Moments) -> Normal:
        """Return the closed-form weighted fit."""
        return self.exact.solve(statistics)

    def foresee(
        self, before: Normal, after: Normal, alpha: float, trail: Trail[Normal]
    ) -> Foresight[Normal] | None:
        """Predict the gain of a step, and where steps lead."""
        return self.exact.foresee(before, after, alpha, trail)


@dataclass(frozen=True)
class RoughGaussian(SweptGaussian):
    """A Gaussian of rows in single precision, in working coordinates around a centre."""

    centre: FloatArray

    visit = ErrorModel.visit

    def errors(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of each row."""
        white = times_transposed(block, theta.inverse_factor.astype(block.dtype))
        gap = theta.location - self.centre
        white -= (theta.inverse_factor @ gap).astype(block.dtype)
        distances = np.zeros(len(block))  # sums of few squares lose fewer digits
        for part in np.array_split(white, white.shape[1] // _FEW_SQUARES, axis=1):
            distances += np.einsum("ij,ij->i", part, part)
        return self.exact.error_at(distances, theta)

    def statistics(
        self,
        block: FloatArray,
        weights: FloatArray,
        theta: Normal | None = None,  # noqa: ARG002  # signature of the base class
    ) -> Moments:
        """Return the weighted moments of the block."""
        moments = rough_moments(block, weights)
        return replace(moments, mean=self.centre + moments.mean)


@dataclass(frozen=True)
class _Bring:
    """Coordinates around a centre in single precision; rows too far away come to a bound."""

    coordinates: Coordinates
    centre: FloatArray

    def __call__(self, block: FloatArray) -> FloatArray:
        scale, basis = self.coordinates.scale, self.coordinates.basis
        brought = np.empty(block.shape, np.float32)
        with np.errstate(over="ignore"):
            middle = self.coordinates.location(self.centre)
            np.subtract(block, middle, out=brought, casting="same_kind")
            brought /= scale.astype(np.float32)
        np.clip(brought, -_FARTHEST, _FARTHEST, out=brought)
        return brought if basis is None else np.asarray(brought @ basis.astype(np.float32))
