"""Mass, mean and scatter of weighted rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eosparse.core.arrays import FloatArray

# Rows whose weight is a smaller part of the largest are left out. Weights fall exponentially with
# the squares of rows, so that such rows add nothing, however far they lie.
_NEGLIGIBLE = 1e-40
# If no more than this part of the rows is left, products of them are worth a copy.
_WORTH_A_COPY = 0.9
# Moments around another point may lose two digits to its distance from their own mean.
_MOST_CANCELLED = 0.99


@dataclass(frozen=True)
class Moments:
    """Mass, weighted mean and scatter of some rows; moments of disjoint rows merge by ``+``.

    The scatter is divided by the mass. It is a matrix, or its diagonal if that is enough.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import Moments
    >>> one, other = (Moments(1.0, np.array([x]), np.zeros(1)) for x in (0.0, 4.0))
    >>> (one + other).mean.tolist(), (one + other).scatter.tolist()
    ([2.0], [4.0])
    """

    mass: float
    mean: FloatArray
    scatter: FloatArray

    def scale(self, factor: float) -> Moments:
        """Return the moments as if every weight had been multiplied by `factor`."""
        return Moments(self.mass * factor, self.mean, self.scatter)

    def __add__(self, other: Moments) -> Moments:
        mass = self.mass + other.mass
        if mass == 0.0:
            return self
        mine, theirs = self.mass / mass, other.mass / mass
        gap = other.mean - self.mean
        scatter = mine * self.scatter
        # One more matrix is enough: to allocate takes longer than to add.
        rest = theirs * other.scatter
        scatter += rest
        part = mine * theirs * gap
        scatter += part * gap if scatter.ndim == 1 else np.multiply(part[:, None], gap, out=rest)
        return Moments(mass, mine * self.mean + theirs * other.mean, scatter)


def weighted_moments(values: FloatArray, weights: FloatArray, *, diagonal: bool) -> Moments:
    """Return mass, mean and scatter of weighted rows.

    Parameters
    ----------
    values : array of shape (n_samples, n_features)
        The rows.
    weights : array of shape (n_samples,)
        Non-negative weights.
    diagonal : bool
        Whether the diagonal of the scatter is enough.

    Returns
    -------
    Moments

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import weighted_moments
    >>> moments = weighted_moments(np.array([[0.0], [4.0]]), np.array([3.0, 1.0]), diagonal=True)
    >>> moments.mass, moments.mean.tolist(), moments.scatter.tolist()
    (4.0, [1.0], [3.0])
    """
    mass = float(weights.sum())
    if mass == 0.0:
        size = values.shape[1]
        return Moments(0.0, np.zeros(size), np.zeros(size if diagonal else (size, size)))
    present = weights > 0
    if np.count_nonzero(present) < 0.75 * len(weights):  # worth a copy
        values, weights = values[present], weights[present]
    share = weights / mass
    mean = share @ values
    return Moments(mass, mean, _scatter(values - mean, share, diagonal=diagonal))


def _scatter(centred: FloatArray, share: FloatArray, *, diagonal: bool) -> FloatArray:
    """Return the weighted sum of squares and products; `centred` is overwritten."""
    if diagonal:
        squares: FloatArray = share @ np.square(centred, out=centred)
        return squares
    centred *= np.sqrt(share)[:, None]
    return centred.T @ centred


def centred_moments(centred: FloatArray, weights: FloatArray, *, diagonal: bool) -> Moments | None:
    """Return the moments of rows from which a point close to their mean has been subtracted.

    The rows may be overwritten. None if that point is so far from the mean that digits would be
    lost.
    """
    mass = float(weights.sum())
    counted = weights > _NEGLIGIBLE * weights.max()
    if np.count_nonzero(counted) < _WORTH_A_COPY * len(weights):
        centred, weights = centred[counted], weights[counted]
    share = weights / mass
    gap = share @ centred
    around = _scatter(centred, share, diagonal=diagonal)
    if has_lost_digits(gap, around if diagonal else np.diag(around)):
        return None
    around -= gap * gap if diagonal else np.outer(gap, gap)
    return Moments(mass, gap, around)


def rough_moments(values: FloatArray, weights: FloatArray) -> Moments:
    """Return the moments of rows in single precision that lie around zero, in half of the time.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import rough_moments
    >>> rows = np.array([[-1.0], [3.0]], dtype=np.float32)
    >>> moments = rough_moments(rows, np.array([3.0, 1.0]))
    >>> moments.mean.tolist(), moments.scatter.tolist()
    ([0.0], [[3.0]])
    """
    mass = float(weights.sum())
    counted = weights > _NEGLIGIBLE * weights.max()
    if np.count_nonzero(counted) < _WORTH_A_COPY * len(weights):
        values, weights = values[counted], weights[counted]
    share = (weights / mass).astype(values.dtype)
    mean = (share @ values).astype(np.float64)
    scaled = values * np.sqrt(share)[:, None]
    scatter = (scaled.T @ scaled).astype(np.float64)
    scatter -= np.outer(mean, mean)
    return Moments(mass, mean, scatter)


def has_lost_digits(gap: FloatArray, squares: FloatArray) -> bool:
    """Whether squares around a point are little more than the squared gap to the mean."""
    return bool((gap * gap > _MOST_CANCELLED * squares).any())
