"""Lengths, distances and the spatial median, also where squares leave the range of floats."""

from __future__ import annotations

import numpy as np

from eosparse.core import BoolArray, FloatArray, weighted_quantiles

# Relative differences below this are rounding of sums.
TIE = 1e-12
# A residual below this part of its row is rounding of the products that it is the rest of.
_OWN_ROUNDING = 32 * float(np.finfo(np.float64).eps)
# Weiszfeld's iteration usually stops earlier; the median only has to be near the middle.
_STEPS_TO_MEDIAN = 100


def squared_distances(block: FloatArray, centres: FloatArray) -> FloatArray:
    """Return the squared distance of each row to each centre.

    From differences: expanding the square would lose the digits of tight clusters far apart.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[0.0], [3.0]]), np.array([[1.0], [5.0]])).tolist()
    [[1.0, 25.0], [4.0, 4.0]]
    """
    distances = np.empty((len(block), len(centres)))
    for k, centre in enumerate(centres):
        distances[:, k] = squared_norms(block - centre)
    return distances


def squared_norms(gaps: FloatArray) -> FloatArray:
    """Return the squared length of each row; one too large for a float is the largest float.

    Such a row has no weight, so its exact distance does not matter.
    """
    with np.errstate(over="ignore"):
        squares: FloatArray = np.einsum("ij,ij->i", gaps, gaps)
    return np.minimum(squares, np.finfo(np.float64).max, out=squares)


def drop_rounding(errors: FloatArray, rounding: float | FloatArray) -> FloatArray:
    """Set errors that are mere rounding to zero, in place.

    Where the fit is exact they would otherwise decide which rows keep their weight. An enormous row
    rounds more than the others: see `own_rounding`.
    """
    errors[errors <= rounding] = 0.0
    return errors


def own_rounding(squares: FloatArray) -> FloatArray:
    """Return the squared residual that is rounding in rows of some squared length."""
    return squares * _OWN_ROUNDING**2


def first_largest(values: FloatArray) -> int:
    """Return the first of the largest values, those equal up to rounding included.

    Ties are then decided by the order of the values, not by the rounding of sums.

    Examples
    --------
    >>> import numpy as np
    >>> first_largest(np.array([1.0, 3.0, 3.0 + 1e-15]))
    1
    """
    largest = float(values.max())
    return int(np.argmax(values >= largest - TIE * abs(largest)))


def nearest_half(values: FloatArray, mass: FloatArray) -> BoolArray:
    """Return which rows are in the half nearest to the spatial median."""
    return nearest_part(lengths(values - spatial_median(values, mass)), mass, 0.5)


def nearest_part(distances: FloatArray, mass: FloatArray, share: float) -> BoolArray:
    """Return which rows are in the nearest share of the mass, all that are tied included.

    Examples
    --------
    >>> import numpy as np
    >>> nearest_part(np.array([0.3, 0.1 + 0.2, 9.0]), np.ones(3), 0.3).tolist()
    [True, True, False]
    """
    cut = float(weighted_quantiles(distances, mass, (share,))[0])
    return np.asarray(distances <= cut + TIE * abs(cut))


def spatial_median(values: FloatArray, mass: FloatArray) -> FloatArray:
    """Return, approximately, the point with the smallest sum of distances to the rows (Weiszfeld).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 1.0], [1e9, 1.0]])
    >>> np.abs(spatial_median(rows, np.ones(6)) - 1).max() < 0.5
    np.True_
    """
    point: FloatArray = weighted_quantiles(values, mass, (0.5,))[0]
    for _ in range(_STEPS_TO_MEDIAN):
        distances = lengths(values - point)
        typical = float(weighted_quantiles(distances, mass, (0.5,))[0])
        if typical == 0.0:
            return point
        # A row at the point itself would stop the iteration: the distance is rounded off near zero.
        pull = mass / np.hypot(distances, 1e-3 * typical)
        moved: FloatArray = pull @ values / pull.sum()
        if np.abs(moved - point).max() <= 1e-9 * typical:
            return moved
        point = moved
    return point


def lengths(gaps: FloatArray) -> FloatArray:
    """Return the length of each row, also where its square would overflow."""
    largest = np.abs(gaps).max(axis=1)
    unit = np.where(largest > 0, largest, 1.0)
    return np.asarray(unit * np.sqrt(np.square(gaps / unit[:, None]).sum(axis=1)))
