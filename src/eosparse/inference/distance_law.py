"""The law of squared distances of rows that belong, in finite samples.

A row that took part in the fit pulled the fit towards itself; a new row did not. Training rows are
therefore first given the distance they would have had from a fit without them
(`SelfPull`), and then one law serves both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import betaincinv, fdtrc, fdtri, gammaincc, gammainccinv

from eosparse.core import FloatArray


class DistanceLaw(Protocol):
    """Law of the corrected squared distance of a new row that belongs."""

    def p_values(self, distances: FloatArray, /) -> FloatArray:
        """Return the probability of a distance at least as large."""
        ...

    def distance_at(self, levels: FloatArray, /) -> FloatArray:
        """Return the distances with given p-values."""
        ...


@dataclass(frozen=True)
class SelfPull:
    """How a training row's own weight brings the fit closer to it.

    Taking out weight ω of the fit changes ``m = y'V⁻¹y`` to ``m / (1 - ω - ω m)`` exactly, if the
    other weights stay. They follow, which repeats the step with factor c, so ω = w/(1-c).

    Attributes
    ----------
    coupling : float
        c in ``w = peak · exp(-c·m/2)``.
    peak : float
        Weight of a row at the location itself.
    leverage : float
        How much of a row's pull goes along its own direction: 1 for a full covariance, less for a
        structured or shrunk one.
    """

    coupling: float
    peak: float
    leverage: float = 1.0

    def weights(self, distances: FloatArray) -> FloatArray:
        """Return the weight of a row at a distance m in the metric of the uncorrected V."""
        weights: FloatArray = self.peak * np.exp(-self.coupling * distances / 2)
        return weights

    def undone(self, distances: FloatArray) -> FloatArray:
        """Return the corrected distance from the fit without the row, to first order."""
        pull = self.weights(distances) / (1 - self.coupling)
        left = np.maximum(1 - pull - self.leverage * pull * distances, 1e-3)
        loo: FloatArray = (1 - self.coupling) * distances / left
        return loo

    def done(self, loo: FloatArray) -> FloatArray:
        """Return the distance m of a training row from its leave-one-out distance."""
        m = loo / (1 - self.coupling)
        for _ in range(100):
            pull = self.weights(m) / (1 - self.coupling)
            before, m = m, loo * (1 - pull) / (1 - self.coupling + self.leverage * pull * loo)
            if np.allclose(before, m, rtol=1e-13, atol=0.0):
                break
        return m


@dataclass(frozen=True)
class ScaledF:
    """The F law of distances from an estimated mean and covariance.

    For the classical estimates from n Gaussian rows it is exact. For EOS, the variance of the
    corrected estimates at the Gaussian is that of classical ones from fewer rows: with Kish's size
    n and c = 1/(αD), from n(1-c²) rows for the location and n(1-c²)² for the covariance.

    Attributes
    ----------
    n_dimensions : int
        Number of columns, or of independent ones.
    location_size, covariance_size : float
        Rows from which classical estimates would vary as much.
    stretch : float
        Factor on the distances; see `matched`.
    """

    n_dimensions: int
    location_size: float
    covariance_size: float
    stretch: float = 1.0

    @classmethod
    def of_fit(cls, n_dimensions: int, kish_size: float, coupling: float) -> ScaledF:
        """Build the law of a fit with given Kish size and c."""
        kept = 1 - coupling**2
        return cls(n_dimensions, kish_size * kept, kish_size * kept**2)

    def matched(self, mean: float, pull: SelfPull) -> ScaledF:
        """Stretch the law so that its mean under the weights is the one observed.

        The weights' feedback on the covariance leaves a bias of second order, which grows towards
        collapse. It shows in the weighted mean of the leave-one-out distances, to which outliers
        contribute nothing.
        """
        levels = (np.arange(512) + 0.5) / 512
        distances = self._scale * fdtri(self.n_dimensions, self._tail, levels)
        weights = pull.weights(pull.done(distances))
        return replace(self, stretch=mean / float(weights @ distances / weights.sum()))

    def p_values(self, distances: FloatArray) -> FloatArray:
        """Return the probability of a distance at least as large."""
        scaled = np.asarray(distances, dtype=np.float64) / self._scale
        p: FloatArray = fdtrc(self.n_dimensions, self._tail, scaled)
        return p

    def distance_at(self, levels: FloatArray) -> FloatArray:
        """Return the distances with given p-values."""
        # F's upper tail by the beta law's lower one, which keeps its digits.
        z = np.maximum(betaincinv(self._tail / 2, self.n_dimensions / 2, levels), 1e-300)
        distances: FloatArray = self._scale * (self._tail / self.n_dimensions) * (1 - z) / z
        return distances

    @property
    def _tail(self) -> float:
        return max(self.covariance_size - self.n_dimensions, 1e-3)

    @property
    def _scale(self) -> float:
        n = max(self.location_size, 1 + 1e-9)
        # (1 + 1/n): the location is estimated too. n/(n-1): the scatter is around it.
        inflation = (1 + 1 / n) * n / (n - 1) * (self.covariance_size - 1) / self._tail
        return self.stretch * inflation * self.n_dimensions


@dataclass(frozen=True)
class FittedGamma:
    """A gamma law fitted to the distances themselves.

    For structured and shrunk covariances no exact law is known: a sum of unequal squares is close
    to a gamma law with the same mean and variance. Errors that may have any sign have an unknown
    least value, too.

    Attributes
    ----------
    shape, scale : float
        Shape and scale of the law.
    least : float
        The least value.
    """

    shape: float
    scale: float
    least: float = 0.0

    @classmethod
    def of_weighted(cls, mean: float, variance: float, tilt: float) -> FittedGamma:
        """Match the weighted mean and variance of distances, and undo the weights' tilt.

        Outliers have no weight, so they do not spoil the fit. Weights proportional to
        ``exp(-tilt·distance)`` turn a gamma law with rate r into one with rate r + tilt.
        """
        mean = max(mean, 1e-100)
        rate = mean / max(variance, 1e-12 * mean**2)
        return cls(mean * rate, 1 / max(rate - tilt, 0.1 * rate))

    @classmethod
    def of_moments(cls, mean: float, variance: float, third: float, tilt: float) -> FittedGamma:
        """Match the third central moment as well, where the least value is not known."""
        variance = max(variance, 1e-24 * mean**2, 1e-190)
        skewness = third / variance**1.5
        # Hardly skewed at all, the law is a normal one.
        shape = 4 / max(skewness, 2 / np.sqrt(_LARGEST_SHAPE)) ** 2
        rate = float(np.sqrt(shape / variance))
        return cls(shape, 1 / max(rate - tilt, 0.1 * rate), mean - shape / rate)

    def p_values(self, distances: FloatArray) -> FloatArray:
        """Return the probability of a distance at least as large."""
        above = np.maximum(np.asarray(distances) - self.least, 0.0)
        p: FloatArray = gammaincc(self.shape, above / self.scale)
        return p

    def distance_at(self, levels: FloatArray) -> FloatArray:
        """Return the distances with given p-values."""
        distances: FloatArray = self.least + self.scale * gammainccinv(self.shape, levels)
        return distances


_LARGEST_SHAPE = 1e4
