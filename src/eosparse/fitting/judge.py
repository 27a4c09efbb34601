"""From a fit to statements about rows: scores, p-values, weights, and the rows to flag."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from eosparse.core import FloatArray, check_number
from eosparse.inference import Law, Pull, count_beyond, count_rejections
from eosparse.models import Fit
from eosparse.rows import Table

RuleKind = Literal["fdr", "level", "weight_cut", "contamination"]

# Far in the tail, p-values of clean rows are still somewhat too small: simulations put the share
# below 0.001 at 0.9 to 1.2 times that, more with twenty rows. A round figure of that size guards
# the false-discovery rate.
TAIL_GUARD = 1.15
# Cuts counted in one pass over the rows: each pass narrows the search by this factor.
_N_CUTS = 64


@dataclass(frozen=True)
class Rule:
    """How rows are flagged: by false-discovery rate, level, relative weight or share."""

    kind: RuleKind
    value: float

    @classmethod
    def choose(
        cls,
        fdr: float,
        level: float | None = None,
        weight_cut: float | None = None,
        contamination: float | None = None,
    ) -> Rule:
        """Return the one rule that was requested; the false-discovery rate by default."""
        rate = check_number("fdr", fdr, "(0, 1)")
        asked: dict[RuleKind, float | None] = {
            "level": check_number("level", level, "(0, 1)", words=(None,)),
            "weight_cut": check_number("weight_cut", weight_cut, "(0, inf)", words=(None,)),
            "contamination": check_number(
                "contamination", contamination, "(0, 0.5]", words=(None,)
            ),
        }
        chosen = [cls(kind, value) for kind, value in asked.items() if value is not None]
        if len(chosen) > 1:
            names = " and ".join(rule.kind for rule in chosen)
            raise ValueError(f"{names} each decide which rows are flagged: pass only one.")
        return chosen[0] if chosen else cls("fdr", rate)


@dataclass(frozen=True)
class Judge:
    """A fit with the law of its distances and a cut: all that is needed to judge any row.

    Its methods are functions of the distances that `fit.measure` returns for rows.

    Attributes
    ----------
    fit : Fit
        The fit.
    pull : Pull
        How its distances relate to weights, and to the fit without the row.
    law : Law
        Law of the distance of a new, good row.
    cut : float
        Rows with a larger corrected distance are flagged.
    dtype : dtype
        Type of the distances that users see.
    n_unclear : float
        Mass of the rows with p-values below the false-discovery rate that are not flagged.
    n_kept : float
        Mass of all rows that are not flagged.
    held : float
        Part of the weight that is left to the training rows, if some have impossible levels.
    """

    fit: Fit[Any]
    pull: Pull
    law: Law
    cut: float
    dtype: Any = np.float64
    n_unclear: float = 0.0
    n_kept: float = 0.0
    held: float = 1.0

    def distances(self, fitted: FloatArray) -> FloatArray:
        """Return the distances that users see; one too large for their type is its largest."""
        farthest = np.finfo(self.dtype).max
        return np.minimum(self.pull.correct(fitted), farthest).astype(self.dtype, copy=False)

    def scores(self, fitted: FloatArray) -> FloatArray:
        """Return minus the distances: higher is more normal."""
        return -self.distances(fitted)

    def margins(self, fitted: FloatArray) -> FloatArray:
        """Return how far rows lie within the cut: negative for rows to be flagged."""
        farthest = float(np.finfo(self.dtype).max)
        # Single precision holds no larger number.
        return min(max(self.cut, -farthest), farthest) - self.distances(fitted)

    def is_outlier(self, fitted: FloatArray) -> Any:
        """Return which rows to flag."""
        return self.margins(fitted) < 0

    def predictions(self, fitted: FloatArray) -> Any:
        """Return -1 for rows to be flagged, +1 for others."""
        return np.where(self.is_outlier(fitted), -1, 1)

    def p_values(self, fitted: FloatArray) -> FloatArray:
        """Return the p-values of new rows."""
        return self.law.p_values(self.pull.correct(fitted))

    def training_p_values(self, fitted: FloatArray) -> FloatArray:
        """Return the p-values of training rows, each judged by the fit without it."""
        return self.law.p_values(self.pull.leave_out(fitted))

    def weigh(self, fitted: FloatArray) -> FloatArray:
        """Return the weights of rows with prior weight one; those of all training rows sum to 1."""
        return self.pull.weigh(fitted) / self.held

    def relative_weights(self, fitted: FloatArray) -> FloatArray:
        """Return the weights in units of that of an average training row."""
        return self.weigh(fitted) * self.fit.n_rows

    def spread_weight(self, distances: Table) -> Judge:
        """Return the judge for which the weight of rows with impossible levels is the others'."""

        def sum_up(fitted: FloatArray, prior: FloatArray | None) -> FloatArray:
            mass = np.ones_like(fitted) if prior is None else prior
            return np.array([mass @ self.pull.weigh(fitted)])

        return replace(self, held=float(distances.fold(sum_up)[0]))


