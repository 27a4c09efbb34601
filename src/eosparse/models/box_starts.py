"""Where the boxes of SPA start: rows split in two again and again.

The box with the largest scatter is split along its main axis at its mean, until there are enough
boxes. The result does not depend on the order of the rows or on a seed, and a row of prior weight
k counts as k rows.

If boxes are to choose their columns, starts in all columns miss clusters that a few of them share.
Sparse starts look at columns that go together, which those of a cluster do and those of noise do
not.
"""

from __future__ import annotations

import heapq

import numpy as np

from eosparse.core import FloatArray, IntArray
from eosparse.models.lengths import TIE, first_largest

# Steps of the power iteration: the axis only has to separate the rows, so a rough one is enough.
_POWER_STEPS = 8
# Steps of the middles of pieces: rows in groups settle in a few.
_PIECE_STEPS = 20
# Squared deviations below this part of the squared values are rounding (1e-10 of a length).
_ROUNDING = 1e-20


def bisect_rows(values: FloatArray, prior: FloatArray, n_boxes: int) -> FloatArray:
    """Return the centres of up to `n_boxes` boxes, or fewer if the rows of each box are equal.

    Parameters
    ----------
    values : array of shape (n_samples, n_features)
        The rows.
    prior : array of shape (n_samples,)
        Prior weights.
    n_boxes : int
        Most boxes.

    Returns
    -------
    array of shape (n_found, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> bisect_rows(rows, np.ones(4), 2).ravel().tolist()
    [10.5, 0.5]
    """
    present = np.flatnonzero(prior > 0)
    # Largest scatter first; the count breaks ties, so that arrays are never compared.
    heap: list[tuple[float, int, IntArray]] = [
        (-_measure_scatter(values, prior, present), 0, present)
    ]
    count = 0
    while len(heap) < n_boxes and heap[0][0] < 0:
        _, _, rows = heapq.heappop(heap)
        for part in _split(values, prior, rows):
            count += 1
            heapq.heappush(heap, (-_measure_scatter(values, prior, part), count, part))
    newest_first = sorted(heap, key=lambda entry: -entry[1])
    return np.stack([_compute_mean(values, prior, rows) for _, _, rows in newest_first])


def _compute_mean(values: FloatArray, prior: FloatArray, rows: IntArray) -> FloatArray:
    mean: FloatArray = prior[rows] @ values[rows] / prior[rows].sum()
    return mean


def _measure_scatter(values: FloatArray, prior: FloatArray, rows: IntArray) -> float:
    """Return the sum of squared distances from the mean, or zero if that is rounding."""
    centred = values[rows] - _compute_mean(values, prior, rows)
    squares = np.einsum("ij,ij->i", centred, centred)
    largest = float(np.square(values[rows]).sum(axis=1).max())
    scatter = float(prior[rows] @ squares) if squares.max() > _ROUNDING * largest else 0.0
    return float(f"{scatter:.10e}")  # equal boxes are equal, whatever the order of their rows


def _split(values: FloatArray, prior: FloatArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Split rows at their mean, along the axis on which they vary most."""
    centred = values[rows] - _compute_mean(values, prior, rows)
    # Scaled by a power of two, which loses no digit, so that cubes of far rows do not overflow.
    centred = np.ldexp(centred, -int(np.frexp(np.abs(centred).max())[1]))
    farthest = first_largest(np.einsum("ij,ij->i", centred, centred))
    along = _project(centred, prior[rows], centred[farthest])
    # A row at the mean itself must not be put on either side by rounding.
    upper = along > TIE * np.abs(along).max()
    if upper.all() or not upper.any():
        # The axis was lost to rounding: put the farthest row into a box of its own.
        upper = np.arange(len(rows)) == farthest
    return rows[upper], rows[~upper]


def _project(centred: FloatArray, prior: FloatArray, axis: FloatArray) -> FloatArray:
    """Return the places of rows along the axis on which they vary most, from a first guess."""
    for _ in range(_POWER_STEPS):
        axis = (prior * (centred @ axis)) @ centred
        axis = axis / max(float(np.linalg.norm(axis)), 1e-300)  # not by zero
    return np.asarray(centred @ axis)


def cut_rows(values: FloatArray, prior: FloatArray, n_boxes: int) -> FloatArray:
    """Return the centres of rows cut into pieces across the direction that columns have in common.

    Columns are scaled to equal spread first. The pieces are those of least scatter along the
    direction, as far as a few steps from a bisection find them.

    Parameters
    ----------
    values : array of shape (n_samples, n_features)
        The rows; every column varies.
    prior : array of shape (n_samples,)
        Prior weights.
    n_boxes : int
        Most boxes.

    Returns
    -------
    array of shape (n_found, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 6.0], [6.0, 5.0], [9.0, 9.0]])
    >>> cut_rows(rows, np.ones(5), 3).tolist()
    [[0.5, 0.5], [5.5, 5.5], [9.0, 9.0]]
    """
    share = prior / prior.sum()
    centred = values - share @ values
    centred = centred / np.sqrt(share @ np.square(centred))
    farthest = first_largest(np.einsum("ij,ij->i", centred, centred) * (prior > 0))
    along = _project(centred, share, centred[farthest])
    middles = np.sort(bisect_rows(along[:, None], prior, n_boxes)[:, 0])
    for _ in range(_PIECE_STEPS):
        own, mass = _find_pieces(along, share, middles)
        middles = np.bincount(own, share * along, len(mass)) / mass
    own, mass = _find_pieces(along, share, middles)
    sums = np.stack([np.bincount(own, share * column, len(mass)) for column in values.T], axis=1)
    return np.asarray(sums / mass[:, None])


def _find_pieces(
    along: FloatArray, share: FloatArray, middles: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the piece with the nearest middle for each place, and the mass of those with rows."""
    nearest = np.searchsorted((middles[1:] + middles[:-1]) / 2, along)
    mass: FloatArray = np.bincount(nearest, share, len(middles)).astype(np.float64)
    number = np.cumsum(mass > 0) - 1
    return np.maximum(number[nearest], 0), mass[mass > 0]


def find_companions(values: FloatArray, prior: FloatArray, most: int) -> list[IntArray]:
    """Return up to `most` sets of columns that go together, those of the closest pair first.

    A set is a column and those whose correlation with it is more than half of the largest one.
    No column is in two sets.

    Parameters
    ----------
    values : array of shape (n_samples, n_features)
        The rows.
    prior : array of shape (n_samples,)
        Prior weights.
    most : int
        Most sets.

    Returns
    -------
    list of arrays of int

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shared, noise = rng.normal(size=(100, 1)), rng.normal(size=(100, 4))
    >>> [found] = find_companions(np.hstack([noise, shared, 2 * shared]), np.ones(100), 1)
    >>> sorted(found.tolist())
    [4, 5]
    """
    share = prior / prior.sum()
    centred = values - share @ values
    deviation = np.sqrt(share @ np.square(centred))
    varies = np.flatnonzero(deviation > 0)
    centred = centred[:, varies] / deviation[varies]
    close = np.abs((centred * share[:, None]).T @ centred)
    np.fill_diagonal(close, 0.0)
    found: list[IntArray] = []
    while len(found) < most and close.any():
        column = first_largest(close.max(axis=1))
        together = close[column] > 0.5 * close[column].max()
        together[column] = True
        found.append(varies[together])
        close[together] = 0.0
        close[:, together] = 0.0
    return found
