"""From a fit to flagged rows: weights, p-values and the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.errors import weighted_quantiles
from eosparse.estimators.gaussian_fit import GaussianFit
from eosparse.inference import DistanceLaw, benjamini_hochberg

RuleKind = Literal["fdr", "level", "weight_cut", "contamination"]

# Far in the tail, p-values of clean rows are still somewhat too small: simulations put the share
# below 0.001 at 0.9 to 1.2 times that, more with twenty rows. The false-discovery rate is guarded
# by a round figure of that size, chosen after panels E and F fell short without it.
TAIL_GUARD = 1.15


@dataclass(frozen=True)
class Rule:
    """How rows are flagged: by false-discovery rate, level, relative weight or share."""

    kind: RuleKind
    value: float


@dataclass(frozen=True)
class ReadOut:
    """Statements about the rows of a fit.

    Attributes
    ----------
    distances : array of shape (n_samples,)
        Corrected squared distances.
    weights : array of shape (n_samples,)
        EOS weights, summing to one.
    p_values : array of shape (n_samples,)
        Of the hypothesis that the row belongs, each row judged by the fit without it.
    law : DistanceLaw
        Law of the distance of a new row that belongs.
    cut : float
        Rows farther than this are flagged.
    """

    distances: FloatArray
    weights: FloatArray
    p_values: FloatArray
    law: DistanceLaw
    cut: float

    @property
    def is_outlier(self) -> BoolArray:
        """Which rows are flagged."""
        flagged: BoolArray = self.distances > self.cut
        return flagged


def read_out(fit: GaussianFit, values: FloatArray, mass: FloatArray, rule: Rule) -> ReadOut:
    """Judge the rows that a fit was made from."""
    uncorrected = fit.uncorrected_distances(values)
    weights = fit.pull.weights(uncorrected) * mass
    law = fit.law(uncorrected, weights)
    # With very few rows a near row's pull may outweigh its distance; p-values still rank alike.
    order = np.argsort(uncorrected, kind="stable")
    loo = np.empty_like(uncorrected)
    loo[order] = np.maximum.accumulate(fit.pull.undone(uncorrected[order]))
    p_values = law.p_values(loo)
    distances = (1 - fit.coupling) * uncorrected
    cut = _cut(fit, distances, p_values, mass, law, rule)
    return ReadOut(distances, weights, p_values, law, cut)


def _cut(
    fit: GaussianFit,
    distances: FloatArray,
    p_values: FloatArray,
    mass: FloatArray,
    law: DistanceLaw,
    rule: Rule,
) -> float:
    if rule.kind == "weight_cut":
        return fit.distance_at_weight(rule.value)
    if rule.kind == "contamination":
        return _farthest_share(distances, mass, rule.value)
    level = rule.value
    if rule.kind == "fdr":
        guarded = rule.value / TAIL_GUARD
        largest = benjamini_hochberg(p_values, guarded, mass)
        rejected = float(mass[p_values <= largest].sum()) if largest > 0 else 0.0
        # What the next row would have needed: with nothing rejected, the level of a first one.
        level = guarded * max(rejected, 1.0) / float(mass.sum())
    return float((1 - fit.coupling) * fit.pull.done(np.array([law.distance_at(level)]))[0])


def _farthest_share(distances: FloatArray, mass: FloatArray, share: float) -> float:
    """Half-way between the last kept and the first flagged distance."""
    kept = weighted_quantiles(distances, mass, (1 - share,)).item()
    beyond = distances[(distances > kept) & (mass > 0)]
    return float((kept + beyond.min()) / 2) if beyond.size else float(kept)
