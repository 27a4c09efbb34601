"""The error of two functions: one that judges rows, one that fits weighted rows.

    g(x, θ) = error(x, θ),    θ = fit(X, w)

The shortest way to an error model of one's own. `fit` sees all rows at once, so they must be in
memory; a class with mergeable statistics, as in the other files of this folder, needs that not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core import FloatArray

Theta = TypeVar("Theta")


@dataclass(frozen=True)
class WeightedRows:
    """Rows and their weights, kept as they are; those of disjoint rows merge by ``+``."""

    values: FloatArray
    weights: FloatArray

    def scaled(self, factor: float) -> WeightedRows:
        """Return the rows with weights multiplied by `factor`."""
        return WeightedRows(self.values, self.weights * factor)

    def __add__(self, other: WeightedRows) -> WeightedRows:
        return WeightedRows(
            np.concatenate([self.values, other.values]),
            np.concatenate([self.weights, other.weights]),
        )


@dataclass(frozen=True)
class CustomModel(Generic[Theta]):
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
        return checked_errors(self.error(block, theta), block, "error()")

    def statistics(
        self,
        block: FloatArray,
        weights: FloatArray,
        theta: Theta | None = None,  # noqa: ARG002  # the protocol's signature
    ) -> WeightedRows:
        """Keep rows and weights: the fit needs all of them at once."""
        return WeightedRows(block, weights)

    def solve(self, statistics: WeightedRows) -> Theta:
        """Fit the weighted rows; those without weight are left out."""
        present = statistics.weights > 0
        weights = statistics.weights[present]
        return self.fit(statistics.values[present], weights / weights.sum())


def checked_errors(errors: ArrayLike, block: FloatArray, named: str) -> FloatArray:
    """Return errors as floats; raise, with the name of what returned them, if they are none."""
    given = np.asarray(errors)
    if given.shape != (len(block),):
        raise ValueError(
            f"{named} must return one number per row, of shape ({len(block)},); it returned "
            f"the shape {given.shape}."
        )
    if given.dtype.kind not in "fiub":
        raise ValueError(f"{named} must return real numbers; it returned {given.dtype}.")
    if not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ValueError(
            f"{named} must return finite numbers; it returned {given[row]} for the row "
            f"{block[row]}."
        )
    return given.astype(np.float64, copy=False)
