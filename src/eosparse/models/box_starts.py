"""Where the boxes of SPA start: rows split in two again and again.

The box with the largest scatter is split along its main axis at its mean, until there are enough.
The outcome does not depend on the order of the rows or on a seed, and a row of prior weight k
counts as k rows.
"""

from __future__ import annotations

import heapq

import numpy as np

from eosparse.core import FloatArray, IntArray

_POWER_STEPS = 8


def bisected(values: FloatArray, mass: FloatArray, n_boxes: int) -> FloatArray:
    """Return the centres of up to `n_boxes` boxes; fewer where rows no longer differ.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> bisected(rows, np.ones(4), 2).ravel().tolist()
    [10.5, 0.5]
    """
    everything = np.flatnonzero(mass > 0)
    # Largest scatter first; the count breaks ties, so that arrays are never compared.
    heap: list[tuple[float, int, IntArray]] = [(-_scatter(values, mass, everything), 0, everything)]
    count = 0
    while len(heap) < n_boxes and heap[0][0] < 0:
        _, _, rows = heapq.heappop(heap)
        for part in _split(values, mass, rows):
            count += 1
            heapq.heappush(heap, (-_scatter(values, mass, part), count, part))
    return np.stack([_mean(values, mass, rows) for _, _, rows in sorted(heap, key=_by_count)])


def _by_count(entry: tuple[float, int, IntArray]) -> int:
    return -entry[1]


def _mean(values: FloatArray, mass: FloatArray, rows: IntArray) -> FloatArray:
    mean: FloatArray = mass[rows] @ values[rows] / mass[rows].sum()
    return mean


def _scatter(values: FloatArray, mass: FloatArray, rows: IntArray) -> float:
    """Sum of squared distances from the mean; zero where it is rounding."""
    centred = values[rows] - _mean(values, mass, rows)
    squares = np.einsum("ij,ij->i", centred, centred)
    largest = float(np.square(values[rows]).sum(axis=1).max())
    return float(mass[rows] @ squares) if squares.max() > 1e-20 * largest else 0.0


def _split(values: FloatArray, mass: FloatArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    centred = values[rows] - _mean(values, mass, rows)
    # By a power of two, which costs no digit: cubes of far rows would overflow.
    centred = np.ldexp(centred, -int(np.frexp(np.abs(centred).max())[1]))
    farthest = int(np.argmax(np.einsum("ij,ij->i", centred, centred)))
    axis = centred[farthest]
    for _ in range(_POWER_STEPS):
        axis = (mass[rows] * (centred @ axis)) @ centred
        axis = axis / max(float(np.linalg.norm(axis)), 1e-300)
    upper = centred @ axis > 0
    if upper.all() or not upper.any():
        # The axis was lost to rounding; the farthest row makes a box of its own.
        upper = np.arange(len(rows)) == farthest
    return rows[upper], rows[~upper]
