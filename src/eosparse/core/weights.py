"""The closed form: from errors to weights.

For errors g_t, prior weights u_t and a regularisation α > 0, the weights that solve

    minimise  L(w) = Σ w_t g_t + α Σ w_t log(w_t / u_t)    over the simplex

are ``w_t = u_t exp(-g_t / α) / Z`` with ``Z = Σ u_t exp(-g_t / α)``, and at that minimum
``L = -α log Z``: the objective comes with the weights for free, and this is its only definition.
Without a prior, u_t = 1. A prior weight of k has the same effect as k copies of the row. An
infinite α is ordinary learning: w = u / Σ u, and the objective is the weighted mean of the errors,
without the entropy, which is then constant.
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
    """Summary of a set of optimal weights; summaries of disjoint rows merge by ``+``.

    Attributes
    ----------
    alpha : float
        Regularisation at which the weights are optimal.
    objective : float
        ``-α log Z``, the minimum over the simplex.
    mass : float
        ``Σ u``, the number of rows that the weights stand for.
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
        """Return the share of the weight that these rows keep when `other` rows join them."""
        if np.isinf(self.alpha):
            return self.mass / (self.mass + other.mass)
        with np.errstate(over="ignore"):
            return float(expit((np.float64(other.objective) - self.objective) / self.alpha))

    def __add__(self, other: WeightSummary) -> WeightSummary:
        mine, theirs = self.share_beside(other), other.share_beside(self)
        merged = mix_summaries([self, other], [mine, theirs])
        if np.isinf(self.alpha):
            objective = mine * self.objective + (1.0 - mine) * other.objective
        else:  # -α log(Z + Z'), without leaving logarithms
            low, high = sorted((self.objective, other.objective))
            with np.errstate(over="ignore"):
                gap = np.exp(-(np.float64(high) - low) / self.alpha)
            objective = float(low - self.alpha * np.log1p(gap))
        return replace(merged, objective=objective)


def mix_summaries(summaries: Sequence[WeightSummary], shares: Sequence[float]) -> WeightSummary:
    """Summarise groups of rows that keep given shares of the weight, which sum to one.

    The objective is the minimum over weights with these shares. With the shares that the errors
    themselves would give, it is the minimum over the whole simplex.
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
    """The minimiser of the entropic objective, and its summary.

    A weight too small for a float is a correct zero.
    """

    weights: FloatArray
    summary: WeightSummary

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
        Regularisation, positive. Large values give all rows similar weights, infinity equal ones;
        small values keep only the rows with the smallest errors.
    prior : array-like of shape (n_samples,), optional
        Non-negative prior weights u_t, not all zero. Ones by default.

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
    g, log_prior = check_errors(errors, alpha, prior)
    lowest = (g if log_prior is None else g[np.isfinite(log_prior)]).min()
    # Differences of huge errors may overflow to -inf, which correctly gives a weight of zero.
    with np.errstate(over="ignore"):
        tilt = (lowest - g) / alpha
    if log_prior is not None:
        # Rows with a prior weight of zero may have smaller errors than the best row that counts.
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
    return OptimalWeights(weights, summary)


# exp underflows far above this; it keeps -inf out of products with weights of zero.
_LOWEST_TILT = -1e4


def check_errors(
    errors: ArrayLike, alpha: float, prior: ArrayLike | None
) -> tuple[FloatArray, FloatArray | None]:
    """Validate errors, alpha and prior; return the errors as float64 and the log of the prior."""
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
