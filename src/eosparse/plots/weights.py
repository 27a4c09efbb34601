"""The weights: how much each row counts in the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.estimators import EOSClassifier, EOSDetector, EOSRegressor, SPAClassifier
from eosparse.plots._matplotlib import LINE, legend_on_top, new_axes, scatter_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The paper calls a row an outlier if T·w is below this.
PAPERS_CUT = 0.01
# Weights may be too small for a number; below this they are drawn on the edge.
_FLOOR = 1e-6


@dataclass
class WeightsDisplay:
    """Relative weight T·w of each training row: 1 is that of an average row.

    The dashed line is at 0.01, below which the paper calls a row an outlier. Weights below a
    millionth are drawn there.

    Parameters
    ----------
    relative_weights : array of shape (n_samples,)
        T·w.
    is_outlier : array of bool of shape (n_samples,)
        Which rows are flagged.
    order : {"weight", "row"}, default="weight"
        Whether rows are sorted by falling weight or stand in their own order.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> from eosparse.plots import WeightsDisplay
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> display = WeightsDisplay.from_estimator(EOSDetector().fit(X))
    >>> float(display.relative_weights.mean().round(6))
    1.0
    """

    relative_weights: FloatArray
    is_outlier: BoolArray
    order: Literal["weight", "row"] = "weight"

    @classmethod
    def from_estimator(
        cls,
        estimator: EOSDetector | EOSClassifier | EOSRegressor | SPAClassifier,
        *,
        order: Literal["weight", "row"] = "weight",
        ax: Axes | None = None,
    ) -> Self:
        """Take the weights of the training rows from any fitted estimator, and draw them.

        Parameters
        ----------
        estimator : EOSDetector, EOSClassifier, EOSRegressor or SPAClassifier
            A fitted estimator. A detector flags rows by its own rule; of the others the rows
            below 0.01 are marked.
        order : {"weight", "row"}, default="weight"
            Whether to sort the rows by falling weight.
        ax : Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        WeightsDisplay
        """
        weights = np.asarray(estimator.weights_, dtype=np.float64)
        relative = weights * len(weights) / weights.sum()
        flagged = getattr(estimator, "is_outlier_", relative < PAPERS_CUT)
        return cls(relative, np.asarray(flagged), order).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given axes, or on new ones."""
        if self.order not in ("weight", "row"):
            raise ValueError(f"order={self.order!r} must be 'weight' or 'row'.")
        ax = new_axes() if ax is None else ax
        rows = np.arange(len(self.relative_weights))
        by_weight = np.argsort(-self.relative_weights, kind="stable")
        shown = by_weight if self.order == "weight" else rows
        drawn = np.maximum(self.relative_weights, _FLOOR)
        scatter_rows(ax, rows, drawn[shown], self.is_outlier[shown])
        ax.axhline(PAPERS_CUT, color=LINE, linewidth=0.8, linestyle="--", label="T·w = 0.01")
        ax.set(xlabel="row" + ", by weight" * (self.order == "weight"), yscale="log")
        is_cropped = bool((self.relative_weights < _FLOOR).any())
        ax.set_ylabel("relative weight T·w" + " (smaller at 1e-6)" * is_cropped)
        legend_on_top(ax, ncols=3)
        self.ax_, self.figure_ = ax, ax.figure
        return self
