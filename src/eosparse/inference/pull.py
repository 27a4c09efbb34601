"""How a training row pulls the fit towards itself, and so looks closer than a new row would.

Training rows are first given the distance that they would have from a fit without them; then one
law serves training rows and new rows alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from eosparse.core import FloatArray

# A row may have all of the weight in its direction; its left-out distance stays finite.
_LEAST_LEFT = 1e-3
# With more columns than rows, nearly every row has a direction of its own.
_LEAST_LEFT_SHRUNK = 1e-9
# `take_in` is iterated until distances change by no more than this relative step.
_MOST_STEPS, _STEP_TOLERANCE = 100, 1e-13


class Pull(Protocol):
    """The relation between a row's distance, its weight, and the fit without it.

    A distance is the one of the fit ("fitted"), the one that users see ("corrected"), or that from
    the fit without the row ("left out"). Only the Gaussian distinguishes these.
    """

    def weigh(self, fitted: FloatArray, /) -> FloatArray:
        """Return the weights of rows with prior weight one."""
        ...

    def correct(self, fitted: FloatArray, /) -> FloatArray:
        """Return the distances that users see."""
        ...

    def leave_out(self, fitted: FloatArray, /) -> FloatArray:
        """Return the corrected distance of each row from the fit without it."""
        ...

    def take_in(self, left_out: FloatArray, /) -> FloatArray:
        """Return the fitted distances for left-out ones: the inverse of `leave_out`."""
        ...

    def distance_at_weight(self, weight: float, /) -> float:
        """Return the corrected distance at which a row of prior weight one has this weight."""
        ...


@dataclass(frozen=True)
class NoPull:
    """Rows whose influence on the fit is not known: all three distances are the error.

    Attributes
    ----------
    objective, alpha : float
        The weights are ``exp((objective - error) / alpha)``.
    equal_weight : float
        The weight of every row where alpha is infinite.
    rounding : float
        Error that is mere rounding; -inf if any error counts.
    """

    objective: float
    alpha: float
    equal_weight: float
    rounding: float = -np.inf

    def weigh(self, fitted: FloatArray) -> FloatArray:
        """Return the weights of rows with prior weight one."""
        if np.isinf(self.alpha):
            return np.full(np.shape(fitted), self.equal_weight)
        weights: FloatArray = np.exp((self.objective - fitted) / self.alpha)
        return weights

    def correct(self, fitted: FloatArray) -> FloatArray:
        """Return the errors as they are."""
        return fitted

    def leave_out(self, fitted: FloatArray) -> FloatArray:
        """Return the errors as they are."""
        return fitted

    def take_in(self, left_out: FloatArray) -> FloatArray:
        """Return the errors, but none below rounding."""
        return np.maximum(left_out, self.rounding)

    def distance_at_weight(self, weight: float) -> float:
        """Return the error at which a row has this weight."""
        if np.isinf(self.alpha):
            return np.inf if weight <= self.equal_weight else -np.inf
        return self.objective - self.alpha * float(np.log(weight))


@dataclass(frozen=True)
class SelfPull:
    """How a training row's own weight brings a Gaussian fit closer to it.

    Taking weight ω out of the fit changes ``m = y'V⁻¹y`` to ``m / (1 - ω - ω m)`` exactly, if the
    other weights stay. They follow, which repeats the step with factor c, so ω = w/(1-c).

    A shrunk covariance is ``V = (1-λ)S + λτI``, and only S changes: m becomes
    ``m / ((1-ω)²/(1-ρω) - (1-λ)ωm)``, where ρ is the part of the distance in directions that the
    rows determine. In all other directions the row has part in the scale of the columns, which adds
    the factor ``1 - 2(1-ρ)ω``. Few rows determine V, most of them alone in a direction of their
    own, so that other weights do not follow.

    Attributes
    ----------
    coupling : float
        c in ``w = peak · exp(-c·m/2)``.
    peak : float
        Weight of a row at the location itself.
    leverage : float
        How much of a row's pull goes along its own direction: 1 for a full covariance, less for a
        structured or shrunk one.
    held : float or None
        ρ of a shrunk covariance; None without shrinkage.
    copies : float
        How many times every row stands in the table: its copies are taken out with it.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.inference import SelfPull
    >>> pull = SelfPull(coupling=0.2, peak=0.01)
    >>> left_out = pull.leave_out(np.array([5.0]))
    >>> bool(left_out > pull.correct(np.array([5.0]))), pull.take_in(left_out).round(6).tolist()
    (True, [5.0])
    """

    coupling: float
    peak: float
    leverage: float = 1.0
    held: float | None = None
    copies: float = 1.0

    def weigh(self, fitted: FloatArray) -> FloatArray:
        """Return the weight of a row at a distance m in the metric of the uncorrected V."""
        weights: FloatArray = self.peak * np.exp(-self.coupling * fitted / 2)
        return weights

    def correct(self, fitted: FloatArray) -> FloatArray:
        """Return squared Mahalanobis distances in the metric of the corrected covariance."""
        return (1 - self.coupling) * fitted

    def leave_out(self, fitted: FloatArray) -> FloatArray:
        """Return the corrected distance from the fit without the row, to first order."""
        pull, rest = self._take_out(fitted)
        least = _LEAST_LEFT if self.held is None else _LEAST_LEFT_SHRUNK
        left = np.maximum(rest - self.leverage * pull * fitted, least)
        left_out: FloatArray = (1 - self.coupling) * fitted / left
        return left_out

    def take_in(self, left_out: FloatArray) -> FloatArray:
        """Return the distance m of a training row from its left-out distance."""
        m = left_out / (1 - self.coupling)
        for _ in range(_MOST_STEPS):
            pull, rest = self._take_out(m)
            before = m
            m = left_out * rest / (1 - self.coupling + self.leverage * pull * left_out)
            if np.allclose(before, m, rtol=_STEP_TOLERANCE, atol=0.0):
                break
        return m

    def _take_out(self, fitted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ω of rows, and what the scale of the fit becomes without them."""
        weights = self.copies * self.weigh(fitted)
        if self.held is None:
            pull = weights / (1 - self.coupling)
            return pull, 1 - pull
        # A row alone in its direction determines it: its own part is (1-λ)ωm / (1-ω).
        own = self.leverage * weights * fitted / (1 - weights)
        held = np.clip(own, self.held, 1.0)
        own_scale = 1 - 2 * (1 - held) * weights
        return weights, own_scale * (1 - weights) ** 2 / (1 - held * weights)

    def distance_at_weight(self, weight: float) -> float:
        """Return the corrected distance at which a row has this weight."""
        if self.coupling == 0.0:  # all rows have equal weight
            return np.inf if weight <= self.peak else 0.0
        drop = np.log(self.peak / weight)
        return float((1 - self.coupling) * 2 * max(drop, 0.0) / self.coupling)
