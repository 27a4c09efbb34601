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

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.linalg import lapack

from eosparse.core import (
    CollapseError,
    FloatArray,
    Foresight,
    Moments,
    centred_moments,
    weighted_moments,
)

Structure = Literal["full", "diag", "spherical"]
STRUCTURES: tuple[Structure, ...] = ("full", "diag", "spherical")


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
    def is_well_conditioned(self) -> bool:
        """Whether a product with the inverse of the factor is as good as a substitution."""
        if self.factor.ndim == 1:
            return True
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
        if self.is_well_conditioned:
            return times_transposed(centred, self.inverse_factor)
        return _substituted(self.factor, centred.T).T

    def mahalanobis(self, values: FloatArray) -> FloatArray:
        """Squared Mahalanobis distance of each row."""
        return self.squared_lengths(values - self.location)

    def squared_lengths(self, centred: FloatArray) -> FloatArray:
        """Squared Mahalanobis distance of rows from which the location has been subtracted."""
        white = self.whiten(centred)
        lengths: FloatArray = np.einsum("ij,ij->i", white, white)
        return lengths


# A Cholesky pivot this small beside its column's spread is rounding: the columns are dependent.
_RANK_TOLERANCE = 1e-7


class SingularFitError(CollapseError):
    """The weighted rows satisfy an exact linear relation: the covariance has no inverse."""

    def __init__(self) -> None:
        super().__init__("the weighted rows satisfy an exact linear relation between the columns.")


@dataclass(frozen=True)
class GaussianModel:
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
    crowding : float
        Free parameters of the covariance per row. It changes the speed, not the answer.
    """

    n_features: int
    structure: Structure = "full"
    shrinkage: float = 0.0
    target: float = 1.0
    smallest_size: float = 2.0
    crowding: float = 0.0

    def coupling(self, alpha: float) -> float:
        """Return c, the exponent of the weights ``w ∝ exp(-c·m/2)``."""
        return (1 - self.shrinkage) / (alpha * self.n_features)

    def alpha(self, coupling: float) -> float:
        """Return the α that gives a wanted c."""
        return (1 - self.shrinkage) / (coupling * self.n_features)

    def errors(self, block: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of each row."""
        return self.error_at(theta.mahalanobis(block), theta)

    def look(
        self, block: FloatArray, theta: Normal
    ) -> tuple[FloatArray, Callable[[FloatArray], Moments]]:
        """Return the errors, and the statistics as a function of weights; rows are centred once."""
        centred = block - theta.location
        errors = self.error_at(theta.squared_lengths(centred), theta)

        def statistics(weights: FloatArray) -> Moments:
            moments = centred_moments(centred, weights, diagonal=self.structure != "full")
            if moments is None:
                return self.statistics(block, weights)
            return replace(moments, mean=theta.location + moments.mean)

        return errors, statistics

    def error_at(self, distances: FloatArray, theta: Normal) -> FloatArray:
        """Return the error of rows at squared distances."""
        common = theta.log_det
        if self.shrinkage > 0.0:
            common += self.shrinkage * self.target * theta.precision_trace
        errors = distances * ((1 - self.shrinkage) / (2 * self.n_features))
        errors += common / (2 * self.n_features)
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

    def foresee(self, before: Normal, after: Normal, alpha: float) -> Foresight[Normal]:
        """Over-relax the location by 1/(1-c), and the inverse covariance by a little more.

        On many Gaussian rows the plain step leaves a part c of every error; this one leaves none
        of it to first order. With few rows for each parameter of the covariance, the part lies
        around c by Marchenko and Pastur's law, and the step aims at its middle. The objective
        falls by what the θ-step gains at the old weights, and as much again for each further
        plain step that the extrapolated one stands for.
        """
        c = min(self.coupling(alpha), 0.999)
        middle = min(c * _spread_middle(self.crowding), 0.999)
        move = _moved(before, after.covariance, 1 / (1 - middle))
        gap = before.whiten((after.location - before.location)[None, :])[0]
        gain = (1 - self.shrinkage) * float(gap @ gap) + move.divergence
        fall = gain / (2 * self.n_features * (1 - middle))
        if move.further is None or not 0.0 < c < 0.95:
            return Foresight(fall, None)
        location = before.location + (after.location - before.location) / (1 - c)
        return Foresight(fall, Normal(location, move.further))

    @property
    def off_span_variance(self) -> float:
        """Return the variance along directions that the rows do not span.

        Without shrinkage all rows agree there to rounding, and so must a new row.
        """
        return max(self.shrinkage, _RANK_TOLERANCE**2) * self.target


def _spread_middle(crowding: float) -> float:
    """Middle between the least and the largest eigenvalue of Marchenko and Pastur's law."""
    return 1 + crowding if crowding < 1 else (1 + float(np.sqrt(crowding))) ** 2 / 2


def _substituted(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a lower triangular system."""
    solution, _ = lapack.dtrtrs(factor, right, lower=1)
    return np.asarray(solution)


def times_transposed(rows: FloatArray, lower: FloatArray) -> FloatArray:
    """Multiply rows by the transpose of a lower triangular matrix; columns lie one after another.

    In strips, which leave out most of the zeros. BLAS has a routine for it, but SciPy's keeps other
    threads waiting.
    """
    size = len(lower)
    if size < 2 * _STRIP:
        return (lower @ rows.T).T
    product = np.empty((size, len(rows)))
    ends = np.linspace(0, size, 1 + size // _STRIP).astype(int)
    for begin, end in itertools.pairwise(ends):
        np.matmul(lower[begin:end, :end], rows.T[:end], out=product[begin:end])
    return product.T


# Columns per strip; narrower ones are slower than the zeros they leave out.
_STRIP = 64


@dataclass(frozen=True)
class _Move:
    """A step of the covariance: its size, and where `factor` times as far would have led.

    The size is ``tr R - D - log det R``, twice Kullback and Leibler's divergence, where R is the
    new covariance in coordinates in which the old one is the identity: no inverse there is
    ill-conditioned. The way led along the inverse covariance; None if it left the positive ones.
    """

    divergence: float
    further: FloatArray | None


def _moved(before: Normal, after: FloatArray, factor: float) -> _Move:
    if after.ndim == 1:
        return _moved_variances(before.covariance, after, factor)
    seen = _substituted(before.factor, _substituted(before.factor, after).T)
    root, info = lapack.dpotrf(seen, lower=1, clean=1)
    if info != 0:
        return _Move(np.inf, None)
    divergence = float(np.trace(seen)) - len(seen) - 2 * float(np.log(np.diag(root)).sum())
    inverse, _ = lapack.dtrtri(root, lower=1)
    precision = factor * (inverse.T @ inverse)
    precision.flat[:: len(seen) + 1] += 1 - factor - _LEAST_PRECISION
    if lapack.dpotrf(precision, lower=1)[1] != 0:
        return _Move(divergence, None)
    precision.flat[:: len(seen) + 1] += _LEAST_PRECISION
    root, _ = lapack.dpotrf(precision, lower=1, clean=1)
    half = _substituted(root, before.factor.T)
    return _Move(divergence, half.T @ half)


def _moved_variances(before: FloatArray, after: FloatArray, factor: float) -> _Move:
    ratios = after / before
    if not (ratios > 0).all():
        return _Move(np.inf, None)
    excess = ratios - 1.0
    divergence = float((excess - np.log1p(excess)).sum())
    precision = 1 + factor * (1 / ratios - 1)
    return _Move(divergence, before / precision if (precision > _LEAST_PRECISION).all() else None)


# An extrapolated inverse covariance may fall to this part of the former one in any direction.
_LEAST_PRECISION = 0.1
