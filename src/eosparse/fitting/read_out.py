"""From a fit to flagged rows: weights, p-values and the cut."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, cast

import numpy as np

from eosparse.core import FloatArray, Result
from eosparse.inference import DistanceLaw, rejected_mass
from eosparse.rows import DaskRows, FileRows, MemoryRows, Table

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


class Fit(Protocol):
    """What the read-out asks of a fit: one number per row, its distance, and what follows from it.

    A distance is uncorrected (that of the fit), corrected (what users see), or that from the fit
    without the row. Only the Gaussian tells these apart; for other models they are the error.
    """

    @property
    def result(self) -> Result[Any]:
        """How the alternation ended."""
        ...

    @property
    def n_rows(self) -> float:
        """Mass of the training rows."""
        ...

    def uncorrected_distances(self, values: FloatArray, /) -> FloatArray:
        """Return the distance of each row."""
        ...

    def corrected(self, uncorrected: FloatArray, /) -> FloatArray:
        """Return distances as users see them."""
        ...

    def left_out(self, uncorrected: FloatArray, /) -> FloatArray:
        """Return the corrected distances of training rows from the fit without each."""
        ...

    def taken_in(self, left_out: FloatArray, /) -> FloatArray:
        """Return the uncorrected distances again."""
        ...

    def weights(self, uncorrected: FloatArray, /) -> FloatArray:
        """Return the weights of rows of prior weight one."""
        ...

    def distance_at_weight(self, relative_weight: float, /) -> float:
        """Return the corrected distance at which T·w has a given value."""
        ...

    def law(self, uncorrected: Table, /) -> DistanceLaw:
        """Return the law of the corrected distance of a new row that belongs."""
        ...

    def deviations(self, values: FloatArray, /) -> FloatArray:
        """Return a deviation of each column, whose squares explain the corrected distance."""
        ...


@dataclass(frozen=True)
class Judge:
    """A fit with the law of its distances and the cut: what is needed to judge any row.

    Attributes
    ----------
    fit : Fit
        The fit.
    law : DistanceLaw
        Law of the distance of a new row that belongs.
    cut : float
        Rows with a larger (corrected) distance are flagged.
    """

    fit: Fit
    law: DistanceLaw
    cut: float


@dataclass(frozen=True)
class Judgement:
    """One of the things that can be said of a row: a function of rows, or of their distances."""

    judge: Judge
    name: str
    dtype: Any = np.float64

    def __call__(self, values: FloatArray) -> Any:
        """Judge rows."""
        return self.of(self.judge.fit.uncorrected_distances(values))

    def of(self, uncorrected: FloatArray) -> Any:
        """Judge rows by their uncorrected distances."""
        fit, law, cut = self.judge.fit, self.judge.law, self.judge.cut
        distances = fit.corrected(uncorrected).astype(self.dtype, copy=False)
        match self.name:
            case "mahalanobis":
                return distances
            case "score_samples":
                return -distances
            case "decision_function":
                return cut - distances
            case "predict":
                return np.where(cut - distances < 0, -1, 1)
            case "is_outlier" | "is_outlier_":
                return cut - distances < 0
            case "p_values":
                return law.p_values(fit.corrected(uncorrected))
            case "p_values_":  # each training row is judged by the fit without it
                return law.p_values(fit.left_out(uncorrected))
            case "weights_":
                return fit.weights(uncorrected)
            case _:  # relative weights: 1 is that of an average training row
                return fit.weights(uncorrected) * fit.n_rows


@dataclass(frozen=True)
class ReadOut:
    """What a fit says about the rows it was made from.

    Attributes
    ----------
    judge : Judge
        Fit, law and cut.
    uncorrected : Table or None
        Uncorrected squared distances of the training rows, wherever they live; those on a cluster
        are not saved with a detector.
    """

    judge: Judge
    uncorrected: Table | None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what lives on a cluster, which need not be there when this is loaded."""
        is_lazy = isinstance(self.uncorrected, DaskRows)
        return self.__dict__ | ({"uncorrected": None} if is_lazy else {})

    def of_training(self, name: str, dtype: Any) -> Any:
        """What is said about each training row: an array, or a lazy one on a cluster."""
        rows = self.uncorrected
        if rows is None or isinstance(rows, FileRows):
            raise AttributeError(
                f"{name} of rows on disk, or of a saved detector's cluster, is not kept. "
                "score_samples(), p_values() and predict() return it, as for new rows; "
                "EOSDetector.write_scores() streams it to a file."
            )
        if name == "p_values_" and isinstance(rows, MemoryRows):
            return self._p_values.astype(dtype, copy=False)
        column = rows.mapped(Judgement(self.judge, name, dtype).of).column(
            np.dtype(np.bool_) if name == "is_outlier_" else dtype
        )
        own = getattr(rows, "prior" if isinstance(rows, MemoryRows) else "weights")
        if name == "weights_" and own is not None:
            return (column * own).astype(dtype)
        return column

    @cached_property
    def _p_values(self) -> FloatArray:
        """P-values in memory; with very few rows a near row's pull may outweigh its distance, but
        they still rank as the distances do."""
        distances: FloatArray = cast(MemoryRows, self.uncorrected).values
        order = np.argsort(distances, kind="stable")
        p_values: FloatArray = np.empty(len(order))
        own = Judgement(self.judge, "p_values_").of(distances[order])
        p_values[order] = np.minimum.accumulate(own)
        return p_values


