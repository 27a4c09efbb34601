"""Distances against the law that good rows should follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from eosparse.core import BoolArray, FloatArray
from eosparse.core.numbers import check_choice
from eosparse.estimators import EOSDetector
from eosparse.models.fit import IMPOSSIBLE
from eosparse.plots._matplotlib import LINE, draw_legend, make_axes, scatter_rows
from eosparse.rows import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# If the farthest row exceeds its quantile by this factor, both axes are logarithmic: otherwise far
# rows would squeeze all others into a corner.
_FAR = 3.0
# Rows with a combination of levels that does not occur stand this far above all others.
_ABOVE = 9.0


@dataclass
class DistanceQQDisplay:
    """Sorted distances against the quantiles of their law, with the line of equality.

    Good rows lie along the line. If the bulk leaves the line early, it is not Gaussian and you
    should not trust the p-values. If many rows are flagged, the end of the bulk rises above the
    line, because flagged rows take up the last quantiles.

    Parameters
    ----------
    quantiles : array of shape (n_samples,)
        Quantiles, increasing.
    distances : array of shape (n_samples,)
        Distances (not squared), increasing.
    is_outlier : array of bool of shape (n_samples,)
        Which rows are flagged, in the order of the distances.
    law_name : str, default="the fitted law"
        Name of the law that the quantiles belong to.
    name : str, default="robust distance"
        What is sorted: for models other than one Gaussian, errors.

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
    name: str = "robust distance"

    @classmethod
    def from_estimator(
        cls,
        estimator: EOSDetector,
        X: ArrayLike | None = None,
        *,
        law: Literal["fitted", "chi2"] = "fitted",
        ax: Axes | None = None,
    ) -> Self:
        """Compute distances and quantiles with a fitted detector, and draw them.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features), optional
            New rows. By default the training rows, each compared with the fit without it.
        law : {"fitted", "chi2"}, default="fitted"
            "fitted" is the law behind the p-values, which allows for the estimated location and
            covariance. "chi2" is the law for a known location and covariance.
        ax : Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        DistanceQQDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import DistanceQQDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> detector = EOSDetector().fit(X)
        >>> DistanceQQDisplay.from_estimator(detector, law="chi2").law_name
        'χ² with 2 degrees of freedom'
        """
        check_choice("law", law, ("fitted", "chi2"))
        squared, flagged = _sort_distances(estimator, X)
        tail = 1 - (np.arange(len(squared)) + 0.5) / len(squared)
        judge = estimator._judge
        if law == "fitted":
            quantiles, name = judge.law.distance_at(tail), "the fitted law"
        else:
            _ = estimator.location_  # raises for models other than the Gaussian
            rank = len(estimator.theta_.location)
            quantiles, name = chi2.isf(tail, rank), f"χ² with {rank} degrees of freedom"
        if not hasattr(estimator, "location_"):  # errors, of any sign
            return cls(quantiles, squared, flagged, name, "error").plot(ax=ax)
        return cls(np.sqrt(quantiles), np.sqrt(squared), flagged, name).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import DistanceQQDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> display = DistanceQQDisplay.from_estimator(EOSDetector().fit(X))
        >>> display.plot() is display
        True
        """
        ax = make_axes() if ax is None else ax
        scatter_rows(ax, self.quantiles, self.distances, self.is_outlier)
        ends = [float(self.quantiles.min()), float(self.quantiles.max())]
        ax.plot(ends, ends, color=LINE, linewidth=0.8, linestyle="--", label="equal")
        is_positive = min(self.distances[0], self.quantiles[0]) > 0
        if is_positive and self.distances[-1] > _FAR * self.quantiles[-1]:
            ax.set(xscale="log", yscale="log")
        root = "square roots of " * self.law_name.startswith("χ²")
        ax.set(xlabel=f"quantiles: {root}{self.law_name}", ylabel=f"{self.name}, sorted")
        draw_legend(ax, ncols=3)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _sort_distances(estimator: EOSDetector, X: ArrayLike | None) -> tuple[FloatArray, BoolArray]:
    """Return the squared distances behind the p-values, rising, and which rows are flagged."""
    if X is not None:
        squared = _draw_in(-np.asarray(estimator.score_samples(X)))
        order = np.argsort(squared, kind="stable")
        return squared[order], np.asarray(estimator.predict(X))[order] == -1
    flagged = np.asarray(estimator.is_outlier_)  # names the remedy if rows are not in memory
    fitted = np.asarray(cast(Table, estimator._training).to_column(np.float64))
    order = np.argsort(fitted, kind="stable")
    # In the order of p-values: with very few rows a near row's pull may outweigh its distance.
    left_out = np.maximum.accumulate(estimator._judge.pull.leave_out(fitted[order]))
    return _draw_in(left_out), flagged[order]


def _draw_in(distances: FloatArray) -> FloatArray:
    """Draw combinations of levels that do not occur, which are infinitely far away, nearer."""
    is_possible = distances < IMPOSSIBLE / 4
    highest = float(np.abs(distances).max(where=is_possible, initial=1.0))
    return np.where(is_possible, distances, _ABOVE * highest)
