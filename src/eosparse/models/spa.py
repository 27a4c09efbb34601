"""The errors of Scalable Probabilistic Approximation (SPA): boxes of rows, and their labels.

SPA covers the rows with K boxes, each with a centre C_k and label probabilities Λ_k. There are two
errors, and every step of both is closed-form, so the objective never rises.

**Boxes** (`SPAModel`): one box explains the features and the label of a row,

    g_t = min_k { Σ_d W_d (x_td - C_kd)² - ε log Λ_k[y_t] } + ε_E Σ_d W_d log W_d

where W are feature weights on the simplex, or 1/D each without ε_E. In the fit, C_k and Λ_k are the
means over the rows of the box, and W is the closed form of the paper again, over features.

**Labels** (`BoxLabelModel`): all boxes explain the label, by affiliations Γ_t on the simplex,

    g_t = - Σ_k Γ_tk log Λ_k[y_t]

whose fit is Λ_k, the mean of the labels over the box. A row whose label its boxes do not share has
a large error of this kind, whatever its features, so EOS+SPA takes its weights from these errors.
Weights from the first error would mostly follow the distances and hardly notice wrong labels.

In both, δ pseudo-rows per box with the labels of the table keep probabilities away from zero. Like
the feature entropy they are a term of the error that all rows share, so descent stays exact.

A constant column, and one of two values, is explained without error by any two boxes, and would get
all the feature weight. Such columns can be left out of W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from eosparse.core import (
    BoolArray,
    CollapseError,
    ErrorModel,
    FloatArray,
    IntArray,
    Visit,
    optimal_weights,
)
from eosparse.rows import Labelled

# Keeps logarithms finite; near the smallest number a float can hold.
_SMALLEST_PROBABILITY = 1e-300


@dataclass(frozen=True)
class Boxes:
    """Centres (K × D), label probabilities (K × M) and feature weights (D) of K boxes.

    Examples
    --------
    >>> import numpy as np
    >>> boxes = Boxes(np.array([[0.0], [9.0]]), np.eye(2), np.ones(1))
    >>> boxes.distances(np.array([[1.0]])).tolist()
    [[1.0, 64.0]]
    """

    centers: FloatArray
    labels: FloatArray
    feature_weights: FloatArray

    def distances(self, values: FloatArray) -> FloatArray:
        """Return the weighted squared distance of each row from each centre."""
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

    def scale(self, factor: float) -> BoxSums:
        """Return the sums as if every weight had been multiplied by `factor`."""
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
    """Error of a row under its best box; θ are `Boxes`.

    Attributes
    ----------
    n_features : int
        Number of features of the table: equal feature weights are ``1 / n_features``. Rotated rows
        may have fewer coordinates.
    class_shares : array of shape (M,)
        Share of each class in the table: the labels of the pseudo-rows.
    epsilon_label : float
        Weight of the label error, in units of squared distance.
    epsilon_features : float or None
        Regularisation of the feature weights; None keeps them equal.
    pseudo_mass : float
        δ, as a share of all rows.
    is_weighed : array of bool, of shape (n_features,), or None
        Which columns may get a feature weight, if these are learned; None for all that vary.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate
    >>> from eosparse.models import Boxes, SPAModel
    >>> from eosparse.rows import LabelledRows
    >>> values, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> start = Boxes(np.array([[0.0], [9.0]]), np.full((2, 2), 0.5), np.ones(1))
    >>> model = SPAModel(1, np.array([0.5, 0.5]), epsilon_label=0.1)
    >>> rows = LabelledRows(values, classes, np.ones(4))
    >>> alternate(model, rows, np.inf, start).theta.centers.ravel().tolist()
    [0.5, 8.5]
    """

    n_features: int
    class_shares: FloatArray
    epsilon_label: float
    epsilon_features: float | None = None
    pseudo_mass: float = 1e-4
    is_weighed: BoolArray | None = None
    smallest_size: float = 1.0

    is_proven = True

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
        sums = sum_boxes(block, solution.weights, best, theta.labels.shape)
        return Visit(solution.summary, sums)

    def statistics(self, block: Labelled, weights: FloatArray, theta: Boxes) -> BoxSums:
        """Return the weighted sums over the rows of each box, for the best boxes at θ."""
        return sum_boxes(block, weights, self.affiliations(block, theta), theta.labels.shape)

    def solve(self, statistics: BoxSums) -> Boxes:
        """Return centres, label probabilities and feature weights; empty boxes are dropped."""
        kept = statistics.mass > 0
        if not kept.any():
            raise CollapseError("no box keeps a row. Use a larger alpha.")
        mass = statistics.mass[kept]
        centers = statistics.sums[kept] / mass[:, None]
        labels = smooth_labels(statistics.counts[kept], self.class_shares, self.pseudo_mass)
        return Boxes(centers, labels, self._feature_weights(statistics, mass, centers))

    def equal_weights(self, size: int) -> FloatArray:
        """Return equal feature weights."""
        return np.full(size, 1.0 / self.n_features)

    def _costs(self, block: Labelled, theta: Boxes) -> FloatArray:
        costs = theta.distances(block.values)
        if self.epsilon_label > 0:
            costs -= self.epsilon_label * np.log(theta.labels).T[block.classes]
        return costs

    def _common(self, theta: Boxes) -> float:
        """Return the terms that all rows share."""
        common = self.epsilon_label * compute_pseudo_error(
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
        # Constant columns are zero here; without this they would get all the weight.
        counts = statistics.squares > 0
        if self.is_weighed is not None and (counts & self.is_weighed).any():
            counts &= self.is_weighed
        prior = counts.astype(np.float64) if counts.any() else None
        return optimal_weights(within, self.epsilon_features, prior).weights


@dataclass(frozen=True)
class LabelCounts:
    """Weight of each class in each box; counts of disjoint rows merge by ``+``."""

    counts: FloatArray

    def scale(self, factor: float) -> LabelCounts:
        """Return the counts as if every weight had been multiplied by `factor`."""
        return LabelCounts(self.counts * factor)

    def __add__(self, other: LabelCounts) -> LabelCounts:
        return LabelCounts(self.counts + other.counts)


@dataclass(frozen=True)
class BoxLabelModel(ErrorModel[Labelled, FloatArray, LabelCounts]):
    """Error of a row's label under the boxes it is affiliated to.

    The `values` of a block are the affiliations; θ are the label probabilities (K × M).

    Attributes
    ----------
    class_shares : array of shape (M,)
        Share of each class in the table: the labels of the pseudo-rows.
    pseudo_mass : float or array of shape (K,)
        δ, as a share of all rows, of all boxes or of each.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate, solve_from_prior
    >>> from eosparse.models import BoxLabelModel
    >>> from eosparse.rows import LabelledRows
    >>> affiliations = np.repeat([[1.0, 0.0], [0.0, 1.0]], 10, axis=0)
    >>> classes = np.repeat([0, 1], 10)
    >>> classes[0] = 1  # a wrong label
    >>> rows = LabelledRows(affiliations, classes, np.ones(20))
    >>> model = BoxLabelModel(np.array([0.45, 0.55]))
    >>> start = solve_from_prior(model, rows)
    >>> start.round(2).tolist()
    [[0.9, 0.1], [0.0, 1.0]]
    >>> alternate(model, rows, 1.0, start).theta.round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    class_shares: FloatArray
    pseudo_mass: float | FloatArray = 1e-4
    smallest_size: float = 1.0

    is_proven = True

    def errors(self, block: Labelled, theta: FloatArray) -> FloatArray:
        """Return the error of each row."""
        common = compute_pseudo_error(theta, self.class_shares, self.pseudo_mass)
        logs = np.log(theta).T[block.classes]
        errors: FloatArray = common - np.einsum("ij,ij->i", block.values, logs)
        return errors

    def statistics(
        self,
        block: Labelled,
        weights: FloatArray,
        theta: FloatArray | None = None,  # noqa: ARG002  # signature of the base class
    ) -> LabelCounts:
        """Return the weight of each class in each box."""
        weighted = block.values * weights[:, None]
        return LabelCounts(sum_by_class(weighted, block.classes, len(self.class_shares)).T)

    def solve(self, statistics: LabelCounts) -> FloatArray:
        """Return the label probabilities."""
        return smooth_labels(statistics.counts, self.class_shares, self.pseudo_mass)


