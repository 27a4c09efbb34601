"""Compiled loops over tiles of rows; imported only where Numba is installed and needed."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# Rows that are worked on together. Not a power of two, so that columns do not share cache lines.
_TILE = 96
# Sums may be reordered; infinities keep their meaning.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
compiled = numba.njit(cache=True, **_OPTIONS)
# Only where they are allocated are arrays known not to overlap.
inlined = numba.njit(inline="always", **_OPTIONS)


@inlined
def _measure(values, first, count, centre, matrix, tile, distances):  # type: ignore[no-untyped-def]
    """Centre a tile, column by column, and measure the distances of its rows."""
    for r in range(count):
        for k in range(values.shape[1]):
            tile[k, r] = values[first + r, k] - centre[k]
    distances[:] = 0.0
    x = np.empty((4, _TILE), matrix.dtype)
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    for j in range(0, len(matrix), 4):  # four coordinates, from four columns at a time
        x[:] = 0.0
        for k in range(0, j + 4, 4):
            m0, m1, m2, m3 = matrix[j], matrix[j + 1], matrix[j + 2], matrix[j + 3]
            a0, b0, c0, d0 = m0[k], m0[k + 1], m0[k + 2], m0[k + 3]
            a1, b1, c1, d1 = m1[k], m1[k + 1], m1[k + 2], m1[k + 3]
            a2, b2, c2, d2 = m2[k], m2[k + 1], m2[k + 2], m2[k + 3]
            a3, b3, c3, d3 = m3[k], m3[k + 1], m3[k + 2], m3[k + 3]
            for r in range(_TILE):
                u, v, w, z = tile[k, r], tile[k + 1, r], tile[k + 2, r], tile[k + 3, r]
                x0[r] += a0 * u + b0 * v + c0 * w + d0 * z
                x1[r] += a1 * u + b1 * v + c1 * w + d1 * z
                x2[r] += a2 * u + b2 * v + c2 * w + d2 * z
                x3[r] += a3 * u + b3 * v + c3 * w + d3 * z
        for r in range(_TILE):
            distances[r] += x0[r] * x0[r] + x1[r] * x1[r] + x2[r] * x2[r] + x3[r] * x3[r]


@inlined
def _add_products(tile, weighted, products):  # type: ignore[no-untyped-def]
    """Add the lower triangle of weighted × tile."""
    zero = tile.dtype.type(0)
    for j in range(0, len(tile), 4):
        for k in range(0, j + 4, 2):
            t0 = t1 = t2 = t3 = u0 = u1 = u2 = u3 = zero
            for r in range(_TILE):
                v, w = tile[k, r], tile[k + 1, r]
                t0 += weighted[j, r] * v
                t1 += weighted[j + 1, r] * v
                t2 += weighted[j + 2, r] * v
                t3 += weighted[j + 3, r] * v
                u0 += weighted[j, r] * w
                u1 += weighted[j + 1, r] * w
                u2 += weighted[j + 2, r] * w
                u3 += weighted[j + 3, r] * w
            products[j, k] += t0
            products[j + 1, k] += t1
            products[j + 2, k] += t2
            products[j + 3, k] += t3
            products[j, k + 1] += u0
            products[j + 1, k + 1] += u1
            products[j + 2, k + 1] += u2
            products[j + 3, k + 1] += u3


@compiled
def sweep_rows(values, prior, centre, matrix, exponent, totals, sums, products, measured):  # type: ignore[no-untyped-def]
    """Sum up in the precision of the matrix, tile by tile; the totals are in double precision."""
    n_rows, shape, precision = len(values), (len(matrix), _TILE), matrix.dtype
    tile, weighted = np.zeros(shape, precision), np.zeros(shape, precision)
    distances, weights = np.empty(_TILE, precision), np.zeros(_TILE, precision)
    for first in range(0, n_rows, _TILE):
        count = min(_TILE, n_rows - first)
        _measure(values, first, count, centre, matrix, tile, distances)
        if count < _TILE:
            weights[:] = 0.0  # rows of the tile before, which are still there
        total = squares = moments = 0.0
        for r in range(count):
            measured[first + r] = distances[r]
            single = np.exp(-exponent * distances[r])
            weight = single if len(prior) == 0 else prior[first + r] * single
            weights[r] = weight
            total += weight
            squares += weight * single
            if weight > 0.0:  # an infinite distance has no weight
                moments += weight * distances[r]
        totals[0] += total
        totals[1] += squares
        totals[2] += moments
        for j in range(len(matrix)):
            total = 0.0
            for r in range(_TILE):
                weighted[j, r] = weights[r] * tile[j, r]
                total += weighted[j, r]
            sums[j] += total
        _add_products(tile, weighted, products)


@compiled
def measure_rows(values, centre, matrix, distances):  # type: ignore[no-untyped-def]
    tile, some = np.zeros((len(matrix), _TILE)), np.empty(_TILE)
    for first in range(0, len(values), _TILE):
        count = min(_TILE, len(values) - first)
        _measure(values, first, count, centre, matrix, tile, some)
        for r in range(count):
            distances[first + r] = some[r]
