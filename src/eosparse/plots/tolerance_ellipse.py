"""Tolerance ellipse: two columns or components, with the robust beside the classical ellipse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from eosparse.core import BoolArray, FloatArray
from eosparse.estimators import EOSDetector
from eosparse.plots._columns import column_names, column_number
from eosparse.plots._matplotlib import LINE, legend_on_top, new_axes, readable, scatter_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class ToleranceEllipseDisplay:
    """Two columns or components of a table with the ellipses that should hold 99 % of its rows.

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

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> from eosparse.plots import ToleranceEllipseDisplay
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> detector = EOSDetector().fit(X)
    >>> ToleranceEllipseDisplay.from_estimator(detector, X, (0, 2)).names
    ('x0', 'x2')
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
        columns: tuple[int | str, int | str] = (0, 1),
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Take the ellipses from a fitted detector and from all rows, and draw them.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features)
            Rows.
        columns : pair of int or str, default=(0, 1)
            Numbers or names of the columns.
        ax : Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        ToleranceEllipseDisplay
        """
        names = column_names(estimator)
        pair = [column_number(names, column) for column in columns]
        points = np.asarray(X, dtype=np.float64)[:, pair]
        robust = estimator.location_[pair], estimator.covariance_[np.ix_(pair, pair)]
        flagged = np.asarray(estimator.predict(X)) == -1
        return cls._of_points(points, flagged, robust, (names[pair[0]], names[pair[1]])).plot(ax=ax)

    @classmethod
    def from_components(
        cls,
        estimator: EOSDetector,
        X: ArrayLike,
        components: tuple[int, int] = (0, 1),
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Show rows in two principal components of the robust correlations.

        Outliers neither turn these components towards themselves nor inflate their scale.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features)
            Rows.
        components : pair of int, default=(0, 1)
            Numbers of the components, the one of largest variance first.
        ax : Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        ToleranceEllipseDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import ToleranceEllipseDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 5))
        >>> X[:, 1] += 3 * X[:, 0]
        >>> detector = EOSDetector().fit(X)
        >>> ToleranceEllipseDisplay.from_components(detector, X).names
        ('robust component 1 (40 %)', 'robust component 2 (21 %)')
        """
        found = RobustComponents.of(estimator)
        if not all(0 <= number < len(found.variances) for number in components):
            raise ValueError(
                f"components={components!r}: there are {len(found.variances)}, numbered from 0."
            )
        pair = list(components)
        flagged = np.asarray(estimator.predict(X)) == -1
        points = found.scores(np.asarray(X, dtype=np.float64))[:, pair]
        robust = np.zeros(2), np.diag(found.variances[pair])
        names = (found.name(pair[0]), found.name(pair[1]))
        return cls._of_points(points, flagged, robust, names).plot(ax=ax)

    @classmethod
    def _of_points(
        cls,
        points: FloatArray,
        is_outlier: BoolArray,
        robust: tuple[FloatArray, FloatArray],
        names: tuple[str, str],
    ) -> Self:
        classical = points.mean(axis=0), np.cov(points, rowvar=False)
        return cls(points, is_outlier, ellipse_outline(*robust), ellipse_outline(*classical), names)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given axes, or on new ones."""
        ax = new_axes() if ax is None else ax
        scatter_rows(ax, self.points[:, 0], self.points[:, 1], self.is_outlier)
        ax.plot(*self.robust.T, color=LINE, label="EOS, 99 %")
        ax.plot(*self.classical.T, color=LINE, linestyle=":", label="classical, 99 %")
        ax.set(xlabel=readable(self.names[0], 60), ylabel=readable(self.names[1], 45))
        legend_on_top(ax, ncols=2)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass(frozen=True)
class RobustComponents:
    """Principal components of a detector's correlations, in columns of robust variance one.

    Attributes
    ----------
    location, scales : array of shape (n_features,)
        Robust location and standard deviation of the columns.
    vectors : array of shape (n_features, n_features)
        Directions, one per column, each with its largest loading positive.
    variances : array of shape (n_features,)
        Variances along them, falling.
    """

    location: FloatArray
    scales: FloatArray
    vectors: FloatArray
    variances: FloatArray

    @classmethod
    def of(cls, estimator: EOSDetector) -> RobustComponents:
        """Take location and correlations from a fitted detector."""
        covariance = np.asarray(estimator.covariance_, dtype=np.float64)
        scales = np.sqrt(np.diag(covariance))
        scales = np.where(scales > 0, scales, 1.0)
        variances, vectors = np.linalg.eigh(covariance / scales / scales[:, None])
        largest = np.abs(vectors).argmax(axis=0)
        vectors = vectors * np.sign(vectors[largest, np.arange(len(largest))])
        location = np.asarray(estimator.location_, dtype=np.float64)
        return cls(location, scales, vectors[:, ::-1], np.maximum(variances[::-1], 0.0))

    def scores(self, values: FloatArray) -> FloatArray:
        """Return the coordinates of rows along all components."""
        scores: FloatArray = (values - self.location) / self.scales @ self.vectors
        return scores

    def name(self, number: int) -> str:
        """Name a component with its share of the variance."""
        share = self.variances[number] / max(float(self.variances.sum()), 1e-300)
        return f"robust component {number + 1} ({100 * share:.0f} %)"


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
