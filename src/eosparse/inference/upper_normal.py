"""A normal law through the upper half of the errors, where no law is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from eosparse.core import FloatArray

# From the median, where good rows are, to where a fifth of the rows may be wrong.
_LEVELS = np.linspace(0.5, 0.8, 31)
# Errors are logs of distances: a smaller spread is that of ties.
_LEAST_SPREAD = 0.05
# Standard error of the spread, relative, times the root of the number of errors.
_STANDARD_ERROR = 1.75


@dataclass(frozen=True)
class UpperNormal:
    """A normal law through the 50 to 80 % quantiles of the errors.

    The spread is taken one standard error larger than found, so that few rows flag with care. It
    follows from no model: it ranks rows and bounds how many are flagged, but promises nothing.

    Attributes
    ----------
    centre, spread : float
        Mean and standard deviation of the law.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.inference import UpperNormal
    >>> law = UpperNormal.of_errors(np.random.default_rng(0).normal(size=100_000))
    >>> law.p_values(np.array([0.0, 3.0])).round(2).tolist()
    [0.5, 0.0]
    """

    centre: float
    spread: float

    @classmethod
    def of_errors(cls, errors: FloatArray) -> UpperNormal:
        """Fit the law to errors of rows that count alike."""
        scores, found = ndtri(_LEVELS), np.quantile(errors, _LEVELS)
        around = scores - scores.mean()
        spread = max(float(around @ found / (around @ around)), _LEAST_SPREAD)
        spread *= 1 + _STANDARD_ERROR / np.sqrt(len(errors))
        return cls(float(found.mean() - spread * scores.mean()), spread)

    def p_values(self, distances: FloatArray) -> FloatArray:
        """Return the probability of an error at least as large."""
        p: FloatArray = ndtr((self.centre - np.asarray(distances)) / self.spread)
        return p

    def distance_at(self, levels: FloatArray) -> FloatArray:
        """Return the errors with given p-values."""
        distances: FloatArray = self.centre - self.spread * ndtri(levels)
        return distances
