"""Outlier map: the distance of every row, and the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core import BoolArray, FloatArray
from eosparse.estimators import EOSDetector
from eosparse.plots._matplotlib import FLAGGED, KEPT, LINE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class OutlierMapDisplay:
    """Robust distance of each row against its index.

    Parameters
    ----------
    distances : array of shape (n_samples,)
        Mahalanobis distances (not squared).
    is_outlier : array of bool of shape (n_samples,)
        Which rows are flagged.
    cut : float
        Distance beyond which rows are flagged.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> from eosparse.plots import OutlierMapDisplay
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> detector = EOSDetector().fit(X)
    >>> display = OutlierMapDisplay.from_estimator(detector, X)
    >>> len(display.distances)
    200
    """

    distances: FloatArray
    is_outlier: BoolArray
    cut: float

    @classmethod
    def from_estimator(
        cls, estimator: EOSDetector, X: ArrayLike, *, ax: Axes | None = None
    ) -> Self:
        """Compute the distances of rows from a fitted detector, and draw them."""
        squared = estimator.mahalanobis(X)
        flagged = estimator.predict(X) == -1
        display = cls(np.sqrt(squared), flagged, float(np.sqrt(-estimator.offset_)))
        return display.plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given axes, or on new ones."""
        ax = new_axes() if ax is None else ax
        rows = np.arange(len(self.distances))
        kept, flagged = ~self.is_outlier, self.is_outlier
        ax.scatter(rows[kept], self.distances[kept], s=9, color=KEPT, label=f"{kept.sum()} kept")
        ax.scatter(
            rows[flagged],
            self.distances[flagged],
            s=30,
            marker="D",
            color=FLAGGED,
            label=f"{flagged.sum()} flagged",
        )
        ax.axhline(self.cut, color=LINE, linewidth=0.8, linestyle="--", label="cut")
        ax.set(xlabel="row", ylabel="robust distance", yscale="log")
        ax.legend(loc="upper left", frameon=False, ncols=3)
        # Room above the points for the legend.
        ax.set_ylim(top=self.distances.max() ** 1.25 + 2)
        self.ax_, self.figure_ = ax, ax.figure
        return self
