"""The error of any learner: how badly it predicts a row.

The learner is a black box that is fitted to weighted rows: θ is the fitted learner together with
the error of every row under it. The fit may be penalised or random, and errors may come from
held-out rows, so descent is not guaranteed: a step that does not descend ends the alternation at
the state before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from eosparse.core import ErrorModel, FloatArray, IntArray, Mergeable


@dataclass(frozen=True)
class FittedLearner:
    """A fitted learner and the error of every row under it.

    Attributes
    ----------
    learner : estimator or None
        The learner that was fitted to all rows; None if each fold has its own.
    errors : array of shape (n_samples,)
        Error of each row.
    """

    learner: Any
    errors: FloatArray


Fit = TypeVar("Fit", bound=FittedLearner)
Part = TypeVar("Part", bound=Mergeable)


@dataclass(frozen=True)
class RowWeights:
    """Weights of some rows; weights of disjoint rows merge by ``+``."""

    rows: IntArray
    weights: FloatArray

    def scale(self, factor: float) -> RowWeights:
        """Return the weights multiplied by `factor`."""
        return RowWeights(self.rows, self.weights * factor)

    def __add__(self, other: RowWeights) -> RowWeights:
        return RowWeights(
            np.concatenate([self.rows, other.rows]), np.concatenate([self.weights, other.weights])
        )


@dataclass(frozen=True)
class LearnerModel(ErrorModel[IntArray, Fit, RowWeights]):
    """Error model around a function that fits a learner to weighted rows.

    Attributes
    ----------
    fit : callable
        Takes the weights of all rows, which sum to one, and returns a `FittedLearner`.
    n_rows : int
        Number of rows.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.
    is_exact : bool
        Whether the weighted fit minimises the weighted error.

    Examples
    --------
    A weighted mean as the learner: the row that is far away loses its weight.

    >>> import numpy as np
    >>> from eosparse.core import alternate
    >>> from eosparse.models import FittedLearner, LearnerModel, NumberedRows
    >>> x = np.array([1.0, 2.0, 3.0, 50.0])
    >>> def fit(weights):
    ...     mean = weights @ x / weights.sum()
    ...     return FittedLearner(mean, np.abs(x - mean))
    >>> rows = NumberedRows(np.arange(4), np.ones(4))
    >>> result = alternate(LearnerModel(fit, 4), rows, 5.0, fit(np.full(4, 0.25)))
    >>> bool(result.theta.learner < 3)
    True
    """

    fit: Callable[[FloatArray], Fit]
    n_rows: int
    smallest_size: float = 2.0
    is_exact: bool = False

    def errors(self, block: IntArray, theta: Fit) -> FloatArray:
        """Return the error of each row of the block, given by number."""
        return theta.errors[block]

    def statistics(
        self,
        block: IntArray,
        weights: FloatArray,
        theta: Fit | None = None,  # noqa: ARG002  # signature of the base class
    ) -> RowWeights:
        """Return the weights themselves: a learner needs all of them at once."""
        return RowWeights(block, weights)

    def solve(self, statistics: RowWeights) -> Fit:
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
