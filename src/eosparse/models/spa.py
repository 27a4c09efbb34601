"""The errors of scalable probabilistic approximation (SPA): boxes of rows, and their labels.

SPA covers the rows with K boxes, each with a centre C_k and label probabilities Λ_k. Two errors
share the work; each of their steps is closed-form, so that the objective never rises.

**Boxes** (`SPAModel`) explain features and label of a row by one box:

    g_t = min_k { Σ_d W_d (x_td - C_kd)² - ε log Λ_k[y_t] } + ε_E Σ_d W_d log W_d

where W are feature weights on the simplex, 1/D each without ε_E. The fit is: C_k and Λ_k the means
over the rows of the box, and W the closed form of the paper once more, over features.

**Labels** (`BoxLabelModel`) are explained by all boxes, with given affiliations Γ_t on the simplex:

    g_t = - Σ_k Γ_tk log Λ_k[y_t]

whose fit is Λ_k, the mean of the labels over the box. A row whose label its boxes do not share has
a large error of this kind, whatever its features: these are the errors that the weights of EOS+SPA
come from. Weights from the first error would mostly follow the distances, and hardly see wrong
labels.

In both, δ pseudo-rows per box with the labels of the table keep probabilities off zero; like the
feature entropy they are a term of the error that all rows share, so that descent stays exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from eosparse.core import (
    CollapseError,
    ErrorModel,
    FloatArray,
    IntArray,
    Visit,
    optimal_weights,
)
from eosparse.rows import Labelled

_SMALLEST_PROBABILITY = 1e-300


@dataclass(frozen=True)
class Boxes:
    """Centres (K × D), label probabilities (K × M) and feature weights (D) of K boxes."""

    centers: FloatArray
    labels: FloatArray
    feature_weights: FloatArray

    def distances(self, values: FloatArray) -> FloatArray:
        """Weighted squared distance of each row from each centre."""
        scaled = values * self.feature_weights
        rows = np.einsum("ij,ij->i", scaled, values)[:, None]
        squares: FloatArray = rows - 2.0 * scaled @ self.centers.T + self._squared_lengths
        return np.maximum(squares, 0.0, out=squares)

    @cached_property
    def _squared_lengths(self) -> FloatArray:
        lengths: FloatArray = np.square(self.centers) @ self.feature_weights
        return lengths


@dataclass(frozen=True)
class BoxSums:
    """Weighted sums over the rows of each box; those of disjoint rows merge by ``+``.

    Attributes
    ----------
    mass, sums, counts : arrays of shape (K,), (K, D) and (K, M)
        Weight, weighted sum of the rows, and weight per class, of each box.
    squares : array of shape (D,)
        Weighted sum of the squared rows of all boxes.
    """

    mass: FloatArray
    sums: FloatArray
    counts: FloatArray
    squares: FloatArray

    def scaled(self, factor: float) -> BoxSums:
        """Return the sums had every weight been multiplied by `factor`."""
        return BoxSums(
            self.mass * factor, self.sums * factor, self.counts * factor, self.squares * factor
        )

    def __add__(self, other: BoxSums) -> BoxSums:
        return BoxSums(
            self.mass + other.mass,
            self.sums + other.sums,
            self.counts + other.counts,
            self.squares + other.squares,
        )


@dataclass(frozen=True)
class SPAModel(ErrorModel[Labelled, Boxes, BoxSums]):
    """Error of a row under its best box.

    Attributes
    ----------
    n_features : int
        Number of features, by which equally weighted distances are divided. Rotated rows may have
        fewer coordinates.
    class_shares : array of shape (M,)
        Share of each class in the table: the labels of the pseudo-rows.
    epsilon_label : float
        What a unit of label error counts, in units of squared distance.
    epsilon_features : float or None
        Regularisation of the feature weights; None keeps them equal.
    pseudo_mass : float
        δ, as a share of all rows.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.
    """

    n_features: int
    class_shares: FloatArray
    epsilon_label: float
    epsilon_features: float | None = None
    pseudo_mass: float = 1e-4
    smallest_size: float = 1.0

    def errors(self, block: Labelled, theta: Boxes) -> FloatArray:
        """Return the error of each row."""
        costs: FloatArray = self._costs(block, theta).min(axis=1) + self._common(theta)
        return costs

    def affiliations(self, block: Labelled, theta: Boxes) -> IntArray:
        """Return the best box of each row."""
        best: IntArray = self._costs(block, theta).argmin(axis=1)
        return best

    def visit(
        self, block: Labelled, prior: FloatArray | None, theta: Boxes, alpha: float
    ) -> Visit[BoxSums]:
        """Return summary and sums of a block; the best box of each row is found once."""
        costs = self._costs(block, theta)
        best = costs.argmin(axis=1)
        errors: FloatArray = costs[np.arange(len(best)), best] + self._common(theta)
        solution = optimal_weights(errors, alpha, prior)
        sums = box_sums(block, solution.weights, best, theta.labels.shape)
        return Visit(solution.summary, sums)

    def statistics(self, block: Labelled, weights: FloatArray, theta: Boxes) -> BoxSums:
        """Return the weighted sums over the boxes that are best at θ."""
        return box_sums(block, weights, self.affiliations(block, theta), theta.labels.shape)

    def solve(self, statistics: BoxSums) -> Boxes:
        """Return centres, label probabilities and feature weights; empty boxes are dropped."""
        kept = statistics.mass > 0
        if not kept.any():
            raise CollapseError("no box keeps a row: use a larger alpha.")
        mass = statistics.mass[kept]
        centers = statistics.sums[kept] / mass[:, None]
        labels = smoothed(statistics.counts[kept], self.class_shares, self.pseudo_mass)
        return Boxes(centers, labels, self._feature_weights(statistics, mass, centers))

    def equal_weights(self, size: int) -> FloatArray:
        """Return feature weights that are all alike."""
        return np.full(size, 1.0 / self.n_features)

    def _costs(self, block: Labelled, theta: Boxes) -> FloatArray:
        costs = theta.distances(block.values)
        if self.epsilon_label > 0:
            costs -= self.epsilon_label * np.log(theta.labels).T[block.classes]
        return costs

    def _common(self, theta: Boxes) -> float:
        """Return the terms that all rows share."""
        common = self.epsilon_label * pseudo_error(
            theta.labels, self.class_shares, self.pseudo_mass
        )
        if self.epsilon_features is not None:
            weights = theta.feature_weights
            common += self.epsilon_features * float(xlogy(weights, weights).sum())
        return common

    def _feature_weights(
        self, statistics: BoxSums, mass: FloatArray, centers: FloatArray
    ) -> FloatArray:
        if self.epsilon_features is None:
            return self.equal_weights(len(statistics.squares))
        within = statistics.squares - mass @ np.square(centers)
        # Constant columns, which are zero here, would be explained best of all.
        varies = (statistics.squares > 0).astype(np.float64)
        prior = varies if varies.any() else None
        return optimal_weights(within, self.epsilon_features, prior).weights


@dataclass(frozen=True)
class LabelCounts:
    """Weight of each class in each box; counts of disjoint rows merge by ``+``."""

    counts: FloatArray

    def scaled(self, factor: float) -> LabelCounts:
        """Return the counts had every weight been multiplied by `factor`."""
        return LabelCounts(self.counts * factor)

    def __add__(self, other: LabelCounts) -> LabelCounts:
        return LabelCounts(self.counts + other.counts)


@dataclass(frozen=True)
class BoxLabelModel(ErrorModel[Labelled, FloatArray, LabelCounts]):
    """Error of a row's label under the boxes it is affiliated to.

    The `values` of a block are the affiliations; θ are the label probabilities (K × M).
    """

    class_shares: FloatArray
    pseudo_mass: float = 1e-4
    smallest_size: float = 1.0

    def errors(self, block: Labelled, theta: FloatArray) -> FloatArray:
        """Return the error of each row."""
        common = pseudo_error(theta, self.class_shares, self.pseudo_mass)
        logs = np.log(theta).T[block.classes]
        errors: FloatArray = common - np.einsum("ij,ij->i", block.values, logs)
        return errors

    def statistics(
        self,
        block: Labelled,
        weights: FloatArray,
        theta: FloatArray | None = None,  # noqa: ARG002  # the protocol's signature
    ) -> LabelCounts:
        """Return the weight of each class in each box."""
        weighted = block.values * weights[:, None]
        return LabelCounts(sums_by_class(weighted, block.classes, len(self.class_shares)).T)

    def solve(self, statistics: LabelCounts) -> FloatArray:
        """Return the label probabilities."""
        return smoothed(statistics.counts, self.class_shares, self.pseudo_mass)


def box_sums(
    block: Labelled, weights: FloatArray, affiliations: IntArray, shape: Sequence[int]
) -> BoxSums:
    """Sum rows and labels over the boxes to which each row belongs; shape is (K, M)."""
    n_boxes, n_classes = shape
    pairs = affiliations * n_classes + block.classes
    counts: FloatArray = np.bincount(pairs, weights, n_boxes * n_classes).astype(np.float64)
    counts = counts.reshape(n_boxes, n_classes)
    weighted = block.values * weights[:, None]
    return BoxSums(
        mass=counts.sum(axis=1),
        sums=sums_by_class(weighted, affiliations, n_boxes),
        counts=counts,
        squares=np.einsum("ij,ij->j", weighted, block.values),
    )


def sums_by_class(values: FloatArray, classes: IntArray, n_classes: int) -> FloatArray:
    """Sum the rows of each class: the product with the matrix of indicators."""
    indicators = np.zeros((n_classes, len(values)))
    indicators[classes, np.arange(len(values))] = 1.0
    return indicators @ values


def smoothed(counts: FloatArray, class_shares: FloatArray, pseudo_mass: float) -> FloatArray:
    """Turn counts per box into probabilities, with pseudo-rows that have the table's labels."""
    filled = counts + pseudo_mass * class_shares
    probabilities: FloatArray = filled / filled.sum(axis=1, keepdims=True)
    return np.maximum(probabilities, _SMALLEST_PROBABILITY)


def pseudo_error(labels: FloatArray, class_shares: FloatArray, pseudo_mass: float) -> float:
    """Return the label error of the pseudo-rows of all boxes."""
    return -pseudo_mass * float((np.log(labels) @ class_shares).sum())
