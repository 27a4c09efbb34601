"""Weights: how much each row counts in the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.core.numbers import check_choice
from eosparse.estimators import EOSClassifier, EOSDetector, EOSRegressor, SPAClassifier
from eosparse.plots._matplotlib import LINE, draw_legend, make_axes, scatter_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The paper calls a row an outlier if T·w is below this.
PAPERS_CUT = 0.01
# Weights may underflow to zero, which a logarithmic axis cannot show: smaller ones are drawn here.
_FLOOR = 1e-6


@dataclass
class WeightsDisplay:
    """Relative weight T·w of each training row; an average row has 1.

    The dashed line marks 0.01, below which the paper calls a row an outlier. Weights below 1e-6
    are drawn at 1e-6.

    Parameters
    ----------
    relative_weights : array of shape (n_samples,)
        T·w.
    is_outlier : array of bool of shape (n_samples,)
        Which rows are flagged.
    order : {"weight", "row"}, default="weight"
        Whether to sort rows by decreasing weight or keep their order.

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
        """Draw the weights of the training rows of a fitted estimator.

        Parameters
        ----------
        estimator : EOSDetector, EOSClassifier, EOSRegressor or SPAClassifier
            A fitted estimator. A detector marks the rows it flags; for the others, rows below
            0.01 are marked.
        order : {"weight", "row"}, default="weight"
            Whether to sort rows by decreasing weight or keep their order.
        ax : Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        WeightsDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSRegressor
        >>> from eosparse.plots import WeightsDisplay
        >>> X = np.random.default_rng(0).normal(size=(100, 1))
        >>> y = X[:, 0].copy()
        >>> y[7] = 100.0
        >>> display = WeightsDisplay.from_estimator(EOSRegressor().fit(X, y), order="row")
        >>> bool(display.is_outlier[7])
        True
        """
        weights = np.asarray(estimator.weights_, dtype=np.float64)
        relative = weights * len(weights) / weights.sum()
        flagged = getattr(estimator, "is_outlier_", relative < PAPERS_CUT)
        return cls(relative, np.asarray(flagged), order).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import WeightsDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> display = WeightsDisplay.from_estimator(EOSDetector().fit(X))
        >>> display.plot() is display
        True
        """
        check_choice("order", self.order, ("weight", "row"))
        ax = make_axes() if ax is None else ax
        rows = np.arange(len(self.relative_weights))
        by_weight = np.argsort(-self.relative_weights, kind="stable")
        shown = by_weight if self.order == "weight" else rows
        drawn = np.maximum(self.relative_weights, _FLOOR)
        scatter_rows(ax, rows, drawn[shown], self.is_outlier[shown])
        ax.axhline(PAPERS_CUT, color=LINE, linewidth=0.8, linestyle="--", label="T·w = 0.01")
        ax.set(xlabel="row" + ", by weight" * (self.order == "weight"), yscale="log")
        is_cropped = bool((self.relative_weights < _FLOOR).any())
        ax.set_ylabel("relative weight T·w" + " (smaller at 1e-6)" * is_cropped)
        draw_legend(ax, ncols=3)
        self.ax_, self.figure_ = ax, ax.figure
        return self
