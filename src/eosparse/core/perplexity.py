"""The closed form with a given perplexity: for one set of errors, or many rows of them.

Every row i of a matrix of errors e_ij is a problem of its own, with its own α_i:

    w_ij = u_j exp(-e_ij / α_i) / Z_i,    entropy  H_i = log Z_i + Σ_j w_ij e_ij / α_i.

With ``x = log α`` the slope of the entropy is ``dH/dx = Var_w(e / α)``, never negative, so Newton's
method inside a bracket finds the α of a given entropy. It starts from the gap between the smallest
error and the one whose rank is the perplexity, which bounds the root from both sides; four or five
evaluations reach rounding error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core.arrays import BoolArray, FloatArray, IntArray
from eosparse.core.weights import check_errors

# Errors beyond this size are divided by four, so that their differences fit a float.
_HUGE = 1e307
# The smallest positive float.
_SMALLEST = 5e-324
# Below this exp underflows, at five times the cost; a weight so small is set to zero in the end.
_LOWEST_TILT, _NO_WEIGHT = -708.0, 1e-300
# In units of the gap at the rank of the perplexity: where Newton starts (t-SNE's α is about a
# quarter of it in 2 to 50 columns), and how far the root can be from it, as logarithms.
_FIRST, _FARTHEST = np.log(0.25), 60.0
_LONGEST_STEP = 1.0  # Newton overshoots where the entropy is flat
# Halving the bracket alone would reach neighbouring floats in about 60 steps.
_MOST_STEPS = 200
# A few hundred units of rounding in an entropy of order one.
_ENTROPY_TOLERANCE = 1e-13


@dataclass(frozen=True)
class RowwiseWeights:
    """Optimal weights of many rows of errors.

    Attributes
    ----------
    alphas : ndarray of shape (n_rows,)
        Regularisation of every row; zero where the weights are the limit of small α.
    weights : ndarray of shape (n_rows, n_errors)
        Weights, which sum to one in every row.
    entropies : ndarray of shape (n_rows,)
        ``-Σ w log w`` of every row.
    """

    alphas: FloatArray
    weights: FloatArray
    entropies: FloatArray

    @property
    def perplexities(self) -> FloatArray:
        """Effective number of errors in every row, ``exp(entropy)``."""
        return np.exp(self.entropies)


def rowwise_weights(errors: FloatArray, alpha: float) -> RowwiseWeights:
    """Solve the w-step for every row of a matrix of errors, all with the same alpha.

    Parameters
    ----------
    errors : ndarray of shape (n_rows, n_errors)
        Errors. Infinite ones get no weight; every row needs a finite one.
    alpha : float
        Regularisation, positive; infinity gives all errors equal weight.

    Returns
    -------
    RowwiseWeights

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import rowwise_weights
    >>> errors = np.array([[0.0, 0.0, 50.0], [7.0, 57.0, 7.0]])
    >>> rowwise_weights(errors, 1.0).weights.round(3).tolist()
    [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    """
    alphas = np.full(len(errors), alpha, dtype=np.float64)
    tilted = _tilt(_gaps(errors), alphas, None)
    return RowwiseWeights(alphas, tilted.weights(slice(None)), tilted.entropies)


def rowwise_weights_for_perplexity(errors: FloatArray, perplexity: float) -> RowwiseWeights:
    """Solve the w-step for every row of a matrix of errors, each with the alpha of a perplexity.

    A row in which at least as many errors as the perplexity share the smallest value cannot reach
    it. Such a row gets the limit of small α, which is closest: equal weights on the ties, and an
    alpha of zero.

    Parameters
    ----------
    errors : ndarray of shape (n_rows, n_errors)
        Errors; infinite ones do not count and get no weight.
    perplexity : float
        Target ``exp(entropy)`` of every row, less than the number of its finite errors.

    Returns
    -------
    RowwiseWeights

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import rowwise_weights_for_perplexity
    >>> errors = np.array([[0.1, 0.5, 2.0, 3.0], [0.0, 0.0, 0.0, 9.0]])
    >>> solution = rowwise_weights_for_perplexity(errors, 2.5)
    >>> solution.perplexities.round(6).tolist()
    [2.5, 3.0]
    """
    gaps = _gaps(errors)
    rank = int(np.ceil(perplexity)) - 1
    # The gap at the rank is positive exactly where fewer errors than the perplexity are tied.
    scales = np.partition(gaps, rank, axis=1)[:, rank]
    reachable = scales > 0
    if reachable.all():
        return _search(gaps, scales, perplexity)
    solution = _weigh_ties(gaps)
    found = _search(gaps[reachable], scales[reachable], perplexity)
    for whole, part in (
        (solution.alphas, found.alphas),
        (solution.weights, found.weights),
        (solution.entropies, found.entropies),
    ):
        whole[reachable] = part
    return solution


def alpha_for_perplexity(
    errors: ArrayLike, perplexity: float, prior: ArrayLike | None = None
) -> float:
    """Find the alpha whose weights have a given effective number of rows.

    Perplexity grows with alpha, from the number of rows that share the smallest error to the
    number of all rows, so the root is unique.

    Parameters
    ----------
    errors : array-like of shape (n_samples,)
        Errors, not all equal.
    perplexity : float
        Target ``exp(entropy)``, strictly between those two limits.
    prior : array-like of shape (n_samples,), optional
        Non-negative prior weights.

    Returns
    -------
    float

    Examples
    --------
    >>> from eosparse.core import alpha_for_perplexity, optimal_weights
    >>> errors = [0.1, 0.5, 2.0, 3.0]
    >>> alpha = alpha_for_perplexity(errors, 2.5)
    >>> round(optimal_weights(errors, alpha).perplexity, 6)
    2.5
    """
    g, log_prior = check_errors(errors, 1.0, prior)
    u = np.ones_like(g) if log_prior is None else np.exp(log_prior)
    present = u > 0
    # The gap between errors near the largest float would overflow.
    unit = 4.0 if max(abs(g.min()), abs(g.max())) > _HUGE else 1.0
    gaps, u = _gaps(g[None, present] / unit), u[present]
    most, least = float(u.sum()), float(u[gaps[0] == 0].sum())
    if not least < perplexity < most:
        raise ValueError(
            f"perplexity={perplexity!r} cannot be reached: it must lie strictly between {least:g}, "
            f"the number of rows that share the smallest error, and {most:g}, the number of rows."
        )
    order = np.argsort(gaps[0], kind="stable")
    rank = min(int(np.searchsorted(np.cumsum(u[order]), perplexity)), len(u) - 1)
    scale = gaps[0, order[rank]]
    alpha = unit * float(_search(gaps, np.array([scale]), perplexity, u).alphas[0])
    if alpha < np.finfo(np.float64).tiny:
        raise ValueError(
            f"perplexity={perplexity!r} cannot be reached: the smallest errors differ by less than "
            "floats resolve. Round the errors."
        )
    return alpha


def _gaps(errors: FloatArray) -> FloatArray:
    """Return the errors less the smallest of their row, which changes no weight."""
    with np.errstate(over="ignore"):
        gaps: FloatArray = errors - errors.min(axis=1, keepdims=True)
    # The gap between two finite errors is finite, even if it overflows.
    return np.minimum(gaps, np.finfo(np.float64).max, out=gaps, where=np.isfinite(errors))


def _weigh_ties(gaps: FloatArray) -> RowwiseWeights:
    """Return the limit of small alpha: equal weights on the smallest errors."""
    weights = (gaps == 0).astype(np.float64)
    counts = weights.sum(axis=1)
    weights /= counts[:, None]
    return RowwiseWeights(np.zeros(len(gaps)), weights, np.log(counts))


@dataclass(frozen=True)
class _Tilted:
    """Masses ``u exp(-gap / α)``, the entropies of their weights, and the slopes in log alpha."""

    masses: FloatArray
    totals: FloatArray
    entropies: FloatArray
    slopes: FloatArray

    def weights(self, rows: BoolArray | slice) -> FloatArray:
        """Weights of some rows."""
        weights = self.masses[rows] / self.totals[rows, None]
        weights[weights < _NO_WEIGHT] = 0.0
        return weights


def _tilt(gaps: FloatArray, alphas: FloatArray, prior: FloatArray | None) -> _Tilted:
    with np.errstate(over="ignore", invalid="ignore"):
        tilt = gaps / -alphas[:, None]
    np.fmax(tilt, _LOWEST_TILT, out=tilt)  # also where an infinite gap meets an infinite alpha
    masses = np.exp(tilt)
    if prior is not None:
        masses *= prior
    totals = masses.sum(axis=1)
    means = np.einsum("ij,ij->i", masses, tilt) / totals
    tilt *= tilt
    slopes = np.einsum("ij,ij->i", masses, tilt) / totals - means**2
    return _Tilted(masses, totals, np.log(totals) - means, slopes)


@dataclass(frozen=True)
class _Bracket:
    """Logarithms of alpha: the current ones, and what the roots lie between."""

    rows: IntArray
    now: FloatArray
    low: FloatArray
    high: FloatArray

    def narrow(self, excess: FloatArray, slopes: FloatArray) -> _Bracket:
        """Take Newton's step where it stays inside, and halve the bracket elsewhere."""
        low = np.where(excess < 0, self.now, self.low)
        high = np.where(excess > 0, self.now, self.high)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.clip(-excess / slopes, -_LONGEST_STEP, _LONGEST_STEP)
        new = self.now + step
        return _Bracket(
            self.rows, np.where((low < new) & (new < high), new, (low + high) / 2), low, high
        )

    def where(self, condition: BoolArray) -> _Bracket:
        """Keep some of the rows."""
        return _Bracket(
            self.rows[condition], self.now[condition], self.low[condition], self.high[condition]
        )


def _search(
    gaps: FloatArray, scales: FloatArray, perplexity: float, prior: FloatArray | None = None
) -> RowwiseWeights:
    """Find the alphas at which all rows have a perplexity; rows leave when they are done."""
    with np.errstate(over="ignore"):
        unit = gaps / scales[:, None]
    n_rows = len(gaps)
    found = RowwiseWeights(np.empty(n_rows), np.empty_like(unit), np.empty(n_rows))
    limits = np.full(n_rows, _FARTHEST)
    at = _Bracket(np.arange(n_rows), np.full(n_rows, _FIRST), -limits, limits)
    for count in range(1, _MOST_STEPS + 1):
        tilted = _tilt(unit, np.exp(at.now), prior)
        excess = tilted.entropies - np.log(perplexity)
        following = at.narrow(excess, tilted.slopes)
        done = (np.abs(excess) <= _ENTROPY_TOLERANCE) | (following.now == at.now)
        done |= count == _MOST_STEPS
        if done.any():
            rows = at.rows[done]
            # Zero is kept for ties, even where alpha is too small for a float.
            found.alphas[rows] = np.maximum(np.exp(at.now[done]) * scales[rows], _SMALLEST)
            found.weights[rows] = tilted.weights(done)
            found.entropies[rows] = tilted.entropies[done]
            unit, following = unit[~done], following.where(~done)
        if not len(unit):
            break
        at = following
    return found
