"""The steps of SPA: boxes, affiliations, labels, and the choice of what is left open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np
from scipy.special import softmax
from sklearn.cluster import kmeans_plusplus

from eosparse.core import FloatArray, IntArray, Result, alternate, solve_from_prior
from eosparse.fitting.folds import splits
from eosparse.inference import mean_area
from eosparse.models import Boxes, BoxLabelModel, BoxSums, SPAModel, bisected, box_sums
from eosparse.rows import Chain, Labelled, LabelledRows, MemoryRows, spread_out

Simplex = Literal["per-class", "single"]
# Pseudo-rows per box that carry the labels of the table.
_PSEUDO_ROWS = 0.1
# What "auto" tries: numbers of boxes, and temperatures in units of the mean squared distance. The
# first of each is preferred.
_BOXES = (64, 32, 16, 8)
_TEMPERATURES = (1.0, 0.5, 2.0, 4.0)
_ROWS_PER_BOX = 4


# Up to this many numbers (128 MB) columns and affiliations are kept; beyond, they are made block by
# block in every pass. As many rows are enough to find the starts.
_MOST_KEPT = 2**24
_MOST_ROWS_TO_START = 2**17


@dataclass(frozen=True)
class LabelledTable:
    """Rows, with classes numbered from 0 and prior weights; `columns` makes working coordinates.

    There may be fewer working coordinates than features, where features outnumber the rows.
    """

    raw: FloatArray
    columns: Callable[[FloatArray], FloatArray]
    classes: IntArray
    prior: FloatArray
    n_classes: int

    @property
    def n_features(self) -> int:
        """Number of columns of the table."""
        return int(self.raw.shape[1])

    @cached_property
    def rows(self) -> LabelledRows:
        """The rows in working coordinates."""
        rows = LabelledRows(self.raw, self.classes, self.prior, self.columns)
        return _kept(rows, self.n_features)

    @property
    def values(self) -> FloatArray:
        """Working coordinates, of tables that are small enough to keep them."""
        rows = self.rows
        return rows.prepare(rows.values)

    def affiliated(self, fitted: FittedBoxes) -> LabelledRows:
        """Return the affiliations of the rows to boxes in place of their values."""
        rows = replace(self.rows, prepare=Chain(self.rows.prepare, fitted.affiliations))
        return _kept(rows, len(fitted.boxes.centers))

    @property
    def class_shares(self) -> FloatArray:
        """Share of each class in the prior weight."""
        counts = np.bincount(self.classes, self.prior, self.n_classes)
        shares: FloatArray = counts / counts.sum()
        return shares

    @property
    def pseudo_mass(self) -> float:
        """Weight of the pseudo-rows of a box, as a share of all rows."""
        return _PSEUDO_ROWS / float(self.prior.sum())

    def some(self, rows: IntArray) -> LabelledTable:
        """Return some of the rows."""
        return replace(self, raw=self.raw[rows], classes=self.classes[rows], prior=self.prior[rows])

    def thinned(self, most: int) -> LabelledTable:
        """Return at most so many of the rows that count, from all over the table."""
        present = np.flatnonzero(self.prior > 0)
        if len(present) == len(self.prior) <= most:
            return self
        return self.some(present[spread_out(len(present), most)])


def _kept(rows: LabelledRows, n_columns: int) -> LabelledRows:
    """Prepare all rows at once, if that does not take much memory."""
    if len(rows.values) * n_columns > _MOST_KEPT:
        return rows
    values = MemoryRows(rows.values, None, rows.prepare).map(np.asarray).values
    return replace(rows, values=values, prepare=np.asarray)


@dataclass(frozen=True)
class SPASettings:
    """What determines a fit, except for the weights of the rows."""

    n_boxes: int
    temperature: float
    epsilon_label: float
    epsilon_features: float | None
    n_init: int
    tol: float
    max_iter: int


@dataclass(frozen=True)
class FittedBoxes:
    """Boxes, the error they were fitted by, and how softly rows are affiliated to them."""

    model: SPAModel
    result: Result[Boxes]
    softness: float

    @property
    def boxes(self) -> Boxes:
        """Centres, labels and feature weights."""
        return self.result.theta

    def affiliations(self, values: FloatArray) -> FloatArray:
        """Γ ∝ exp(-distance / softness), the closed form once more; one-hot without softness."""
        distances = self.boxes.distances(values)
        if self.softness > 0:
            affiliations: FloatArray = softmax(-distances / self.softness, axis=1)
            return affiliations
        nearest = np.zeros_like(distances)
        nearest[np.arange(len(values)), distances.argmin(axis=1)] = 1.0
        return nearest


def fit_boxes(
    table: LabelledTable, settings: SPASettings, random_state: np.random.RandomState
) -> FittedBoxes:
    """Fit the boxes to equally weighted rows, from each start; the lowest objective is kept."""
    model = SPAModel(
        table.n_features,
        table.class_shares,
        settings.epsilon_label,
        settings.epsilon_features,
        pseudo_mass=table.pseudo_mass,
    )
    results = (
        alternate(
            model,
            table.rows,
            np.inf,
            _first_boxes(model, table, centers),
            tol=settings.tol,
            max_iter=settings.max_iter,
        )
        for centers in _starts(table, settings, random_state)
    )
    best = min(results, key=_objective)
    total = table.rows.fold(
        lambda block, prior: np.array([prior @ best.theta.distances(block.values).min(axis=1)])
    )
    return FittedBoxes(model, best, settings.temperature * float(total[0] / table.prior.sum()))


def _objective(result: Result[Boxes]) -> float:
    _ = result.theta  # raises where there is none
    return result.objective


def _starts(
    table: LabelledTable, settings: SPASettings, random_state: np.random.RandomState
) -> Iterator[FloatArray]:
    """Yield centres: by bisection first, then at random."""
    table = table.thinned(_MOST_ROWS_TO_START)
    values = table.values
    yield bisected(values, table.prior, settings.n_boxes)
    for _ in range(settings.n_init - 1):
        size = min(settings.n_boxes, np.count_nonzero(table.prior))
        yield kmeans_plusplus(values, size, sample_weight=table.prior, random_state=random_state)[0]


def _first_boxes(model: SPAModel, table: LabelledTable, centers: FloatArray) -> Boxes:
    """Return boxes around the rows nearest to each centre."""
    shape = (len(centers), table.n_classes)
    around = Boxes(centers, np.ones(shape), model.equal_weights(centers.shape[1]))

    def one(block: Labelled, prior: FloatArray) -> BoxSums:
        return box_sums(block, prior, around.distances(block.values).argmin(axis=1), shape)

    rows = replace(table.rows, prior=table.prior / table.prior.sum())
    return model.solve(rows.fold(one))


def fit_labels(
    table: LabelledTable,
    rows: LabelledRows,
    alpha: float,
    simplex: Simplex,
    *,
    tol: float,
    max_iter: int,
) -> tuple[BoxLabelModel, Result[FloatArray]]:
    """Fit the label probabilities of the boxes, weighing the rows by the errors of their labels.

    The rows are the affiliations of the table's.
    """
    model = BoxLabelModel(table.class_shares, pseudo_mass=table.pseudo_mass)
    start = solve_from_prior(model, replace(rows, prior=table.prior / table.prior.sum()))
    grouped = rows.by_class() if simplex == "per-class" else rows
    return model, alternate(model, grouped, alpha, start, tol=tol, max_iter=max_iter)


def choose_settings(
    table: LabelledTable,
    candidates: list[SPASettings],
    folds: IntArray,
    random_state: np.random.RandomState,
) -> tuple[SPASettings, FloatArray]:
    """Return the settings whose held-out probabilities rank the given labels best, and those.

    Wrong labels lower the area under the curve of every candidate in the same proportion, so that
    on average the order is that on right labels. They also add noise: the first candidate is left
    only for one that is better by more than the standard error over the folds.
    """
    held_out = [np.zeros((len(table.raw), table.n_classes)) for _ in candidates]
    areas = []
    for train, test in splits(folds):
        part, rest = table.some(train), table.some(test)
        boxes: dict[SPASettings, FittedBoxes] = {}
        for settings, probabilities in zip(candidates, held_out, strict=True):
            unit = replace(settings, temperature=1.0)
            if unit not in boxes:
                boxes[unit] = fit_boxes(part, unit, random_state)
            softness = boxes[unit].softness * settings.temperature
            fitted = replace(boxes[unit], softness=softness)
            probabilities[test] = _plain_probabilities(part, fitted, rest)
        areas.append([mean_area(held[test], rest.classes, rest.prior) for held in held_out])
    best = _best(np.array(areas))
    return candidates[best], held_out[best]


def _best(areas: FloatArray) -> int:
    """Return the candidate (column) with the highest mean, if it is clearly above the first."""
    known = areas[~np.isnan(areas).any(axis=1)]  # a fold may hold one class only
    if len(known) < 2:
        return 0
    best = int(np.argmax(known.mean(axis=0)))
    gain = known[:, best] - known[:, 0]
    return best if gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain)) else 0


def _plain_probabilities(
    table: LabelledTable, fitted: FittedBoxes, others: LabelledTable
) -> FloatArray:
    """Class probabilities of other rows by the unweighted fit."""
    model = BoxLabelModel(table.class_shares, pseudo_mass=table.pseudo_mass)
    share = table.prior / table.prior.sum()
    labels = solve_from_prior(model, replace(table.affiliated(fitted), prior=share))
    return fitted.affiliations(others.values) @ labels


def candidate_settings(
    base: SPASettings, n_rows: int, *, any_boxes: bool, any_temperature: bool
) -> list[SPASettings]:
    """Return the settings among which "auto" chooses, the one to prefer first."""
    most = max(n_rows // _ROWS_PER_BOX, 2)
    boxes = {min(k, most): None for k in _BOXES} if any_boxes else {base.n_boxes: None}
    temperatures = _TEMPERATURES if any_temperature else (base.temperature,)
    return [
        replace(base, n_boxes=k, temperature=temperature)
        for k, temperature in product(boxes, temperatures)
    ]
