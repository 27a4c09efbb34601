"""Quantiles of weighted rows, and the robust centre and spread that follow from them."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv, ndtri

from eosparse.core.arrays import FloatArray

# Rounding in level times mass must not move a quantile up by a row.
_ROUNDING = 1e-12


def weighted_quantiles(
    values: FloatArray, mass: FloatArray, levels: tuple[float, ...]
) -> FloatArray:
    """Return, for each level and column, the smallest value with that share of the mass up to it.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), (0.25, 0.5))
    array([1., 2.])
    """
    present = mass > 0
    columns = np.ascontiguousarray(values[present].T)
    mass = mass[present]
    if (mass == mass[0]).all():
        # The same definition, without a full sort.
        ranks = [max(int(np.ceil((level - _ROUNDING) * len(mass))) - 1, 0) for level in levels]
        parted = np.partition(columns, sorted(set(ranks)), axis=-1)
        return np.moveaxis(parted[..., ranks], -1, 0)
    order = np.argsort(columns, axis=-1, kind="stable")
    cumulated = np.cumsum(mass[order], axis=-1)
    reached = [cumulated >= (level - _ROUNDING) * mass.sum() for level in levels]
    first = np.stack([np.argmax(r, axis=-1) for r in reached], axis=-1)
    chosen = np.take_along_axis(order, first, axis=-1)
    return np.moveaxis(np.take_along_axis(columns, chosen, axis=-1), -1, 0)


def interpolate_quantiles(x: FloatArray, mass: FloatArray, levels: FloatArray) -> FloatArray:
    """Return quantiles between the values, each of which stands at the middle of its mass.

    Examples
    --------
    >>> import numpy as np
    >>> interpolate_quantiles(np.array([1.0, 2.0, 2.0, 2.0]), np.ones(4), np.array([0.125, 0.5]))
    array([1.  , 1.75])
    """
    if (mass == mass[0]).all():  # the same numbers, without the places of the rows
        different, numbers = np.unique(x, return_counts=True)
        counts = numbers * float(mass[0])
    else:
        different, places = np.unique(x, return_inverse=True)
        counts = np.bincount(places, mass).astype(np.float64)
    held = np.cumsum(counts)
    return np.interp(levels, (held - counts / 2) / held[-1], different)


def centre_and_spread(values: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the median and a robust spread of each column.

    The spread is the interquartile range, in units of a standard deviation. If ties make it zero,
    a wider central range takes its place. A constant column has spread zero.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[0.0], [1.0], [2.0], [3.0], [900.0]])
    >>> centre, spread = centre_and_spread(values, np.ones(5))
    >>> centre.tolist(), spread.round(2).tolist()
    ([2.0], [1.48])
    """
    low, centre, high = weighted_quantiles(values, mass, (0.25, 0.5, 0.75))
    spread = (high - low) / (2 * ndtri(0.75))
    for tail in (0.1, 0.025, 0.001):
        tied = spread == 0
        if not tied.any():
            break
        low, high = weighted_quantiles(values[:, tied], mass, (tail, 1 - tail))
        spread[tied] = (high - low) / (2 * ndtri(1 - tail))
    return centre, spread


def chi_squared_quantile(level: float, degrees: float) -> float:
    """Return the quantile of a χ² law, without the slow import of `scipy.stats`.

    Examples
    --------
    >>> round(chi_squared_quantile(0.99, 2), 3)
    9.21
    """
    return float(2 * gammaincinv(degrees / 2, level))
