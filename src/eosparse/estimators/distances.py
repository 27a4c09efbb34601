"""How far out rows are, on a scale that can be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eosparse.core import FloatArray
from eosparse.estimators.detector import EOSDetector
from eosparse.models.fit import IMPOSSIBLE

# Smaller p-values are drawn as this one.
_LEAST_P = 1e-300
# Rows with a combination of levels that does not occur stand this far above all others.
_ABOVE = 3.0


@dataclass(frozen=True)
class Distances:
    """Positive numbers that rise with how far out rows are, with the cut-off.

    Attributes
    ----------
    values : array of shape (n_samples,)
        Mahalanobis distances of one Gaussian; of other models, minus the log of the p-value.
    cut : float
        Rows beyond it are flagged.
    name : str
        What the numbers are.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> from eosparse.estimators.distances import Distances
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = Distances.of_rows(EOSDetector().fit(X), [[0.0, 0.0], [9.0, 9.0]])
    >>> found.name, (found.values > found.cut).tolist()
    ('robust distance', [False, True])
    """

    values: FloatArray
    cut: float
    name: str

    @classmethod
    def of_rows(cls, detector: EOSDetector, X: Any) -> Distances:
        """Compute the distances of rows from a fitted detector."""
        if not hasattr(detector, "location_"):
            at_cut = detector._judge.law.p_values(np.array([-detector.offset_]))
            return cls(
                _surprise(np.asarray(detector.p_values(X))),
                float(_surprise(at_cut)[0]),
                "surprise, -log10 of the p-value",
            )
        distances = np.sqrt(np.maximum(np.asarray(detector.mahalanobis(X)), 0.0))
        cut = float(np.sqrt(max(-detector.offset_, 0.0)))
        is_possible = distances < np.sqrt(IMPOSSIBLE) / 2
        highest = max(float(distances.max(where=is_possible, initial=0.0)), cut)
        return cls(np.where(is_possible, distances, _ABOVE * highest), cut, "robust distance")


def _surprise(p_values: FloatArray) -> FloatArray:
    return np.asarray(-np.log10(np.maximum(p_values, _LEAST_P)))
