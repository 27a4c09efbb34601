"""Location and covariance, with the triangular algebra that distances and steps need."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack

from eosparse.core import (
    CollapseError,
    FloatArray,
    factor_lower,
    factor_plainly,
    find_condition,
    invert_lower,
)

# A Cholesky pivot this small beside its column's spread is rounding: the columns are dependent.
RANK_TOLERANCE = 1e-7
# Larger pivots are no sign of a relation.
_SMALL_PIVOT = 1e-4
# A triangular product is made in this many strips of columns or fewer, none narrower than so many:
# small products are slower than the zeros they leave out.
_MOST_STRIPS, _STRIP = 8, 64
# Fits that differ by less than this per column, in log-determinant and divergence, are alike.
_EQUAL_LOG_DET, _EQUAL_DIVERGENCE = 0.02, 0.1
# A step this many times as long as a plain one no longer follows from it linearly.
LONGEST_STRAIGHT = 1.5
# An extrapolated covariance, or inverse, may fall to this part of the former one in any direction.
_LEAST_PART = 0.1
# A covariance that falls to less than the square of this in one step has collapsed; the inverse of
# one that falls to much less leaves the range of floats.
_LEAST_RATIO = 1e-70


@dataclass(frozen=True)
class Normal:
    """Location and covariance: a matrix, or a vector of variances.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Normal
    >>> Normal(np.zeros(2), np.diag([1.0, 4.0])).mahalanobis(np.array([[1.0, 2.0]])).tolist()
    [2.0]
    """

    location: FloatArray
    covariance: FloatArray

    @cached_property
    def factor(self) -> FloatArray:
        """Lower Cholesky factor, or standard deviations."""
        if self.covariance.ndim == 1:
            if not (self.covariance > RANK_TOLERANCE**2).all():
                raise SingularFitError
            return np.sqrt(self.covariance)
        if not self.covariance.size:
            return self.covariance
        # Beside the column's own spread, or the scale of the working coordinates.
        unit = np.sqrt(np.maximum(np.diag(self.covariance), 1.0))
        lower = factor_lower(self.covariance)
        if lower is None or not (np.diag(lower) / unit).min() > _SMALL_PIVOT:
            lower = factor_plainly(self.covariance)
        if lower is None or _is_singular(lower, unit):
            raise SingularFitError
        return lower

    @cached_property
    def log_det(self) -> float:
        """Logarithm of the determinant of the covariance."""
        diagonal = self.factor if self.factor.ndim == 1 else np.diag(self.factor)
        return 2.0 * float(np.log(diagonal).sum())

    @cached_property
    def inverse_factor(self) -> FloatArray:
        """Inverse of the Cholesky factor."""
        if not self.factor.size:
            return self.factor
        return invert_lower(self.factor)

    @cached_property
    def precision_trace(self) -> float:
        """Trace of the inverse covariance."""
        if self.factor.ndim == 1:
            return float((1.0 / self.covariance).sum())
        return _sum_squares(self.inverse_factor)

    @cached_property
    def precision_squares(self) -> float:
        """Sum of the squared elements of the inverse covariance."""
        if self.factor.ndim == 1:
            return float(np.square(1.0 / self.covariance).sum())
        return _sum_of_squared_products(self.inverse_factor)

    @cached_property
    def is_well_conditioned(self) -> bool:
        """Whether a product with the inverse of the factor is as good as a substitution."""
        if self.factor.ndim == 1 or not self.factor.size:
            return True
        return find_condition(self.factor) > 1e-4

    def whiten(self, centred: FloatArray) -> FloatArray:
        """Return coordinates in which the covariance is the identity.

        By substitution, except where the factor's condition is below 1e4: there a product with
        its inverse is as good (it loses at most four of sixteen digits) and several times faster.
        """
        if self.factor.ndim == 1:
            white: FloatArray = centred / self.factor
            return white
        if self.is_well_conditioned:
            return times_transposed(centred, self.inverse_factor)
        return _substitute(self.factor, centred.T).T

    def mahalanobis(self, values: FloatArray) -> FloatArray:
        """Return the squared Mahalanobis distance of each row."""
        white = self.whiten(values - self.location)
        lengths: FloatArray = np.einsum("ij,ij->i", white, white).astype(np.float64, copy=False)
        return lengths

    def astype(self, dtype: Any) -> Normal:
        """Return the same in single or double precision, like the rows it is to meet."""
        return Normal(self.location.astype(dtype), self.covariance.astype(dtype))

    def is_like(self, other: Normal) -> bool:
        """Whether two fits are so close that the alternation would bring them together.

        By their symmetric Kullback-Leibler divergence too: determinants alone do not distinguish a
        fit that holds a small cluster from one that holds a few more rows elsewhere.
        """
        size, divergence = len(self.location), 0.0
        if abs(self.log_det - other.log_det) > _EQUAL_LOG_DET * size:
            return False
        for one, two in ((self, other), (other, self)):
            gap = two.mahalanobis(one.location[None, :])[0]
            if one.factor.ndim == 1:
                divergence += float(gap + (one.covariance / two.covariance - 1.0).sum())
            else:
                divergence += float(gap + np.square(two.whiten(one.factor.T)).sum() - size)
        return divergence < _EQUAL_DIVERGENCE * size

    def divergence_from(self, other: Normal) -> float:
        """Return ``tr R - D - log det R``, R being the covariance in units of the other one."""
        if self.factor.ndim == 1:
            excess = self.covariance / other.covariance - 1.0
            return float((excess - np.log1p(excess)).sum())
        if other.is_well_conditioned:
            squares = _sum_of_squares(other.inverse_factor, self.factor)
        else:
            squares = _sum_squares(_substitute(other.factor, self.factor))
        return squares - len(self.location) - self.log_det + other.log_det


class SingularFitError(CollapseError):
    """The weighted rows satisfy an exact linear relation: the covariance has no inverse."""

    def __init__(self) -> None:
        super().__init__("the weighted rows satisfy an exact linear relation between the columns.")


def _is_singular(lower: FloatArray, unit: FloatArray) -> bool:
    """Whether a triangular factor, its rows in some units, is that of an exact relation.

    A small pivot magnifies the rounding of those after it, so that none of them need look like
    rounding. The condition number shows it anyway.
    """
    least = float((np.diag(lower) / unit).min())
    if not least > RANK_TOLERANCE:
        return True
    if least > _SMALL_PIVOT:
        return False
    return find_condition(lower / unit[:, None]) <= RANK_TOLERANCE


def inverse_root(matrix: FloatArray) -> FloatArray:
    """Symmetric inverse square root of a positive definite matrix."""
    variances, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors / np.sqrt(variances)) @ vectors.T)


def _substitute(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a lower triangular system."""
    solution, _ = lapack.dtrtrs(factor, right, lower=1)
    return np.asarray(solution)


