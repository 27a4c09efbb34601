"""Guesses of the rows that may be clean, from which the search for a Gaussian starts.

Add an idea by yielding its weights from `guess_clean_rows`: wrong guesses cost time, not the
answer, since the search compares where they lead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eosparse.core import FloatArray, centre_and_spread, weighted_moments, weighted_quantiles
from eosparse.models.directions import odd_projections, split_in_two


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
        projections = odd_projections(values, mass)
        below = projections <= split_in_two(projections, mass).cuts
        for low in below.T:
            yield mass * (low if 2 * (mass @ low) >= mass.sum() else ~low)
        # Many rows close to a plane show as a peak.
        yield keep_nearest_half(_distance_from_peak(projections, mass))


def _distance_from_peak(projections: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the distances from the median along the projection of the highest kurtosis."""
    share = mass / mass.sum()
    centred = projections - share @ projections
    squares = np.square(centred)
    kurtosis = (share @ np.square(squares)) / np.maximum(np.square(share @ squares), 1e-300)
    peaked = projections[:, int(np.argmax(kurtosis))]
    distances: FloatArray = np.abs(peaked - weighted_quantiles(peaked, mass, (0.5,)))
    return distances


def _eigenvector_distances(scaled: FloatArray, bounded: FloatArray, mass: FloatArray) -> FloatArray:
    """Return distances from the median, with robust spreads along the eigenvectors of a scatter."""
    _, vectors = np.linalg.eigh(weighted_moments(bounded, mass, diagonal=False).scatter)
    rotated = scaled @ vectors
    centre, spread = centre_and_spread(rotated, mass)
    standard = (rotated - centre) / np.where(spread > 0, spread, 1.0)
    distances: FloatArray = np.einsum("ij,ij->i", standard, standard)
    return distances
