"""The law of squared distances of rows that belong, in finite samples.

A row that took part in the fit pulled the fit towards itself; a new row did not. Training rows are
therefore first given the distance they would have had from a fit without them
(`leave_one_out_distances`), and then one law serves both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import fdtrc, gammaincc

from eosparse.core import FloatArray


class DistanceLaw(Protocol):
    """Law of the corrected squared distance of a new row that belongs."""

    def p_values(self, distances: FloatArray, /) -> FloatArray:
        """Return the probability of a distance at least as large."""
        ...


@dataclass(frozen=True)
class ScaledF:
    """The F law of distances from an estimated mean and covariance.

    For the classical estimates from n Gaussian rows it is exact. For EOS, the variance of the
    corrected estimates at the Gaussian is that of classical ones from fewer rows: with Kish's size
    n and c = 1/(αD), from n(1-c²) rows for the location and n(1-c²)² for the covariance.
    """

    n_dimensions: int
    location_size: float
    covariance_size: float

    @classmethod
    def of_fit(cls, n_dimensions: int, kish_size: float, coupling: float) -> ScaledF:
        """Build the law of a fit with given Kish size and c."""
        kept = 1 - coupling**2
        return cls(n_dimensions, kish_size * kept, kish_size * kept**2)

    def p_values(self, distances: FloatArray) -> FloatArray:
        """Return the probability of a distance at least as large."""
        degrees = self.covariance_size - 1
        tail = max(degrees - self.n_dimensions + 1, 1e-3)
        n = max(self.location_size, 1 + 1e-9)
        # (1 + 1/n): the location is estimated too. n/(n-1): the scatter is around it.
        scale = (1 + 1 / n) * n / (n - 1) * self.n_dimensions * degrees / tail
        p: FloatArray = fdtrc(self.n_dimensions, tail, np.asarray(distances) / scale)
        return p


@dataclass(frozen=True)
class FittedGamma:
    """A gamma law fitted to the distances themselves.

    For structured and shrunk covariances no exact law is known: a sum of unequal squares is close
    to a gamma law with the same mean and variance.
    """

    shape: float
    scale: float

    @classmethod
    def of_weighted(cls, distances: FloatArray, weights: FloatArray, tilt: float) -> FittedGamma:
        """Match the weighted mean and variance of distances, and undo the weights' tilt.

        Outliers have no weight, so they do not spoil the fit. Weights proportional to
        ``exp(-tilt·distance)`` turn a gamma law with rate r into one with rate r + tilt.
        """
        mean = float(weights @ distances)
        variance = max(float(weights @ np.square(distances - mean)), 1e-12 * mean**2)
        rate = mean / variance
        return cls(mean**2 / variance, 1 / max(rate - tilt, 0.2 * rate))

    def p_values(self, distances: FloatArray) -> FloatArray:
        """Return the probability of a distance at least as large."""
        p: FloatArray = gammaincc(self.shape, np.asarray(distances) / self.scale)
        return p


def leave_one_out_distances(
    distances: FloatArray, weights: FloatArray, coupling: float, leverage: float = 1.0
) -> FloatArray:
    """Return the corrected distances of training rows from the fit without them, to first order.

    Taking out weight ω of the fit changes ``m = y'V⁻¹y`` to ``m / (1 - ω - ω m)`` exactly, if the
    other weights stay. They follow, which repeats the step with factor c, so ω = w/(1-c).

    Parameters
    ----------
    distances : array of shape (n_samples,)
        Squared distances m in the metric of the uncorrected V.
    weights : array of shape (n_samples,)
        Weight of one row (per unit of its prior), summing to one over all.
    coupling : float
        c = 1/(αD).
    leverage : float, default=1.0
        How much of a row's own pull goes along its own direction: 1 for a full covariance, less
        for a structured or shrunk one.
    """
    pull = weights / (1 - coupling)
    left = np.maximum(1 - pull - leverage * pull * distances, 1e-3)
    loo: FloatArray = (1 - coupling) * distances / left
    return loo
