"""The closed form: from errors to weights.

For errors g_t, prior weights u_t and a regularisation alpha > 0, the weights that solve

    minimise  L(w) = Σ w_t g_t + α Σ w_t log(w_t / u_t)    over the simplex

are ``w_t = u_t exp(-g_t / α) / Z`` with ``Z = Σ u_t exp(-g_t / α)``, and at that minimum
``L = -α log Z``: the objective comes free with the weights, and is defined nowhere else.
Without a prior, u_t = 1. A prior of k equals the same row k times. An infinite alpha is ordinary
learning: w = u / Σ u, and the objective is the weighted mean of the errors, without the entropy,
which is constant then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, xlogy

from eosparse.core.arrays import FloatArray


@dataclass(frozen=True)
class WeightSummary:
    """What a set of optimal weights comes to; summaries of disjoint rows merge by ``+``.

    Attributes
    ----------
    alpha : float
        The regularisation the weights belong to.
    objective : float
        ``-α log Z``, the minimum over the simplex.
    mass : float
        ``Σ u``, the rows that they stand for.
    entropy : float
        ``-Σ w log(w / u)``.
    squares : float
        ``Σ w² / u``.
    """

    alpha: float
    objective: float
    mass: float
    entropy: float
    squares: float

    @property
    def perplexity(self) -> float:
        """Effective number of rows by entropy, ``exp(entropy)``."""
        return float(np.exp(self.entropy))

    @property
    def kish_size(self) -> float:
        """Effective number of rows by Kish, ``1 / Σ w²``."""
        return 1.0 / self.squares

    def share_beside(self, other: WeightSummary) -> float:
        """Part of the total weight that these rows keep when `other` rows join them."""
        if np.isinf(self.alpha):
            return self.mass / (self.mass + other.mass)
        with np.errstate(over="ignore"):
            return float(expit((np.float64(other.objective) - self.objective) / self.alpha))

    def __add__(self, other: WeightSummary) -> WeightSummary:
        mine, theirs = self.share_beside(other), other.share_beside(self)
        return replace(mixed([self, other], [mine, theirs]), objective=self._joined(other, mine))

    def _joined(self, other: WeightSummary, share: float) -> float:
        """Return the objective of the rows of both."""
        if np.isinf(self.alpha):
            return share * self.objective + (1.0 - share) * other.objective
        low, high = sorted((self.objective, other.objective))
        with np.errstate(over="ignore"):
            gap = np.exp(-(np.float64(high) - low) / self.alpha)
        return float(low - self.alpha * np.log1p(gap))


def mixed(summaries: Sequence[WeightSummary], shares: Sequence[float]) -> WeightSummary:
    """Summarise groups of rows that keep given shares of the weight, which sum to one.

    The minimum over weights with these shares; with the shares that the errors themselves would
    give, the minimum over the whole simplex.
    """
    alpha = summaries[0].alpha
    parts = list(zip(summaries, np.asarray(shares, dtype=np.float64), strict=True))
    mixing = -float(sum(xlogy(share, share) for _, share in parts))
    objective = sum(share * part.objective for part, share in parts)
    return WeightSummary(
        alpha=alpha,
        objective=float(objective if np.isinf(alpha) else objective - alpha * mixing),
        mass=sum(part.mass for part in summaries),
        entropy=float(sum(share * part.entropy for part, share in parts) + mixing),
        squares=float(sum(share**2 * part.squares for part, share in parts)),
    )


@dataclass(frozen=True)
class OptimalWeights:
    """The minimiser of the entropic objective: weights, their logarithms and their summary.

    A weight too small for a float is a correct zero; its logarithm is still finite.
    """

    tilted_prior: FloatArray
    weights: FloatArray
    summary: WeightSummary
    log_mass: float

    @property
    def log_weights(self) -> FloatArray:
        """Logarithms of the weights."""
        return self.tilted_prior - self.log_mass

    @property
    def objective(self) -> float:
        """The minimum of the objective."""
        return self.summary.objective

    @property
    def perplexity(self) -> float:
        """Effective number of rows by entropy."""
        return self.summary.perplexity

    @property
    def kish_size(self) -> float:
        """Effective number of rows by Kish."""
        return self.summary.kish_size


def optimal_weights(
    errors: ArrayLike, alpha: float, prior: ArrayLike | None = None
) -> OptimalWeights:
    """Solve the w-step of EOS.

    Parameters
    ----------
    errors : array-like of shape (n_samples,)
        Error g_t of each row; finite, of any sign and size.
    alpha : float
        Regularisation, positive. Large values weigh all rows alike, infinity exactly so; small
        ones keep the best.
    prior : array-like of shape (n_samples,), optional
        Non-negative prior weights u_t, not all zero.

    Returns
    -------
    OptimalWeights

    Examples
    --------
    >>> from eosparse.core import optimal_weights
    >>> solution = optimal_weights([0.0, 0.0, 50.0], alpha=1.0)
    >>> solution.weights.round(3).tolist()
    [0.5, 0.5, 0.0]
    >>> round(solution.perplexity, 3)
    2.0
    """
    g, log_prior = checked(errors, alpha, prior)
    lowest = (g if log_prior is None else g[np.isfinite(log_prior)]).min()
    # Differences of errors near the largest float may overflow: infinitely worse, weight zero.
    with np.errstate(over="ignore"):
        tilt = (lowest - g) / alpha
    if log_prior is not None:
        # Only rows without prior weight can be better than the best that counts.
        np.minimum(tilt, 0.0, out=tilt)
    scaled = tilt if log_prior is None else tilt + log_prior
    peak = 0.0 if log_prior is None else float(scaled.max())
    weights = np.exp(scaled - peak) if peak else np.exp(scaled)
    mass = float(weights.sum())
    weights /= mass
    log_mass = float(peak + np.log(mass))
    # log(w/u) = tilt - log_mass; where w is zero the product is zero, whatever the logarithm.
    finite = np.maximum(tilt, _LOWEST_TILT)
    entropy = log_mass - float(weights @ finite)
    single = weights if log_prior is None else np.exp(finite - log_mass)
    plain = float(lowest + weights @ (g - lowest)) if np.isinf(alpha) else None
    summary = WeightSummary(
        alpha=float(alpha),
        objective=float(lowest - alpha * log_mass) if plain is None else plain,
        mass=float(len(g) if prior is None else np.sum(prior)),
        entropy=entropy,
        squares=float(weights @ single),
    )
    return OptimalWeights(scaled, weights, summary, log_mass)


# Weights whose logarithm is lower than this are zero.
_LOWEST_TILT = -1e4


def checked(
    errors: ArrayLike, alpha: float, prior: ArrayLike | None
) -> tuple[FloatArray, FloatArray | None]:
    """Errors as float64 and the prior's logarithm, both validated."""
    g = np.asarray(errors, dtype=np.float64)
    if g.ndim != 1 or g.size == 0:
        raise ValueError(f"errors must be one-dimensional and not empty, got shape {g.shape}.")
    if not (np.isfinite(g.min()) and np.isfinite(g.max())):
        row = int(np.flatnonzero(~np.isfinite(g))[0])
        raise ValueError(f"errors must be finite, but row {row} has {g[row]}.")
    if not alpha > 0:
        raise ValueError(f"alpha must be a positive number, got {alpha!r}.")
    if prior is None:
        return g, None
    u = np.asarray(prior, dtype=np.float64)
    if u.shape != g.shape:
        raise ValueError(f"prior weights have shape {u.shape}, errors have shape {g.shape}.")
    if not np.isfinite(u).all() or (u < 0).any() or not (u > 0).any():
        raise ValueError("prior weights must be finite and non-negative, and not all zero.")
    with np.errstate(divide="ignore"):
        return g, np.log(u)
