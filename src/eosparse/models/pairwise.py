"""A robust guess of the law of rows with gaps, from pairs of columns.

Each column is brought to normal scores by the ranks of its values, which no outlier can move far;
the correlation of two columns is that of the rows which have both. Such a matrix need not be one of
correlations, so negative eigenvalues are raised.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from eosparse.core import (
    BoolArray,
    FloatArray,
    centre_and_spread,
    has_gaps,
    weighted_quantiles,
)
from eosparse.models.gaps import fill_rows
from eosparse.models.normal import Normal

# Towards no correlation: pairs with few rows in common say little.
_SHRINKAGE = 0.05
# Values count as they are up to so many deviations, and farther out less and less, up to so many.
_STRAIGHT, _NO_SAY = 1.5, 4.0
# A spread below this part of the farthest value is none.
_TIED = 1e-6
# The deviation of a constant column, as a part of the smallest one of all others; and a part of the
# largest one that is rounding.
_OF_CONSTANT, _ROUNDING = 1e-3, 1e-9
# The smallest eigenvalue of the correlation.
_LEAST = 0.01


def guess_law(values: FloatArray, mass: FloatArray) -> Normal:
    """Return location and covariance of rows with gaps, robustly.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([5, 0], [[1, 1.2], [1.2, 4]], 3000)
    >>> X[rng.random((3000, 2)) < 0.2] = np.nan
    >>> X[:100] = 900.0
    >>> law = guess_law(X, np.ones(3000))
    >>> bool(np.allclose(law.location, [5, 0], atol=0.2))
    True
    >>> bool(np.allclose(law.covariance, [[1, 1.2], [1.2, 4]], rtol=0.2))
    True
    """
    return _guess(values, mass, _rank)


def guess_cells(values: FloatArray, mass: FloatArray) -> Normal:
    """Return location and covariance of rows of which many have wrong cells.

    From medians and median deviations, which half of a column cannot move, and correlations of
    values that are drawn back to the middle the farther out they are.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([5, 0], [[1, 1.2], [1.2, 4]], 3000)
    >>> X[rng.random((3000, 2)) < 0.2] = 40.0
    >>> guess_cells(X, np.ones(3000)).covariance.round().tolist()
    [[2.0, 2.0], [2.0, 8.0]]
    """
    return _guess(values, mass, _draw_back)


_Score = Callable[[FloatArray, FloatArray], tuple[float, float, FloatArray]]


def _guess(values: FloatArray, mass: FloatArray, score: _Score) -> Normal:
    location, deviation = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    scores = np.zeros(values.shape)  # of gaps too
    counts = ~np.isnan(values) & (mass > 0)[:, None]
    for j, column in enumerate(values.T):
        is_there = counts[:, j]
        if is_there.any():
            found = score(np.asarray(column[is_there], dtype=np.float64), mass[is_there])
            location[j], deviation[j], scores[is_there, j] = found
            away = column[is_there] - location[j]
            if (
                deviation[j] <= _TIED * np.abs(away).max()
            ):  # most values are equal, but for rounding
                deviation[j] = float(np.sqrt(np.average(away**2, weights=mass[is_there])))
            scores[is_there, j] -= np.average(scores[is_there, j], weights=mass[is_there])
    # A constant column has no unit: its gaps hold the constant, whatever the unit of the others.
    varies = deviation > _ROUNDING * deviation.max(initial=0.0)
    least = float(deviation.min(where=varies, initial=np.inf))
    constant = _OF_CONSTANT * least if np.isfinite(least) else 1.0
    deviation = np.where(varies, deviation, constant)
    return Normal(location, _correlate(scores, counts, mass) * np.outer(deviation, deviation))


def _rank(values: FloatArray, mass: FloatArray) -> tuple[float, float, FloatArray]:
    """Return middle, spread and normal scores by ranks."""
    middle, spread = centre_and_spread(values[:, None], mass)
    _, places = np.unique(values, return_inverse=True)
    masses = np.bincount(places.ravel(), mass)
    ranks = (np.cumsum(masses) - masses / 2) / masses.sum()
    return middle[0], spread[0], ndtri(ranks[places.ravel()])


def _draw_back(values: FloatArray, mass: FloatArray) -> tuple[float, float, FloatArray]:
    """Return median, median deviation, and scores that fall to zero far out."""
    middle, spread = centre_and_spread(values[:, None], mass)
    away = values - middle[0]
    deviation = float(weighted_quantiles(np.abs(away), mass, (0.5,))[0]) / ndtri(0.75)
    unit = deviation or float(spread[0]) or 1.0
    z = away / unit
    far = np.clip((np.abs(z) - _STRAIGHT) / (_NO_SAY - _STRAIGHT), 0.0, 1.0)
    return middle[0], unit, np.clip(z, -_STRAIGHT, _STRAIGHT) * (1 - far)


def _correlate(scores: FloatArray, is_there: BoolArray, mass: FloatArray) -> FloatArray:
    """Return correlations of normal scores over the rows that have both columns."""
    weighted = scores * mass[:, None]
    products = weighted.T @ scores
    # Of one column, where both are there.
    squares = (np.square(scores) * mass[:, None]).T @ is_there.astype(np.float64)
    root = np.sqrt(squares * squares.T)
    correlation = (1 - _SHRINKAGE) * products / np.where(root > 0, root, 1.0)
    np.fill_diagonal(correlation, 1.0)
    sizes, vectors = np.linalg.eigh(correlation)
    raised = (vectors * np.maximum(sizes, _LEAST)) @ vectors.T
    unit = np.sqrt(np.diag(raised))
    return np.asarray(raised / np.outer(unit, unit))


def draw_gaps(law: Normal, values: FloatArray) -> FloatArray:
    """Return rows whose gaps are drawn from what the law says of them.

    Expected values alone would scatter too little. The draw of a row follows from its own values,
    so that it is the same wherever the row stands, and for each copy of it.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Normal
    >>> rows = np.column_stack([np.random.default_rng(0).normal(size=1000), np.full(1000, np.nan)])
    >>> bool(0.9 < draw_gaps(Normal(np.zeros(2), np.eye(2)), rows)[:, 1].std() < 1.1)
    True
    """
    unit = np.sqrt(np.diag(law.covariance))  # of any size
    scaled = Normal(np.zeros(len(unit)), law.covariance / np.outer(unit, unit))
    z = (values - law.location) / unit
    drawn = _scatter(z) @ scaled.factor.T
    # A row of the law, moved by what is expected of the difference between it and the row.
    filled = fill_rows(scaled, z - drawn).centred + drawn
    filled[:, np.fmin.reduce(values) == np.fmax.reduce(values)] = 0.0  # a constant has no unit
    return np.where(np.isnan(values), law.location + unit * filled, values)


def close_gaps(values: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rows with drawn gaps, and their masses, without rows that have no value at all.

    The draws of these would all be the same, a heap that is none.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0], [2.0, 5.0], [np.nan, np.nan]])
    >>> close_gaps(rows, np.ones(3))[0].tolist()
    [[0.0, 1.0], [2.0, 5.0]]
    """
    if not has_gaps(values):
        return values, mass
    counts = ~np.isnan(values).all(axis=1)
    if counts.any():
        values, mass = values[counts], mass[counts]
    return draw_gaps(guess_law(values, mass), values), mass


def _scatter(z: FloatArray) -> FloatArray:
    """Return normal numbers that follow from the values of a row, but look like chance."""
    places = np.arange(1, z.shape[1] + 1)
    signs = np.clip(np.nan_to_num(z), -_FARTHEST, _FARTHEST) + np.isnan(z)
    keys = signs @ (_MIXING * (1 + places * _GOLDEN % 1))
    parts = (keys[:, None] * (1 + places * np.sqrt(2) % 1) + places * _GOLDEN) % 1
    return np.asarray(ndtri(np.clip(parts, 1e-6, 1 - 1e-6)))


# Digits of the values beyond those that tell rows apart, mixed up.
_MIXING, _GOLDEN, _FARTHEST = 997.0, (5**0.5 - 1) / 2, 1e3