def sum_boxes(
    block: Labelled, weights: FloatArray, affiliations: IntArray, shape: Sequence[int]
) -> BoxSums:
    """Sum the rows and labels of each box.

    Parameters
    ----------
    block : Labelled
        Rows and their classes.
    weights : array of shape (n_samples,)
        Weights of the rows.
    affiliations : array of shape (n_samples,)
        Box of each row, as a number from 0.
    shape : tuple of two int
        Number of boxes and of classes.

    Returns
    -------
    BoxSums

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import Labelled
    >>> block = Labelled(np.array([[1.0], [3.0], [5.0]]), np.array([0, 1, 1]))
    >>> sums = sum_boxes(block, np.ones(3), np.array([0, 0, 1]), (2, 2))
    >>> sums.sums.ravel().tolist(), sums.counts.tolist()
    ([4.0, 5.0], [[1.0, 1.0], [0.0, 1.0]])
    """
    n_boxes, n_classes = shape
    pairs = affiliations * n_classes + block.classes
    counts: FloatArray = np.bincount(pairs, weights, n_boxes * n_classes).astype(np.float64)
    counts = counts.reshape(n_boxes, n_classes)
    weighted = block.values * weights[:, None]
    return BoxSums(
        mass=counts.sum(axis=1),
        sums=sum_by_class(weighted, affiliations, n_boxes),
        counts=counts,
        squares=np.einsum("ij,ij->j", weighted, block.values),
    )


