"""Compiled loops over the cells of rows; imported only where Numba is installed and needed.

Setting cell j of a row aside is one step of elimination. With Q the inverse covariance of the cells
that are kept, u = Qz and q its diagonal,

    v = Q_:j / √q_j,   c = u_j / √q_j,   u ← u - c v,   q ← q - v²,   m ← m - c²

whatever the value of the cell. The vectors v of the cells that are set aside are a Cholesky factor
L of their P_mm, so that L⁻¹ has what is expected of them and its variance.
"""

from __future__ import annotations

import numpy as np

from eosparse.models.kernels import compiled

_TINY = np.finfo(np.float64).tiny


# Of one row: the pull on each cell and its inverse variance given the others; of cells that are set
# aside, in their order, the variance, how far they lie from what is expected, and their share of m.
_PULLS, _INNER, _SPREADS, _RESIDUALS, _SHARES = range(5)


@compiled
def _set_aside(j, count, precision, row, vectors, inverse, order):  # type: ignore[no-untyped-def]
    """Eliminate a cell, the one after `count` others."""
    size, v = len(precision), vectors[count]
    v[:] = precision[j]
    for b in range(count):
        factor = vectors[b, j]
        for k in range(size):
            v[k] -= factor * vectors[b, k]
    root = np.sqrt(max(v[j], _TINY))
    share = row[_PULLS, j] / root
    for k in range(size):
        v[k] /= root
        row[_PULLS, k] -= share * v[k]
        row[_INNER, k] -= v[k] * v[k]
    order[count], row[_SHARES, count] = j, share * share
    row[_RESIDUALS, count] = row[_SPREADS, count] = 0.0
    inverse[count, count] = 1 / root
    for a in range(count):
        total = 0.0
        for b in range(a, count):
            total += vectors[b, j] * inverse[b, a]
        inverse[count, a] = -total / root
    for a in range(count + 1):
        row[_RESIDUALS, a] += inverse[count, a] * share
        row[_SPREADS, a] += inverse[count, a] * inverse[count, a]


@compiled
def _find_change(row, order, n_gaps, count, is_out, precision, costs, logs, least_gain):  # type: ignore[no-untyped-def]
    """Return the cell whose change lowers the error most, and its place if it comes back."""
    best, place, most = -1, -1, least_gain
    for k in range(len(costs)):
        if not is_out[k]:
            own, squared = max(row[_INNER, k], _TINY), row[_PULLS, k] ** 2
            # log(own/p) >= 1 - p/own, and logarithms take longer than everything else here.
            if 0.5 * ((squared + precision[k, k]) / own - 1) + logs[k] <= most:
                continue
            gain = 0.5 * (squared / own - np.log(own)) - costs[k]
            if gain > most:
                best, place, most = k, -1, gain
    for a in range(n_gaps, count):
        own = row[_SPREADS, a]
        gain = costs[order[a]] - 0.5 * (row[_RESIDUALS, a] ** 2 / own + np.log(own))
        if gain > most:
            best, place, most = order[a], a, gain
    return best, place


@compiled
def _settle(  # type: ignore[no-untyped-def]
    pulled, there, precision, costs, logs, least_gain, row, vectors, inverse, order, is_out
):
    """Settle one row; return how many cells are set aside."""
    size = len(costs)
    count = n_gaps = 0
    for k in range(size):
        row[_PULLS, k], row[_INNER, k], is_out[k] = pulled[k], precision[k, k], False
    for k in range(size):
        if not there[k]:
            _set_aside(k, n_gaps, precision, row, vectors, inverse, order)
            is_out[k], n_gaps = True, n_gaps + 1
    count = n_gaps
    for _ in range(2 * size):  # each cell may leave and come back
        best, place = _find_change(
            row, order, n_gaps, count, is_out, precision, costs, logs, least_gain
        )
        if best < 0:
            break
        is_out[best] = place < 0
        if place < 0:
            _set_aside(best, count, precision, row, vectors, inverse, order)
            count += 1
            continue
        for a in range(place, count - 1):
            order[a] = order[a + 1]
        count -= 1
        for k in range(size):
            row[_PULLS, k], row[_INNER, k] = pulled[k], precision[k, k]
        for a in range(count):
            _set_aside(order[a], a, precision, row, vectors, inverse, order)
    return count


