"""A normal law through the upper half of the errors, where no law is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from eosparse.core import FloatArray
from eosparse.inference.false_discovery import count_rejections

# From the median, where good rows are, to where a fifth of the rows may be wrong.
_LEVELS = np.linspace(0.5, 0.8, 31)
# Of rows that are believed, the farther ones tell how the errors fall off, too: those that are not
# flagged at this rate.
_BELIEVED_LEVELS, _BELIEVED_RATE = np.linspace(0.5, 0.95, 31), 0.01
# The law grows wider in each turn, so that more rows are believed; few turns change anything.
_MOST_TURNS = 10
# Errors are logs of distances: a smaller spread is that of ties.
_LEAST_SPREAD = 0.05
# Standard error of the spread, relative, times the root of the number of errors.
_STANDARD_ERROR = 1.75
# Three of that of the ratio of two spreads, from the two sets of quantiles.
_SIGNIFICANT = 3 * 1.4


@dataclass(frozen=True)
class UpperNormal:
    """A normal law through the 50 to 80 % quantiles of the errors.

    Where the rows that this law believes fall off more slowly, up to their 95 % quantile, it is
    wider: a tail that goes on from the middle is not a set of outliers. The spread is taken one
    standard error larger than found, so that few rows flag with care. It follows from no model: it
    ranks rows and bounds how many are flagged, but promises nothing.

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
        """Fit the law to errors of rows that count alike, in turns with which are believed."""
        law = cls._through(errors, _LEVELS)
        for _ in range(_MOST_TURNS):
            wider = cls._through(law._drop_flagged(errors), _BELIEVED_LEVELS)
            if wider.spread <= law.spread * (1 + _SIGNIFICANT / np.sqrt(len(errors))):
                break
            law = wider
        return law

    @classmethod
    def _through(cls, errors: FloatArray, levels: FloatArray) -> UpperNormal:
        """Return the law through some quantiles of the errors."""
        scores, found = ndtri(levels), np.quantile(errors, levels)
        around = scores - scores.mean()
        spread = max(float(around @ found / (around @ around)), _LEAST_SPREAD)
        spread *= 1 + _STANDARD_ERROR / np.sqrt(len(errors))
        return cls(float(found.mean() - spread * scores.mean()), spread)

    def _drop_flagged(self, errors: FloatArray) -> FloatArray:
        """Return the errors that are not flagged by this law."""
        p_values, total = np.sort(self.p_values(errors)), float(len(errors))

        def count(levels: FloatArray) -> FloatArray:
            return np.searchsorted(p_values, levels, side="right").astype(np.float64)

        flagged = count_rejections(count, total, _BELIEVED_RATE)
        return errors[errors <= self.distance_at(np.array(_BELIEVED_RATE * flagged / total))]

    def p_values(self, distances: FloatArray) -> FloatArray:
        """Return the probability of an error at least as large."""
        p: FloatArray = ndtr((self.centre - np.asarray(distances)) / self.spread)
        return p

    def distance_at(self, levels: FloatArray) -> FloatArray:
        """Return the errors with given p-values."""
        distances: FloatArray = self.centre - self.spread * ndtri(levels)
        return distances
