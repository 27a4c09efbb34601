"""Whether rows that a fit takes for one group are two: a valley between two peaks.

Directions in which the rows look least Gaussian are found on one half of them, and the valley is
counted on the other half, so that the search for directions cannot make one up.
"""

from __future__ import annotations

import numpy as np

from eosparse.core import BoolArray, FloatArray, weighted_quantiles
from eosparse.models.directions import odd_projections, split_in_two, whiten_rows

# Standard errors by which the valley must be lower than both peaks: one clean table in ten
# thousand has such a valley, in any of the directions.
_SIGNIFICANT = 4.0
# Fewer rows in each half show nothing.
_FEWEST_ROWS = 25
# Parts of the range in which rows are counted, wide enough for a dozen rows each.
_N_PARTS, _ROWS_PER_PART = 12, 12
# Parts hold several values each: between rounded numbers there is nothing.
_VALUES_PER_PART = 4
# A valley holds less than this part of the lower peak: rounded numbers fill parts unevenly.
_DEPTH = 0.6
# Distances that differ by less, relatively, are those of equal rows.
_EQUAL = 1e-9


def find_group(values: FloatArray, mass: FloatArray, evidence: float = 1.0) -> BoolArray | None:
    """Split rows that form two groups; return which are in the heavier one, None if they do not.

    Parameters
    ----------
    values : array of shape (n_samples, n_features)
        Rows that may be one group, in any affine coordinates.
    mass : array of shape (n_samples,)
        Their prior weights.
    evidence : float, default=1.0
        How many independent rows a mass of one stands for.

    Returns
    -------
    array of bool of shape (n_samples,) or None

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> find_group(rows, np.ones(500)) is None
    True
    >>> rows[:150, 1] += 7.0
    >>> int(find_group(rows, np.ones(500)).sum())
    348
    """
    halves = _halve(values, evidence * mass)
    if halves is None:
        return None
    half, white = halves
    projections = odd_projections(values, mass, half, white)
    splits = split_in_two(projections[half], mass[half])
    for number, projection in enumerate(projections.T):
        low, high = splits.low[number], splits.high[number]
        if _has_valley(projection[~half], evidence * mass[~half], low, high):
            below = projection <= splits.cuts[number]
            return np.asarray(below if 2 * (mass @ below) >= mass.sum() else ~below)
    return None


def shows_groups(values: FloatArray, mass: FloatArray, white: FloatArray | None = None) -> bool:
    """Whether rows show a valley between two peaks along some direction, whatever their number.

    The rows may be given `white` too, in coordinates in which their covariance is the identity.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(600, 3))
    >>> shows_groups(rows, np.ones(600))
    False
    >>> shows_groups(rows + np.repeat([-8.0, 0.0, 6.0], 200)[:, None], np.ones(600))
    True
    """
    halves = _halve(values, mass, white)
    if halves is None:
        return False
    half, white = halves
    projections = odd_projections(values, mass, half, white)[~half]
    return any(_dips(projection, mass[~half]) for projection in projections.T)


def _dips(projection: FloatArray, mass: FloatArray) -> bool:
    """Whether some part of the range holds significantly fewer rows than parts on either side."""
    low, high = weighted_quantiles(projection, mass, (0.02, 0.98)).ravel().tolist()
    n_values = len(np.unique(np.round(projection, 9)))
    n_parts = min(_N_PARTS, n_values // _VALUES_PER_PART, int(mass.sum() / _ROWS_PER_PART))
    edges = np.linspace(low, high, max(n_parts, 1) + 1)
    counts = np.histogram(projection, edges, weights=mass)[0]
    left = np.maximum.accumulate(counts)
    right = np.maximum.accumulate(counts[::-1])[::-1]
    peak = np.minimum(left, right)
    is_deep = counts < _DEPTH * peak
    return bool((is_deep & (peak - counts > _SIGNIFICANT * np.sqrt(peak + counts))).any())


def _halve(
    values: FloatArray, mass: FloatArray, white: FloatArray | None = None
) -> tuple[BoolArray, FloatArray] | None:
    """Return every other row in the order of distances from the mean, and the whitened rows.

    Equal rows stay together. None if a half has too few rows to show anything.
    """
    if mass.sum() < 2 * _FEWEST_ROWS:
        return None
    white = whiten_rows(values, mass) if white is None else white
    distances = np.einsum("ij,ij->i", white, white)
    order = np.argsort(distances, kind="stable")
    ordered = distances[order]
    is_new = np.diff(ordered, prepend=-1.0) > _EQUAL * ordered
    half = np.empty(len(order), dtype=bool)
    half[order] = np.cumsum(is_new) % 2 == 0
    is_enough = min(mass[half].sum(), mass[~half].sum()) >= _FEWEST_ROWS
    return (half, white) if is_enough else None


def _has_valley(projection: FloatArray, counts: FloatArray, low: float, high: float) -> bool:
    """Whether there are significantly fewer rows half-way between two points than at each."""
    reach = (high - low) / 6
    windows = np.abs(projection[:, None] - np.array([low, (low + high) / 2, high])) <= reach
    left, middle, right = (counts @ windows).tolist()
    peak = min(left, right)
    return bool(peak - middle > _SIGNIFICANT * np.sqrt(peak + middle))