@compiled
def centre_rows(values, there, location, centred):  # type: ignore[no-untyped-def]
    """Write rows less the location, zero where a cell is not there."""
    for i in range(len(values)):
        for k in range(len(location)):
            centred[i, k] = values[i, k] - location[k] if there[i, k] else 0.0


@compiled
def settle_rows(  # type: ignore[no-untyped-def]
    values, there, location, precision, costs, least_gain, pulled,
    kept, filled, residuals, variances, distances, log_dets,
):  # fmt: skip
    """Set aside cells that are not there, then those whose removal lowers the error most.

    Given are centred rows in `filled`, and their products with the precision in `pulled`. The
    fields of `RowCells` are written in place.
    """
    n_rows, size = values.shape
    whole = 1 / np.diag(precision)
    logs = 0.5 * np.log(whole) - costs
    row, order, is_out = np.empty((5, size)), np.empty(size, np.int64), np.empty(size, np.bool_)
    vectors, inverse = np.empty((size, size)), np.empty((size, size))
    for i in range(n_rows):
        distance, log_det, moves = 0.0, 0.0, False
        for k in range(size):
            distance += filled[i, k] * pulled[i, k]
            moves |= not there[i, k]
            kept[i, k], variances[i, k] = True, whole[k]
            residuals[i, k] = pulled[i, k] * whole[k]
            moves |= 0.5 * pulled[i, k] * residuals[i, k] + logs[k] > least_gain
        if moves:
            count = _settle(
                pulled[i],
                there[i],
                precision,
                costs,
                logs,
                least_gain,
                row,
                vectors,
                inverse,
                order,
                is_out,
            )
            for k in range(size):
                variances[i, k] = 1 / max(row[_INNER, k], _TINY)
                residuals[i, k] = row[_PULLS, k] * variances[i, k]
            for a in range(count):
                k = order[a]
                kept[i, k], variances[i, k] = False, row[_SPREADS, a]
                filled[i, k] -= row[_RESIDUALS, a]
                residuals[i, k] = values[i, k] - location[k] - filled[i, k]
                log_det -= 2 * np.log(inverse[a, a])
                distance -= row[_SHARES, a]
        distances[i], log_dets[i] = max(distance, 0.0), log_det


@compiled
def sum_spreads(is_missing, weights, precision, total):  # type: ignore[no-untyped-def]
    """Add the weighted covariances of missing cells, given the others of their row."""
    n_rows, size = is_missing.shape
    factor, inverse = np.empty((size, size)), np.empty((size, size))
    order = np.empty(size, np.int64)
    for i in range(n_rows):
        count = 0
        for k in range(size):
            if is_missing[i, k]:
                order[count] = k
                count += 1
        if count == 0 or weights[i] == 0.0:
            continue
        for a in range(count):
            for b in range(a + 1):
                value = precision[order[a], order[b]]
                for k in range(b):
                    value -= factor[a, k] * factor[b, k]
                factor[a, b] = np.sqrt(max(value, _TINY)) if a == b else value / factor[b, b]
            for b in range(a):
                value = 0.0
                for k in range(b, a):
                    value += factor[a, k] * inverse[k, b]
                inverse[a, b] = -value / factor[a, a]
            inverse[a, a] = 1 / factor[a, a]
        for a in range(count):
            for b in range(a + 1):
                value = 0.0
                for k in range(a, count):
                    value += inverse[k, a] * inverse[k, b]
                total[order[a], order[b]] += weights[i] * value
                if a != b:
                    total[order[b], order[a]] += weights[i] * value
