"""The error of any learner: how badly it predicts a row.

The learner is a black box that fits weighted rows: θ is the fitted learner with the error of every
row under it. Its fit may be penalised or random and errors may come from other folds, so that
descent is not promised: a step that does not descend ends the alternation at the state before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from eosparse.core import ErrorModel, FloatArray, IntArray, Mergeable

Learner = TypeVar("Learner")
Part = TypeVar("Part", bound=Mergeable)


@dataclass(frozen=True)
class Fitted(Generic[Learner]):
    """A fitted learner and the error of every row under it."""

    learner: Learner
    errors: FloatArray


@dataclass(frozen=True)
class RowWeights:
    """Weights of some rows; weights of disjoint rows merge by ``+``."""

    rows: IntArray
    weights: FloatArray

    def scaled(self, factor: float) -> RowWeights:
        """Return the weights multiplied by `factor`."""
        return RowWeights(self.rows, self.weights * factor)

    def __add__(self, other: RowWeights) -> RowWeights:
        return RowWeights(
            np.concatenate([self.rows, other.rows]), np.concatenate([self.weights, other.weights])
        )


@dataclass(frozen=True)
class LearnerModel(ErrorModel[IntArray, Fitted[Learner], RowWeights]):
    """Error model around a function that fits a learner to weights of all rows.

    Attributes
    ----------
    fit : callable
        From weights of all rows, summing to one, to the fitted learner and its errors.
    n_rows : int
        Number of rows.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.
    """

    fit: Callable[[FloatArray], Fitted[Learner]]
    n_rows: int
    smallest_size: float = 2.0
    is_exact: bool = False

    def errors(self, block: IntArray, theta: Fitted[Learner]) -> FloatArray:
        """Return the error of each row of the block, given by number."""
        return theta.errors[block]

    def statistics(
        self,
        block: IntArray,
        weights: FloatArray,
        theta: Fitted[Learner] | None = None,  # noqa: ARG002  # the protocol's signature
    ) -> RowWeights:
        """Keep the weights: a learner needs all of them at once."""
        return RowWeights(block, weights)

    def solve(self, statistics: RowWeights) -> Fitted[Learner]:
        """Fit the learner to the weighted rows."""
        weights = np.zeros(self.n_rows)
        weights[statistics.rows] = statistics.weights
        return self.fit(weights)


@dataclass(frozen=True)
class NumberedRows:
    """Rows given by their numbers, for learners that keep the data themselves."""

    numbers: IntArray
    prior: FloatArray

    def fold(self, kernel: Callable[[IntArray, FloatArray | None], Part]) -> Part:
        """Apply the kernel to all rows at once."""
        return kernel(self.numbers, self.prior)
