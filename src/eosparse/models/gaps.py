"""Rows with gaps under a normal law: what their values say, and what the gaps would hold.

With the inverse P of the covariance V, the missing columns m of a row and z its centred values,
zero where missing,

    squared distance of the rest   z'Pz - (Pz)_m' P_mm⁻¹ (Pz)_m
    log det V of the rest          log det V + log det P_mm
    expected missing values        μ_m - P_mm⁻¹ (Pz)_m,   with covariance P_mm⁻¹

so that a row with few gaps costs a small system, not a matrix of all columns. Rows with equally
many gaps are solved together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, gammainccinv, gammaln

from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.models import fused
from eosparse.models.normal import Normal

# Numbers of the small systems that are solved together.
_BATCH_NUMBERS = 2**21
# Smaller chances are compared by their logarithms.
_LEAST_CHANCE = 1e-280
# Steps in which the logarithm of a small chance is inverted.
_STEPS = 6


@dataclass(frozen=True)
class FilledRows:
    """Rows whose gaps hold what is expected there.

    Attributes
    ----------
    centred : array of shape (n_rows, n_columns)
        The rows less the location.
    distances : array of shape (n_rows,)
        Squared distances of what is there.
    log_dets : array of shape (n_rows,)
        Log-determinant of P_mm: what a row's own columns add to that of all.
    """

    centred: FloatArray
    distances: FloatArray
    log_dets: FloatArray


def fill_rows(theta: Normal, values: FloatArray) -> FilledRows:
    """Return rows with what is expected in their gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Normal
    >>> theta = Normal(np.zeros(2), np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> filled = fill_rows(theta, np.array([[2.0, np.nan]]))
    >>> filled.centred.round(6).tolist(), filled.distances.round(6).tolist()
    ([[2.0, 1.6]], [4.0])
    """
    is_missing = np.isnan(values)
    centred = np.where(is_missing, 0.0, values - theta.location)
    log_dets = np.zeros(len(values))
    if theta.covariance.ndim == 1:
        distances = (np.square(centred) / theta.covariance).sum(axis=1)
        return FilledRows(centred, distances, -(is_missing @ np.log(theta.covariance)))
    precision = theta.inverse_factor.T @ theta.inverse_factor
    pulled = centred @ precision
    distances = np.einsum("ij,ij->i", centred, pulled)
    for rows, missing in find_patterns(is_missing):
        systems = precision[missing[:, :, None], missing[:, None, :]]
        factors = np.linalg.cholesky(systems)
        forces = np.take_along_axis(pulled[rows], missing, axis=1)
        solved = np.linalg.solve(systems, forces[..., None])[..., 0]
        np.put_along_axis(block := centred[rows], missing, -solved, axis=1)
        centred[rows] = block
        distances[rows] -= np.einsum("ij,ij->i", forces, solved)
        diagonals = np.einsum("ijj->ij", factors)
        log_dets[rows] = 2 * np.log(diagonals).sum(axis=1)
    return FilledRows(centred, np.maximum(distances, 0.0), log_dets)


def spread_of_gaps(theta: Normal, is_missing: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of the covariances of missing values, given what is there.

    A matrix, or its diagonal if the covariance is one.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Normal
    >>> theta = Normal(np.zeros(2), np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> spread_of_gaps(theta, np.array([[False, True]]), np.array([2.0])).round(6).tolist()
    [[0.0, 0.0], [0.0, 0.72]]
    """
    if theta.covariance.ndim == 1:
        return np.asarray((weights @ is_missing) * theta.covariance)
    size = len(theta.location)
    total: FloatArray = np.zeros(size * size)
    precision = theta.inverse_factor.T @ theta.inverse_factor
    if (kernels := fused.load_for_cells(is_missing.size)) is not None:
        kernels.sum_spreads(is_missing, weights, precision, spread := np.zeros((size, size)))
        return spread
    for rows, missing in find_patterns(is_missing & (weights > 0)[:, None]):
        systems = precision[missing[:, :, None], missing[:, None, :]]
        spreads = np.linalg.inv(systems) * weights[rows, None, None]
        places = missing[:, :, None] * size + missing[:, None, :]
        total += np.bincount(places.ravel(), spreads.ravel(), minlength=size * size)
    return total.reshape(size, size)


def find_patterns(is_missing: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield rows with equally many gaps, and the columns of these, some rows at a time.

    Examples
    --------
    >>> import numpy as np
    >>> [(rows.tolist(), gaps.tolist()) for rows, gaps in find_patterns(np.eye(2, dtype=bool))]
    [([0, 1], [[0], [1]])]
    """
    counts = is_missing.sum(axis=1)
    for count in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == count)
        step = max(_BATCH_NUMBERS // (count * is_missing.shape[1]), 1)
        for i in range(0, len(rows), step):
            part = rows[i : i + step]
            yield part, np.nonzero(is_missing[part])[1].reshape(len(part), count)


def match_chances(distances: FloatArray, counts: IntArray, size: int, scale: float) -> FloatArray:
    """Return the distances of all columns that are as improbable as those of some.

    Parameters
    ----------
    distances : array of shape (n_rows,)
        Squared distances.
    counts : array of int of shape (n_rows,)
        How many columns each comes from.
    size : int
        The number of all columns.
    scale : float
        Squared distances of good rows are χ² times this.

    Returns
    -------
    array of shape (n_rows,)
        0 for rows without any value.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import chi2
    >>> found = match_chances(np.array([chi2.isf(1e-3, 2)]), np.array([2]), 5, 1.0)
    >>> round(float(chi2.sf(found[0], 5)), 9)
    0.001
    """
    halves = np.asarray(distances) / (2 * scale)
    chances = gammaincc(counts / 2, halves)
    with np.errstate(invalid="ignore"):
        matched = gammainccinv(size / 2, chances)
    is_small = (chances < _LEAST_CHANCE) & (counts > 0)
    matched[is_small] = _match_logs(halves[is_small], counts[is_small], size)
    matched[counts == 0] = 0.0  # nothing speaks against such a row
    return np.where(counts == size, distances, 2 * scale * matched)


def _match_logs(halves: FloatArray, counts: IntArray, size: int) -> FloatArray:
    """Match chances too small for a float: Γ(a, x) is about x^(a-1) e^-x there."""
    gain = gammaln(counts / 2) - gammaln(size / 2)
    own = (counts / 2 - 1) * np.log(halves)
    matched = halves.copy()
    for _ in range(_STEPS):
        matched = halves - own + (size / 2 - 1) * np.log(matched) + gain
    return matched
