"""The steps of SPA: boxes, affiliations, labels, and the choice of what is left open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from scipy.special import softmax
from sklearn.cluster import kmeans_plusplus

from eosparse.core import FloatArray, IntArray, Result, alternate, solve_from_prior
from eosparse.errors import Boxes, BoxLabelError, Labelled, SPAError, bisected, box_sums
from eosparse.estimators.folds import splits
from eosparse.inference import mean_area
from eosparse.rows import LabelledRows

Simplex = Literal["per-class", "single"]
# Pseudo-rows per box that carry the labels of the table.
_PSEUDO_ROWS = 0.1
# What "auto" tries: numbers of boxes, and temperatures in units of the mean squared distance. The
# first of each is preferred.
_BOXES = (64, 32, 16, 8)
_TEMPERATURES = (1.0, 0.5, 2.0, 4.0)
_ROWS_PER_BOX = 4


@dataclass(frozen=True)
class LabelledTable:
    """Rows in working coordinates, with classes numbered from 0 and prior weights.

    There may be fewer working coordinates than features, where features outnumber the rows.
    """

    values: FloatArray
    classes: IntArray
    prior: FloatArray
    n_classes: int
    n_features: int

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
        return replace(
            self, values=self.values[rows], classes=self.classes[rows], prior=self.prior[rows]
        )


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

    model: SPAError
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
    model = SPAError(
        table.n_features,
        table.class_shares,
        settings.epsilon_label,
        settings.epsilon_features,
        pseudo_mass=table.pseudo_mass,
    )
    rows = LabelledRows(table.values, table.classes, table.prior)
    results = (
        alternate(
            model,
            rows,
            np.inf,
            _first_boxes(model, table, centers),
            tol=settings.tol,
            max_iter=settings.max_iter,
        )
        for centers in _starts(table, settings, random_state)
    )
    best = min(results, key=_objective)
    distances = best.theta.distances(table.values).min(axis=1)
    mean = float(table.prior @ distances / table.prior.sum())
    return FittedBoxes(model, best, settings.temperature * mean)


def _objective(result: Result[Boxes]) -> float:
    _ = result.theta  # raises where there is none
    return result.objective


def _starts(
    table: LabelledTable, settings: SPASettings, random_state: np.random.RandomState
) -> Iterator[FloatArray]:
    """Yield centres: by bisection first, then at random."""
    yield bisected(table.values, table.prior, settings.n_boxes)
    for _ in range(settings.n_init - 1):
        size = min(settings.n_boxes, np.count_nonzero(table.prior))
        yield kmeans_plusplus(
            table.values, size, sample_weight=table.prior, random_state=random_state
        )[0]


def _first_boxes(model: SPAError, table: LabelledTable, centers: FloatArray) -> Boxes:
    """Return boxes around the rows nearest to each centre."""
    shape = (len(centers), table.n_classes)
    around = Boxes(centers, np.ones(shape), model.equal_weights(table.values.shape[1]))
    nearest = around.distances(table.values).argmin(axis=1)
    share = table.prior / table.prior.sum()
    return model.solve(box_sums(Labelled(table.values, table.classes), share, nearest, shape))


def fit_labels(
    table: LabelledTable,
    affiliations: FloatArray,
    alpha: float,
    simplex: Simplex,
    *,
    tol: float,
    max_iter: int,
) -> tuple[BoxLabelError, Result[FloatArray]]:
    """Fit the label probabilities of the boxes, weighing the rows by the errors of their labels."""
    model = BoxLabelError(table.class_shares, pseudo_mass=table.pseudo_mass)
    rows = LabelledRows(affiliations, table.classes, table.prior)
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
    held_out = [np.zeros((len(table.values), table.n_classes)) for _ in candidates]
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
            probabilities[test] = _plain_probabilities(part, fitted, rest.values)
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
    table: LabelledTable, fitted: FittedBoxes, values: FloatArray
) -> FloatArray:
    """Class probabilities by the unweighted fit."""
    model = BoxLabelError(table.class_shares, pseudo_mass=table.pseudo_mass)
    block = Labelled(fitted.affiliations(table.values), table.classes)
    labels = model.solve(model.statistics(block, table.prior / table.prior.sum()))
    return fitted.affiliations(values) @ labels


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
