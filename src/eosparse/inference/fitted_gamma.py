"""A gamma law fitted to the distances themselves, where no exact law is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, gammainccinv

from eosparse.core import FloatArray

# A gamma law of this shape has a skewness of 0.02, and is normal for all purposes.
_LARGEST_SHAPE = 1e4
# Undoing the tilt lowers the rate at most to this part of itself, so that it stays positive.
_LEAST_RATE = 0.1


@dataclass(frozen=True)
class FittedGamma:
    """A gamma law fitted to the distances themselves.

    For structured and shrunk covariances no exact law is known: a sum of unequal squares is close
    to a gamma law with the same mean and variance. For errors of any sign, the least value is
    unknown as well.

    Attributes
    ----------
    shape, scale : float
        Shape and scale of the law.
    least : float
        The least value.

    Examples
    --------
    >>> from eosparse.inference import FittedGamma
    >>> law = FittedGamma.of_weighted(mean=2.0, variance=4.0, tilt=0.0)  # χ² with two degrees
    >>> law.p_values([9.21]).round(3).tolist()
    [0.01]
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
        return cls(mean * rate, 1 / max(rate - tilt, _LEAST_RATE * rate))

    @classmethod
    def of_moments(cls, mean: float, variance: float, third: float, tilt: float) -> FittedGamma:
        """Match the third central moment as well, where the least value is not known."""
        variance = max(variance, 1e-24 * mean**2, 1e-190)
        skewness = third / variance**1.5
        # A law with hardly any skewness is normal.
        shape = 4 / max(skewness, 2 / np.sqrt(_LARGEST_SHAPE)) ** 2
        rate = float(np.sqrt(shape / variance))
        return cls(shape, 1 / max(rate - tilt, _LEAST_RATE * rate), mean - shape / rate)

    def p_values(self, distances: FloatArray) -> FloatArray:
        """Return the probability of a distance at least as large."""
        above = np.maximum(np.asarray(distances) - self.least, 0.0)
        p: FloatArray = gammaincc(self.shape, above / self.scale)
        return p

    def distance_at(self, levels: FloatArray) -> FloatArray:
        """Return the distances with given p-values."""
        distances: FloatArray = self.least + self.scale * gammainccinv(self.shape, levels)
        return distances