def find_judge(fit: Fit[Any], distances: Table, rule: Rule) -> Judge:
    """Find the law of the distances of all training rows, and the cut of a rule."""
    pull = fit.model.pull(fit.result, fit.n_rows, fit.rounding)
    law = fit.model.find_law(fit.result, pull, distances)
    if rule.kind == "weight_cut":
        return Judge(fit, pull, law, pull.distance_at_weight(rule.value / fit.n_rows))
    if rule.kind == "contamination":
        halfway = _find_farthest(distances, rule.value)
        return Judge(fit, pull, law, float(pull.correct(np.array([halfway]))[0]))
    level, n_unclear, n_kept = rule.value, 0.0, 0.0
    if rule.kind == "fdr":
        level = rule.value / TAIL_GUARD
        rejected, beyond = _count_flagged(fit.n_rows, law, pull, distances, level)
        n_unclear, n_kept = beyond - rejected, fit.n_rows - rejected
        # What the next row would have needed: with nothing rejected, the level of a first one.
        level *= max(rejected, fit.copies) / fit.n_rows
    farthest = float(pull.take_in(law.distance_at(np.array([level])))[0])
    cut = float(pull.correct(np.array([farthest]))[0])
    return Judge(fit, pull, law, cut, n_unclear=n_unclear, n_kept=n_kept)


def _count_flagged(
    n_rows: float, law: Law, pull: Pull, distances: Table, fdr: float
) -> tuple[float, float]:
    """Return the mass of the rows to flag, and of all with p-values below the rate itself."""
    counts: list[FloatArray] = []

    def count(levels: FloatArray) -> FloatArray:
        counts.append(count_beyond(distances, pull.take_in(law.distance_at(levels))))
        return counts[-1]

    rejected = count_rejections(count, n_rows, fdr)
    return rejected, float(counts[0][0])  # all rows are the first guess, and the rate its level


def _find_farthest(distances: Table, share: float) -> float:
    """Return the distance half-way between the last kept and the first flagged row."""
    most = share * distances.mass * (1 + 1e-12)
    low, high = (
        _find_neighbours(distances, -np.inf).above,
        _find_neighbours(distances, np.inf).below,
    )
    if count_beyond(distances, np.array([low]))[0] <= most:
        high = low
    while high - low > 1e-14 * max(abs(low), abs(high)):
        cuts = np.linspace(low, high, _N_CUTS + 1)
        is_enough = count_beyond(distances, cuts[1:]) <= most
        first = int(np.argmax(is_enough))  # the last one is certain
        if (cuts[first], cuts[first + 1]) == (low, high):
            break
        low, high = float(cuts[first]), float(cuts[first + 1])
    found = _find_neighbours(distances, high)
    return found.below / 2 + found.above / 2 if np.isfinite(found.above) else found.below


@dataclass(frozen=True)
class _Neighbours:
    """Largest distance up to a cut, and smallest beyond it."""

    below: float
    above: float

    def __add__(self, other: _Neighbours) -> _Neighbours:
        return _Neighbours(max(self.below, other.below), min(self.above, other.above))


def _find_neighbours(distances: Table, cut: float) -> _Neighbours:
    def find(fitted: FloatArray, prior: FloatArray | None) -> _Neighbours:
        counted = fitted if prior is None else fitted[prior > 0]
        near = counted <= cut
        return _Neighbours(
            float(counted.max(where=near, initial=-np.inf)),
            float(counted.min(where=~near, initial=np.inf)),
        )

    return distances.fold(find)