def read_out(fit: Fit, uncorrected: Table, rule: Rule) -> ReadOut:
    """Find the law of the distances, and the cut that a rule asks for."""
    law = fit.law(uncorrected)
    return ReadOut(Judge(fit, law, _cut(fit, law, uncorrected, rule)), uncorrected)


def _cut(fit: Fit, law: DistanceLaw, uncorrected: Table, rule: Rule) -> float:
    if rule.kind == "weight_cut":
        return fit.distance_at_weight(rule.value)
    if rule.kind == "contamination":
        return float(fit.corrected(np.array([_farthest_share(uncorrected, rule.value)]))[0])
    level = rule.value
    if rule.kind == "fdr":
        level = _guarded_level(fit, law, uncorrected, rule.value)
    return float(fit.corrected(_training_distance(fit, law, np.array([level])))[0])


def _training_distance(fit: Fit, law: DistanceLaw, levels: FloatArray) -> FloatArray:
    """Uncorrected distances of training rows with given p-values."""
    return fit.taken_in(law.distance_at(levels))


def _guarded_level(fit: Fit, law: DistanceLaw, uncorrected: Table, fdr: float) -> float:
    """Return the level at which a false-discovery rate is kept."""
    guarded = fdr / TAIL_GUARD

    def count(levels: FloatArray) -> FloatArray:
        return mass_beyond(uncorrected, _training_distance(fit, law, levels))

    rejected = rejected_mass(count, uncorrected.mass, guarded)
    # What the next row would have needed: with nothing rejected, the level of a first one.
    return guarded * max(rejected, 1.0) / uncorrected.mass


def mass_beyond(uncorrected: Table, cuts: FloatArray) -> FloatArray:
    """Return the mass of the rows beyond each cut."""

    def one(distances: FloatArray, prior: FloatArray | None) -> FloatArray:
        beyond = (distances > cut for cut in cuts)
        if prior is None:
            return np.array([float(np.count_nonzero(rows)) for rows in beyond])
        return np.array([float(prior[rows].sum()) for rows in beyond])

    return uncorrected.fold(one)


# How many cuts are tried in one pass over the rows.
_N_CUTS = 64


def _farthest_share(uncorrected: Table, share: float) -> float:
    """Half-way between the last kept and the first flagged distance."""
    wanted = share * uncorrected.mass * (1 + 1e-12)
    low, high = _around(uncorrected, -np.inf).above, _around(uncorrected, np.inf).below
    if mass_beyond(uncorrected, np.array([low]))[0] <= wanted:
        high = low
    while high - low > 1e-14 * max(abs(low), abs(high)):
        cuts = np.linspace(low, high, _N_CUTS + 1)
        is_enough = mass_beyond(uncorrected, cuts[1:]) <= wanted
        first = int(np.argmax(is_enough))  # of the last one it is certain
        if (cuts[first], cuts[first + 1]) == (low, high):
            break
        low, high = float(cuts[first]), float(cuts[first + 1])
    around = _around(uncorrected, high)
    return around.below / 2 + around.above / 2 if np.isfinite(around.above) else around.below


@dataclass(frozen=True)
class _Around:
    """Largest distance up to a cut, and smallest beyond it."""

    below: float
    above: float

    def __add__(self, other: _Around) -> _Around:
        return _Around(max(self.below, other.below), min(self.above, other.above))


def _around(uncorrected: Table, cut: float) -> _Around:
    def one(distances: FloatArray, prior: FloatArray | None) -> _Around:
        counted = distances if prior is None else distances[prior > 0]
        near = counted <= cut
        return _Around(
            float(counted.max(where=near, initial=-np.inf)),
            float(counted.min(where=~near, initial=np.inf)),
        )

    return uncorrected.fold(one)