def times_transposed(rows: FloatArray, lower: FloatArray) -> FloatArray:
    """Multiply rows by the transpose of a lower triangular matrix; the result is column by column.

    In strips, which leave out most of the zeros. BLAS has a routine for it, but SciPy's wrapper
    blocks other threads.
    """
    size = len(lower)
    if size < 2 * _STRIP:
        return (lower @ rows.T).T
    product = np.empty((size, len(rows)), rows.dtype)
    for begin, end in _strips(size):
        np.matmul(lower[begin:end, :end], rows.T[:end], out=product[begin:end])
    return product.T


def _strips(size: int) -> Iterator[tuple[int, int]]:
    """Return where each strip of a triangular matrix begins and ends."""
    n_strips = min(max(size // _STRIP, 1), _MOST_STRIPS)
    return itertools.pairwise(np.linspace(0, size, 1 + n_strips).astype(int).tolist())


def _sum_squares(matrix: FloatArray) -> float:
    """Return the sum of the squared elements of a matrix, without a copy of it."""
    return (
        float(np.vdot(matrix, matrix))
        if matrix.flags.c_contiguous
        else float(np.einsum("ij,ij->", matrix, matrix))
    )


def _sum_of_squares(one: FloatArray, two: FloatArray) -> float:
    """Return the sum of the squared elements of a product of lower triangular matrices."""
    products = (one[begin:end, :end] @ two[:end, :end] for begin, end in _strips(len(one)))
    return sum(_sum_squares(product) for product in products)


def _sum_of_squared_products(lower: FloatArray) -> float:
    """Return the sum of the squared elements of ``A'A`` for a lower triangular matrix A."""
    total = 0.0
    for begin, end in _strips(len(lower)):
        below, strip = lower[begin:], lower[begin:, begin:end]
        total += 2 * _sum_squares(strip.T @ below[:, :begin])
        total += _sum_squares(strip.T @ strip)
    return total


@dataclass(frozen=True)
class Move:
    """A step of the covariance: its size, and the end of a longer step in the same direction.

    The size is ``tr R - D - log det R``, twice the Kullback-Leibler divergence, where R is the new
    covariance in coordinates in which the old one is the identity: no inverse there is
    ill-conditioned. The longer step is taken along the inverse covariance; None if its end is not
    positive definite.
    """

    divergence: float
    further: FloatArray | None


def move_covariance(before: Normal, after: FloatArray, factor: float) -> Move:
    """Return the step from one covariance to another, and the end of one `factor` times as long."""
    if after.ndim == 1:
        return _move_variances(before.covariance, after, factor)
    seen = _substitute(before.factor, _substitute(before.factor, after).T)
    root, info = lapack.dpotrf(seen, lower=1, clean=1)
    if info != 0 or np.diag(root).min() < _LEAST_RATIO:
        return Move(np.inf, None)
    divergence = float(np.trace(seen)) - len(seen) - 2 * float(np.log(np.diag(root)).sum())
    inverse, _ = lapack.dtrtri(root, lower=1)
    precision = factor * (inverse.T @ inverse)
    precision.flat[:: len(seen) + 1] += 1 - factor - _LEAST_PART
    if lapack.dpotrf(precision, lower=1)[1] != 0:
        return Move(divergence, None)
    precision.flat[:: len(seen) + 1] += _LEAST_PART
    root, _ = lapack.dpotrf(precision, lower=1, clean=1)
    half = _substitute(root, before.factor.T)
    return Move(divergence, half.T @ half)


def move_straight(before: Normal, after: Normal, factor: float) -> Move:
    """Return the step between two covariances, and the end of a longer one along the covariance.

    It has an end only if that is positive definite. It is if all eigenvalues r of the ratio of the
    covariances are above ``1 - 1/factor``, and they are where no term ``r - 1 - log r`` of the
    divergence could be larger than their sum. Otherwise a factor of the matrix tells.
    """
    divergence, least = after.divergence_from(before), 1 - 1 / factor
    if factor >= LONGEST_STRAIGHT:
        return Move(divergence, None)
    end = after.covariance - before.covariance
    end *= factor
    end += before.covariance
    is_regular = least == 0.0 or divergence < least - 1 - float(np.log(least))
    if not is_regular:
        is_regular = lapack.dpotrf(end - _LEAST_PART * before.covariance, lower=1)[1] == 0
    return Move(divergence, end if is_regular else None)


def _move_variances(before: FloatArray, after: FloatArray, factor: float) -> Move:
    ratios = after / before
    if not (ratios > 0).all():
        return Move(np.inf, None)
    excess = ratios - 1.0
    divergence = float((excess - np.log1p(excess)).sum())
    precision = 1 + factor * (1 / ratios - 1)
    return Move(divergence, before / precision if (precision > _LEAST_PART).all() else None)