def sum_by_class(values: FloatArray, classes: IntArray, n_classes: int) -> FloatArray:
    """Sum the rows of each class.

    Examples
    --------
    >>> import numpy as np
    >>> sum_by_class(np.array([[1.0], [3.0], [5.0]]), np.array([0, 1, 1]), 2).ravel().tolist()
    [1.0, 8.0]
    """
    # As a product with the matrix of indicators, which BLAS makes faster than np.add.at.
    indicators = np.zeros((n_classes, len(values)))
    indicators[classes, np.arange(len(values))] = 1.0
    return indicators @ values


def smooth_labels(
    counts: FloatArray, class_shares: FloatArray, pseudo_mass: float | FloatArray
) -> FloatArray:
    """Turn counts per box into probabilities, with pseudo-rows that have the table's labels.

    Examples
    --------
    >>> import numpy as np
    >>> smooth_labels(np.array([[1.0, 0.0]]), np.array([0.5, 0.5]), 1.0).tolist()
    [[0.75, 0.25]]
    """
    filled = counts + np.reshape(pseudo_mass, (-1, 1)) * class_shares
    probabilities: FloatArray = filled / filled.sum(axis=1, keepdims=True)
    return np.maximum(probabilities, _SMALLEST_PROBABILITY)


def compute_pseudo_error(
    labels: FloatArray, class_shares: FloatArray, pseudo_mass: float | FloatArray
) -> float:
    """Return the label error of the pseudo-rows of all boxes.

    Examples
    --------
    >>> import numpy as np
    >>> round(compute_pseudo_error(np.array([[0.5, 0.5]]), np.array([0.5, 0.5]), 1.0), 4)
    0.6931
    """
    return -float((pseudo_mass * (np.log(labels) @ class_shares)).sum())
