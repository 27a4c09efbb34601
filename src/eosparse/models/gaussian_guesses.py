"""Guesses of the rows that may be clean, from which the search for a Gaussian starts.

Add an idea by yielding its weights from `guess_clean_rows`: wrong guesses cost time, not the
answer, since the search compares where they lead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eosparse.core import FloatArray, centre_and_spread, weighted_moments, weighted_quantiles

# Variances below this part of the largest are rounding; whitening would blow them up.
_LEAST_VARIANCE = 1e-12
# Directions from which the search for extreme kurtosis starts, at each end of the spectrum: a group
# shows in the first, and a second or third one in the next.
_N_DIRECTIONS = 3
# The fixed-point iteration converges cubically near a solution.
_KURTOSIS_STEPS = 8
# Splits tried at each end: the most extreme direction, and one more in case it is no group.
_N_SPLITS = 2


def guess_clean_rows(values: FloatArray, mass: FloatArray) -> Iterator[FloatArray]:
    """Yield weights of rows that may be clean, each by another idea.

    Rows have prior weights: a weight of k has the same effect as k copies of the row.
    """
    centre, spread = centre_and_spread(values, mass)
    scaled = (values - centre) / np.where(spread > 0, spread, 1.0)

    def keep_nearest_half(distances: FloatArray) -> FloatArray:
        return mass * (distances <= weighted_quantiles(distances, mass, (0.5,)))

    yield mass
    yield keep_nearest_half(np.einsum("ij,ij->i", scaled, scaled))
    # Transformations that outliers can hardly move: tanh and spatial signs.
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    for bounded in (np.tanh(scaled), scaled / np.where(length > 0, length, 1.0)):
        yield keep_nearest_half(_eigenvector_distances(scaled, bounded, mass))
    if mass.sum() > 2 * values.shape[1]:
        yield from _kurtosis_splits(values, mass)


def _eigenvector_distances(scaled: FloatArray, bounded: FloatArray, mass: FloatArray) -> FloatArray:
    """Return distances from the median, with robust spreads along the eigenvectors of a scatter."""
    _, vectors = np.linalg.eigh(weighted_moments(bounded, mass, diagonal=False).scatter)
    rotated = scaled @ vectors
    centre, spread = centre_and_spread(rotated, mass)
    standard = (rotated - centre) / np.where(spread > 0, spread, 1.0)
    distances: FloatArray = np.einsum("ij,ij->i", standard, standard)
    return distances


def _kurtosis_splits(values: FloatArray, mass: FloatArray) -> Iterator[FloatArray]:
    """Yield the larger parts of the rows, split along directions of extreme kurtosis.

    In whitened rows these directions do not depend on the units or on any linear map of the
    columns. The search starts from the extreme eigenvectors of E[|z|² z z'] and from the leading
    principal axes.
    """
    moments = weighted_moments(values, mass, diagonal=False)
    share = mass / mass.sum()
    variances, vectors = np.linalg.eigh(moments.scatter)
    kept = variances > _LEAST_VARIANCE * variances[-1]
    white = (values - moments.mean) @ (vectors[:, kept] / np.sqrt(variances[kept]))
    size = min(_N_DIRECTIONS, white.shape[1])
    length = np.einsum("ij,ij->i", white, white)
    _, fourth = np.linalg.eigh((white * (share * length)[:, None]).T @ white)
    axes = np.eye(white.shape[1])[:, -size:]
    start = np.concatenate([fourth[:, :size], fourth[:, -size:], axes], axis=1)
    found = [_extreme_kurtosis(white, share, start, lowest) for lowest in (True, False)]
    projections = white @ np.concatenate(found, axis=1)
    order = np.argsort(share @ projections**4)
    for index in {*order[:_N_SPLITS], *order[-_N_SPLITS:]}:
        yield _larger_part(projections[:, index], mass)


def _extreme_kurtosis(
    white: FloatArray, share: FloatArray, directions: FloatArray, lowest: bool
) -> FloatArray:
    """Take fixed-point steps towards the lowest (or highest) kurtosis of a projection."""
    for _ in range(_KURTOSIS_STEPS):
        projections = white @ directions
        squares = projections * projections
        gradient = white.T @ (squares * projections * share[:, None])
        if lowest:
            # A shift above the curvature, 3 on Gaussian rows, turns descent into a power step.
            shift = np.maximum(3.0, 1.5 * (share @ (squares * squares)))
            gradient = shift * directions - gradient
        directions = gradient / np.maximum(np.linalg.norm(gradient, axis=0), 1e-300)
    return directions


def _larger_part(projection: FloatArray, mass: FloatArray) -> FloatArray:
    """Split rows in two where the variance between the parts is largest; keep the heavier."""
    order = np.argsort(projection, kind="stable")
    below = np.cumsum(mass[order])
    total, sums = below[-1], np.cumsum(mass[order] * projection[order])
    inner = (below > 0) & (below < total)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (sums - below * sums[-1] / total) ** 2 / (below * (total - below))
    cut = int(np.argmax(np.where(inner, between, -1.0)))
    low = projection <= projection[order[cut]]
    larger: FloatArray = mass * (low if mass @ low >= total / 2 else ~low)
    return larger
