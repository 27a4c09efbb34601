"""The error of two functions: one that judges rows, one that fits weighted rows.

    g(x, θ) = error(x, θ),    θ = fit(X, w)

The shortest way to an error model of your own. `fit` sees all rows at once, so they must fit into
memory. A class with mergeable statistics, like those in the other files of this folder, works on
every storage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core import FloatArray
from eosparse.core.model import Theta
from eosparse.models.base import TableModel, check_row_errors


@dataclass(frozen=True)
class WeightedRows:
    """Rows and their weights, kept as they are; those of disjoint rows merge by ``+``."""

    values: FloatArray
    weights: FloatArray

    def scale(self, factor: float) -> WeightedRows:
        """Return the rows with weights multiplied by `factor`."""
        return WeightedRows(self.values, self.weights * factor)

    def __add__(self, other: WeightedRows) -> WeightedRows:
        return WeightedRows(
            np.concatenate([self.values, other.values]),
            np.concatenate([self.weights, other.weights]),
        )


@dataclass(frozen=True)
class CustomModel(TableModel[Theta, WeightedRows]):
    """Error model made of two functions.

    Attributes
    ----------
    error : callable
        From rows (n, D) and θ to their errors (n,): finite, of any sign.
    fit : callable
        From rows (n, D) and weights (n,), which sum to one, to the θ that minimises the weighted
        error, or at least does not raise it.
    is_exact : bool
        Whether `fit` promises that. If not, a step that does not descend ends the alternation.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.

    Examples
    --------
    The weighted median, whose error is the absolute difference:

    >>> import numpy as np
    >>> from eosparse.core import alternate
    >>> from eosparse.core import weighted_quantiles
    >>> from eosparse.models import CustomModel
    >>> from eosparse.rows import MemoryRows
    >>> model = CustomModel(
    ...     error=lambda X, theta: np.abs(X[:, 0] - theta),
    ...     fit=lambda X, w: weighted_quantiles(X, w, (0.5,))[0, 0],
    ... )
    >>> X = np.array([[1.0], [2.0], [3.0], [80.0], [90.0]])
    >>> float(alternate(model, MemoryRows(X), 3.0, 4.0).theta)
    2.0
    """

    error: Callable[[FloatArray, Theta], ArrayLike]
    fit: Callable[[FloatArray, FloatArray], Theta]
    is_exact: bool = True
    smallest_size: float = 2.0

    def errors(self, block: FloatArray, theta: Theta) -> FloatArray:
        """Return the error of each row, checked."""
        return check_row_errors(self.error(block, theta), block, "error()")

    def statistics(
        self,
        block: FloatArray,
        weights: FloatArray,
        theta: Theta | None = None,  # noqa: ARG002  # signature of the base class
    ) -> WeightedRows:
        """Keep rows and weights: the fit needs all of them at once."""
        return WeightedRows(block, weights)

    def solve(self, statistics: WeightedRows) -> Theta:
        """Fit the weighted rows; those without weight are left out."""
        present = statistics.weights > 0
        weights = statistics.weights[present]
        return self.fit(statistics.values[present], weights / weights.sum())
