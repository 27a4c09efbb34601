"""From a fit to flagged rows: weights, p-values and the cut."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from eosparse.core import FloatArray, Rows
from eosparse.estimators.gaussian_fit import GaussianFit
from eosparse.inference import DistanceLaw, rejected_mass
from eosparse.rows import MemoryRows

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


class Distances(Rows[FloatArray], Protocol):
    """Uncorrected squared distances of the rows of a fit, wherever they live."""

    @property
    def mass(self) -> float:
        """Sum of the prior weights."""
        ...


@dataclass(frozen=True)
class ReadOut:
    """What a fit says about the rows it was made from.

    Attributes
    ----------
    fit : GaussianFit
        The fit.
    law : DistanceLaw
        Law of the distance of a new row that belongs.
    cut : float
        Rows with a larger (corrected) distance are flagged.
    uncorrected : Distances
        Uncorrected distances of the rows.
    """

    fit: GaussianFit
    law: DistanceLaw
    cut: float
    uncorrected: Distances

    def weights(self, uncorrected: FloatArray) -> FloatArray:
        """EOS weights of training rows, for prior weights of one."""
        return self.fit.pull.weights(uncorrected)

    def p_values(self, uncorrected: FloatArray) -> FloatArray:
        """P-values of training rows, each judged by the fit without it."""
        return self.law.p_values(self.fit.pull.undone(uncorrected))


@dataclass(frozen=True)
class TrainingRows:
    """What is said about each training row, where they are in memory."""

    read_out: ReadOut
    rows: MemoryRows

    @property
    def distances(self) -> FloatArray:
        """Corrected squared distances."""
        return (1 - self.read_out.fit.coupling) * self.rows.values

    @cached_property
    def weights(self) -> FloatArray:
        """EOS weights, summing to one."""
        weights = self.read_out.weights(self.rows.values)
        return weights if self.rows.prior is None else weights * self.rows.prior

    @cached_property
    def p_values(self) -> FloatArray:
        """P-values; with very few rows a near row's pull may outweigh its distance, but they rank
        as the distances do."""
        order = np.argsort(self.rows.values, kind="stable")
        p_values = np.empty(len(order))
        p_values[order] = np.minimum.accumulate(self.read_out.p_values(self.rows.values[order]))
        return p_values


def read_out(fit: GaussianFit, uncorrected: Distances, rule: Rule) -> ReadOut:
    """Find the law of the distances, and the cut that a rule asks for."""
    law = fit.law(uncorrected)
    if rule.kind == "weight_cut":
        return ReadOut(fit, law, fit.distance_at_weight(rule.value), uncorrected)
    if rule.kind == "contamination":
        between = _farthest_share(uncorrected, rule.value)
        return ReadOut(fit, law, (1 - fit.coupling) * between, uncorrected)
    level = rule.value
    if rule.kind == "fdr":
        level = _guarded_level(fit, law, uncorrected, rule.value)
    cut = float(_training_distance(fit, law, np.array([level]))[0])
    return ReadOut(fit, law, (1 - fit.coupling) * cut, uncorrected)


def _training_distance(fit: GaussianFit, law: DistanceLaw, levels: FloatArray) -> FloatArray:
    """Uncorrected distances of training rows with given p-values."""
    return fit.pull.done(law.distance_at(levels))


def _guarded_level(fit: GaussianFit, law: DistanceLaw, uncorrected: Distances, fdr: float) -> float:
    """Return the level at which a false-discovery rate is kept."""
    guarded = fdr / TAIL_GUARD

    def count(levels: FloatArray) -> FloatArray:
        return _mass_beyond(uncorrected, _training_distance(fit, law, levels))

    rejected = rejected_mass(count, uncorrected.mass, guarded)
    # What the next row would have needed: with nothing rejected, the level of a first one.
    return guarded * max(rejected, 1.0) / uncorrected.mass


def _mass_beyond(uncorrected: Distances, cuts: FloatArray) -> FloatArray:
    """Return the mass of the rows beyond each cut."""

    def one(distances: FloatArray, prior: FloatArray | None) -> FloatArray:
        beyond = (distances > cut for cut in cuts)
        if prior is None:
            return np.array([float(np.count_nonzero(rows)) for rows in beyond])
        return np.array([float(prior[rows].sum()) for rows in beyond])

    return uncorrected.fold(one)


# How many cuts are tried in one pass over the rows.
_N_CUTS = 64


def _farthest_share(uncorrected: Distances, share: float) -> float:
    """Half-way between the last kept and the first flagged distance."""
    wanted = share * uncorrected.mass * (1 + 1e-12)
    low, high = 0.0, _around(uncorrected, np.inf).below
    if _mass_beyond(uncorrected, np.zeros(1))[0] <= wanted:
        high = low
    while high - low > 1e-14 * high:
        cuts = np.linspace(low, high, _N_CUTS + 1)
        is_enough = _mass_beyond(uncorrected, cuts[1:]) <= wanted
        first = int(np.argmax(is_enough))  # of the last one it is certain
        if (cuts[first], cuts[first + 1]) == (low, high):
            break
        low, high = float(cuts[first]), float(cuts[first + 1])
    around = _around(uncorrected, high)
    return (around.below + around.above) / 2 if np.isfinite(around.above) else around.below


@dataclass(frozen=True)
class _Around:
    """Largest distance up to a cut, and smallest beyond it."""

    below: float
    above: float

    def __add__(self, other: _Around) -> _Around:
        return _Around(max(self.below, other.below), min(self.above, other.above))


def _around(uncorrected: Distances, cut: float) -> _Around:
    def one(distances: FloatArray, prior: FloatArray | None) -> _Around:
        counted = distances if prior is None else distances[prior > 0]
        near = counted <= cut
        return _Around(
            float(counted.max(where=near, initial=0.0)),
            float(counted.min(where=~near, initial=np.inf)),
        )

    return uncorrected.fold(one)
