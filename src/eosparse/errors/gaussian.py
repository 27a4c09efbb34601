"""The Gaussian error of the paper: minus the log-density per column.

    g(x, μ, V) = (1/2D) ( log det V + (1-λ) (x-μ)'V⁻¹(x-μ) + λτ tr V⁻¹ )

where λ is the shrinkage, 0 in the paper, and τ the variance towards which it shrinks. Its weighted
fit is the closed form

    μ = Σ w x,    S = Σ w (x-μ)(x-μ)',    V = (1-λ) S + λτ I

so linear shrinkage is part of the error, not a patch on the fit, and the objective still falls in
every step. With ``c = (1-λ)/(αD)`` the weights are ``w ∝ exp(-c·m/2)``, m being the squared
distance; on clean Gaussian data V tends to (1-c)Σ, so that **V / (1-c) is the consistent
covariance**.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.linalg import lapack

from eosparse.core import CollapseError, FloatArray

Structure = Literal["full", "diag", "spherical"]
STRUCTURES: tuple[Structure, ...] = ("full", "diag", "spherical")


@dataclass(frozen=True)
class Moments:
    """Weighted mass, mean and scatter of some rows; moments of disjoint rows merge by ``+``.

    The scatter is divided by the mass: a matrix, or its diagonal where no more is needed.
    """

    mass: float
    mean: FloatArray
    scatter: FloatArray

    def scaled(self, factor: float) -> Moments:
        """Return the moments had every weight been multiplied by `factor`."""
        return Moments(self.mass * factor, self.mean, self.scatter)

    def __add__(self, other: Moments) -> Moments:
        mass = self.mass + other.mass
        if mass == 0.0:
            return self
        mine, theirs = self.mass / mass, other.mass / mass
        gap = other.mean - self.mean
        between = gap * gap if self.scatter.ndim == 1 else np.outer(gap, gap)
        return Moments(
            mass,
            mine * self.mean + theirs * other.mean,
            mine * self.scatter + theirs * other.scatter + mine * theirs * between,
        )


def weighted_moments(values: FloatArray, weights: FloatArray, *, diagonal: bool) -> Moments:
    """Mass, mean and scatter of weighted rows."""
    mass = float(weights.sum())
    if mass == 0.0:
        size = values.shape[1]
        return Moments(0.0, np.zeros(size), np.zeros(size if diagonal else (size, size)))
    share = weights / mass
    mean = share @ values
    centred = values - mean
    if diagonal:
        return Moments(mass, mean, share @ (centred * centred))
    centred *= np.sqrt(share)[:, None]
    return Moments(mass, mean, centred.T @ centred)


@dataclass(frozen=True)
class Normal:
    """Location and covariance: a matrix, or a vector of variances."""

    location: FloatArray
    covariance: FloatArray

    @cached_property
    def factor(self) -> FloatArray:
        """Lower Cholesky factor, or standard deviations."""
        if self.covariance.ndim == 1:
            if not (self.covariance > 0).all():
                raise SingularFitError
            return np.sqrt(self.covariance)
        lower, info = lapack.dpotrf(self.covariance, lower=1, clean=1)
        diagonal = np.diag(lower)
        # Relative to the column's own spread: a pivot of rounding size means an exact relation.
        spread = np.sqrt(np.diag(self.covariance))
        if info != 0 or not (diagonal > _RANK_TOLERANCE * spread).all():
            raise SingularFitError
        factor: FloatArray = lower
        return factor

    @cached_property
    def log_det(self) -> float:
        """Logarithm of the determinant of the covariance."""
        diagonal = self.factor if self.factor.ndim == 1 else np.diag(self.factor)
        return 2.0 * float(np.log(diagonal).sum())

    @cached_property
    def inverse_factor(self) -> FloatArray:
        """Inverse of the Cholesky factor."""
        inverse, _ = lapack.dtrtri(self.factor, lower=1)
        return np.asarray(inverse)

    @cached_property
    def precision_trace(self) -> float:
        """Trace of the inverse covariance."""
        if self.factor.ndim == 1:
            return float((1.0 / self.covariance).sum())
        return float(np.square(self.inverse_factor).sum())

    @cached_property
    def _is_well_conditioned(self) -> bool:
        reciprocal, _ = lapack.dtrcon(self.factor, uplo="L")
        return bool(reciprocal > 1e-4)

    def whiten(self, centred: FloatArray) -> FloatArray:
        """Coordinates in which the covariance is the identity.

        By substitution, except where the factor's condition is below 1e4: there a product with
        its inverse is as good (it loses at most four of sixteen digits) and several times faster.
        """
        if self.factor.ndim == 1:
            white: FloatArray = centred / self.factor
            return white
        if self._is_well_conditioned:
            return centred @ self.inverse_factor.T
        return _substituted(self.factor, centred.T).T

    def mahalanobis(self, values: FloatArray) -> FloatArray:
        """Squared Mahalanobis distance of each row."""
        white = self.whiten(values - self.location)
        distances: FloatArray = np.einsum("ij,ij->i", white, white)
        return distances


# A Cholesky pivot this small beside its column's spread is rounding: the columns are dependent.
_RANK_TOLERANCE = 1e-7


class SingularFitError(CollapseError):
    """The weighted rows satisfy an exact linear relation: the covariance has no inverse."""

    def __init__(self) -> None:
        super().__init__("the weighted rows satisfy an exact linear relation between the columns.")


@dataclass(frozen=True)
class GaussianError:
    """The Gaussian error model.

    Attributes
    ----------
    n_features : int
        D: number of columns of the data. Rows may be given in fewer coordinates, an orthonormal
        basis of their span; the other directions add a constant, which is left out.
    structure : {"full", "diag", "spherical"}
        Form of the covariance.
    shrinkage : float
        λ in [0, 1), for the full structure.
    target : float
        τ, the variance towards which it shrinks.
    smallest_size : float
        Effective number of rows below which a fit counts as collapsed.
    """

    n_features: int
    structure: Structure = "full"
    shrinkage: float = 0.0
    target: float = 1.0
    smallest_size: float = 2.0

    def coupling(self, alpha: float) -> float:
        """Return c, the exponent of the weights ``w ∝ exp(-c·m/2)``."""
        return (1 - self.shrinkage) / (alpha * self.n_features)

    def alpha(self, coupling: float) -> float:
        """Return the α that gives a wanted c."""
        return (1 - self.shrinkage) / (coupling * self.n_features)

    def errors(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of each row."""
        common = theta.log_det
        if self.shrinkage > 0.0:
            common += self.shrinkage * self.target * theta.precision_trace
        distances = theta.mahalanobis(block)
        errors: FloatArray = (common + (1 - self.shrinkage) * distances) / (2 * self.n_features)
        return errors

    def statistics(
        self,
        block: FloatArray,
        weights: FloatArray,
        theta: Normal | None = None,  # noqa: ARG002  # the protocol's signature
    ) -> Moments:
        """Return the weighted moments of the block."""
        return weighted_moments(block, weights, diagonal=self.structure != "full")

    def solve(self, statistics: Moments) -> Normal:
        """Return the closed-form weighted fit."""
        scatter = statistics.scatter
        if self.structure == "spherical":
            scatter = np.full_like(scatter, scatter.mean())
        elif self.shrinkage > 0.0:
            scatter = (1 - self.shrinkage) * scatter
            scatter.flat[:: len(scatter) + 1] += self.shrinkage * self.target
        return Normal(statistics.mean, scatter)

    def extrapolate(self, before: Normal, after: Normal, alpha: float) -> Normal | None:
        """Over-relax the location and the inverse covariance by 1/(1-c).

        On Gaussian rows the plain step leaves a part c of every error; this one leaves none of it
        to first order. None where the result would have no covariance.
        """
        c = self.coupling(alpha)
        if not 0.0 < c < 0.95:
            return None
        factor = 1 / (1 - c)
        location = before.location + factor * (after.location - before.location)
        covariance = _relaxed_covariance(before, after.covariance, factor)
        return None if covariance is None else Normal(location, covariance)

    @property
    def off_span_variance(self) -> float:
        """Return the variance along directions that the rows do not span.

        Without shrinkage all rows agree there to rounding, and so must a new row.
        """
        return max(self.shrinkage, _RANK_TOLERANCE**2) * self.target


def _substituted(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a lower triangular system."""
    solution, _ = lapack.dtrtrs(factor, right, lower=1)
    return np.asarray(solution)


def _relaxed_covariance(before: Normal, after: FloatArray, factor: float) -> FloatArray | None:
    """Move the inverse covariance `factor` times as far as from `before` to `after`.

    Seen from coordinates in which `before` is the identity, so that no inverse is ill-conditioned.
    """
    if after.ndim == 1:
        if not (after > 0).all():
            return None
        precision = 1 + factor * (before.covariance / after - 1)
        return before.covariance / precision if (precision > _LEAST_PRECISION).all() else None
    seen = _substituted(before.factor, _substituted(before.factor, after).T)
    ratios, vectors = np.linalg.eigh((seen + seen.T) / 2)
    if not (ratios > 0).all():
        return None
    precision = 1 + factor * (1 / ratios - 1)
    if not (precision > _LEAST_PRECISION).all():
        return None
    root = before.factor @ (vectors / np.sqrt(precision))
    relaxed: FloatArray = root @ root.T
    return relaxed


# An extrapolated inverse covariance may fall to this part of the former one in any direction.
_LEAST_PRECISION = 0.1
