"""The F law of squared distances from an estimated location and covariance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv, fdtrc, fdtri

from eosparse.core import FloatArray
from eosparse.inference.pull import Pull

# Quantiles that stand for the law in a mean, which the weights make short-tailed.
_N_QUANTILES = 512
# Both sizes of the law stay positive, however few rows have weight.
_LEAST_TAIL, _LEAST_SIZE = 1e-3, 1 + 1e-9


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
    tail : float
        Second size of the F law.
    scale : float
        Factor on the F law.

    Examples
    --------
    >>> from eosparse.inference import ScaledF
    >>> law = ScaledF.of_fit(n_dimensions=2, kish_size=100.0, coupling=0.0)
    >>> law.p_values([9.21]).round(3).tolist()  # χ² would say 0.01
    [0.014]
    """

    n_dimensions: int
    tail: float
    scale: float

    @classmethod
    def of_fit(cls, n_dimensions: int, kish_size: float, coupling: float) -> ScaledF:
        """Build the law of a fit with given Kish size and c."""
        kept = 1 - coupling**2
        covariance_size = kish_size * kept**2
        tail = max(covariance_size - n_dimensions, _LEAST_TAIL)
        n = max(kish_size * kept, _LEAST_SIZE)
        # (1 + 1/n): the location is estimated too. n/(n-1): the scatter is around it.
        inflation = (1 + 1 / n) * n / (n - 1) * (covariance_size - 1) / tail
        return cls(n_dimensions, tail, inflation * n_dimensions)

    def match_mean(self, mean: float, pull: Pull) -> ScaledF:
        """Return the law stretched so that its mean under the weights is the one observed.

        The weights' feedback on the covariance leaves a bias of second order, which grows towards
        collapse. It shows in the weighted mean of the leave-one-out distances, to which outliers
        contribute nothing.
        """
        levels = (np.arange(_N_QUANTILES) + 0.5) / _N_QUANTILES
        distances = self.scale * fdtri(self.n_dimensions, self.tail, levels)
        weights = pull.weigh(pull.take_in(distances))
        stretch = mean / float(weights @ distances / weights.sum())
        return replace(self, scale=stretch * self.scale)

    def p_values(self, distances: FloatArray) -> FloatArray:
        """Return the probability of a distance at least as large."""
        scaled = np.asarray(distances, dtype=np.float64) / self.scale
        p: FloatArray = fdtrc(self.n_dimensions, self.tail, scaled)
        return p

    def distance_at(self, levels: FloatArray) -> FloatArray:
        """Return the distances with given p-values."""
        # The upper tail of F from the lower tail of the beta law, which keeps its digits.
        z = np.maximum(betaincinv(self.tail / 2, self.n_dimensions / 2, levels), 1e-300)
        distances: FloatArray = self.scale * (self.tail / self.n_dimensions) * (1 - z) / z
        return distances
