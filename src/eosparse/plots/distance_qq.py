"""Distances against the law that rows which belong should follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from eosparse.core import BoolArray, FloatArray
from eosparse.estimators import EOSDetector
from eosparse.plots._matplotlib import LINE, legend_on_top, new_axes, scatter_rows
from eosparse.rows import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# From this factor between the farthest row and its quantile on, both axes are logarithmic: far rows
# would squeeze all others into a corner.
_FAR = 3.0


@dataclass
class DistanceQQDisplay:
    """Ordered distances against the quantiles of their law, with the line on which both agree.

    Rows that belong lie along the line. If the bulk leaves it early, it is not Gaussian, and
    p-values are not to be trusted. Its end rises where many rows are flagged, since these take up
    the last quantiles.

    Parameters
    ----------
    quantiles : array of shape (n_samples,)
        Quantiles, rising.
    distances : array of shape (n_samples,)
        Distances (not squared), rising.
    is_outlier : array of bool of shape (n_samples,)
        Which rows are flagged, in the order of their distances.
    law_name : str, default="the fitted law"
        Of what the quantiles are.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> from eosparse.plots import DistanceQQDisplay
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> display = DistanceQQDisplay.from_estimator(EOSDetector().fit(X))
    >>> bool(np.abs(display.distances - display.quantiles)[:900].max() < 0.1)
    True
    """

    quantiles: FloatArray
    distances: FloatArray
    is_outlier: BoolArray
    law_name: str = "the fitted law"

    @classmethod
    def from_estimator(
        cls,
        estimator: EOSDetector,
        X: ArrayLike | None = None,
        *,
        law: Literal["fitted", "chi2"] = "fitted",
        ax: Axes | None = None,
    ) -> Self:
        """Compute distances and quantiles from a fitted detector, and draw them.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features), optional
            New rows. By default the training rows, each judged by the fit without it.
        law : {"fitted", "chi2"}, default="fitted"
            The law that p-values are taken from, which allows for the estimated location and
            covariance; or χ², the law if both were known.
        ax : Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        DistanceQQDisplay
        """
        if law not in ("fitted", "chi2"):
            raise ValueError(f"law={law!r} must be 'fitted' or 'chi2'.")
        squared, flagged = _ordered(estimator, X)
        tail = 1 - (np.arange(len(squared)) + 0.5) / len(squared)
        judge = estimator._judge
        if law == "fitted":
            quantiles, name = judge.law.distance_at(tail), "the fitted law"
        else:
            rank = len(estimator.theta_.location)
            quantiles, name = chi2.isf(tail, rank), f"χ² with {rank} degrees of freedom"
        return cls(np.sqrt(quantiles), np.sqrt(squared), flagged, name).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given axes, or on new ones."""
        ax = new_axes() if ax is None else ax
        scatter_rows(ax, self.quantiles, self.distances, self.is_outlier)
        ends = [float(self.quantiles.min()), float(self.quantiles.max())]
        ax.plot(ends, ends, color=LINE, linewidth=0.8, linestyle="--", label="equal")
        if self.distances[-1] > _FAR * self.quantiles[-1]:
            ax.set(xscale="log", yscale="log")
        root = "square roots of " * self.law_name.startswith("χ²")
        ax.set(xlabel=f"quantiles: {root}{self.law_name}", ylabel="robust distance, ordered")
        legend_on_top(ax, ncols=3)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _ordered(estimator: EOSDetector, X: ArrayLike | None) -> tuple[FloatArray, BoolArray]:
    """Squared distances as p-values are taken of them, rising, and which rows are flagged."""
    if X is not None:
        squared = np.asarray(estimator.mahalanobis(X))
        order = np.argsort(squared, kind="stable")
        return squared[order], np.asarray(estimator.predict(X))[order] == -1
    flagged = np.asarray(estimator.is_outlier_)  # names the remedy if rows are not in memory
    fitted = np.asarray(cast(Table, estimator._training).to_column(np.float64))
    order = np.argsort(fitted, kind="stable")
    # Ranked as p-values are: with very few rows a near row's pull may outweigh its distance.
    left_out = np.maximum.accumulate(estimator._judge.pull.leave_out(fitted[order]))
    return left_out, flagged[order]
