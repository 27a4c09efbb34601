"""Tolerance ellipse: two columns, the weights, and the robust beside the classical ellipse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from eosparse.core import BoolArray, FloatArray
from eosparse.estimators import EOSDetector
from eosparse.plots._matplotlib import FLAGGED, KEPT, LINE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class ToleranceEllipseDisplay:
    """Two columns of a table with the ellipses that should hold 99 % of its rows.

    Parameters
    ----------
    points : array of shape (n_samples, 2)
        The two columns.
    is_outlier : array of bool of shape (n_samples,)
        Which rows are flagged.
    robust, classical : array of shape (n_points, 2)
        Outlines of the ellipses, with the detector's estimates and with mean and covariance.
    names : tuple of str
        Names of the columns.
    """

    points: FloatArray
    is_outlier: BoolArray
    robust: FloatArray
    classical: FloatArray
    names: tuple[str, str]

    @classmethod
    def from_estimator(
        cls,
        estimator: EOSDetector,
        X: ArrayLike,
        columns: tuple[int, int] = (0, 1),
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Take the ellipses from a fitted detector and from all rows, and draw them."""
        values, pair = np.asarray(X, dtype=np.float64), list(columns)
        points = values[:, pair]
        robust = estimator.location_[pair], estimator.covariance_[np.ix_(pair, pair)]
        classical = points.mean(axis=0), np.cov(points, rowvar=False)
        names = [str(name) for name in estimator.get_feature_names_out()]
        display = cls(
            points,
            estimator.predict(X) == -1,
            ellipse_outline(*robust),
            ellipse_outline(*classical),
            (names[pair[0]], names[pair[1]]),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given axes, or on new ones."""
        ax = new_axes() if ax is None else ax
        kept, flagged = self.points[~self.is_outlier], self.points[self.is_outlier]
        ax.scatter(kept[:, 0], kept[:, 1], s=9, color=KEPT)
        ax.scatter(flagged[:, 0], flagged[:, 1], s=30, marker="D", color=FLAGGED)
        ax.plot(*self.robust.T, color=LINE, label="EOS, 99 %")
        ax.plot(*self.classical.T, color=LINE, linestyle=":", label="classical, 99 %")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.32), frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def ellipse_outline(
    location: FloatArray, covariance: FloatArray, level: float = 0.99
) -> FloatArray:
    """Points on the ellipse that holds a given part of Gaussian rows."""
    angles = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    variances, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(variances, 0.0))
    outline: FloatArray = location + np.sqrt(chi2.ppf(level, 2)) * circle @ root.T
    return outline
