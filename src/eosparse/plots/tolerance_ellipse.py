"""Tolerance ellipse: two columns or components with their robust and classical ellipses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from eosparse.core import BoolArray, FloatArray
from eosparse.estimators import EOSDetector
from eosparse.plots._columns import find_column, get_column_names
from eosparse.plots._matplotlib import LINE, draw_legend, format_name, make_axes, scatter_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class ToleranceEllipseDisplay:
    """Two columns or components with the ellipses that should contain 99 % of the rows.

    Parameters
    ----------
    points : array of shape (n_samples, 2)
        The two columns.
    is_outlier : array of bool of shape (n_samples,)
        Which rows are flagged.
    robust, classical : array of shape (n_points, 2)
        Outlines of the ellipses from the detector's estimates, and from the mean and covariance.
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
        """Draw two columns, with the ellipses of a fitted detector and of all rows.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features)
            Rows.
        columns : pair of int or str, default=(0, 1)
            Numbers or names of the columns.
        ax : Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        ToleranceEllipseDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import ToleranceEllipseDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> ToleranceEllipseDisplay.from_estimator(EOSDetector().fit(X), X).points.shape
        (200, 2)
        """
        names = get_column_names(estimator)
        pair = [find_column(names, column) for column in columns]
        location, covariance = _get_gaussian(estimator)
        points = np.asarray(X, dtype=np.float64)[:, pair]
        robust = location[pair], covariance[np.ix_(pair, pair)]
        flagged = np.asarray(estimator.predict(X)) == -1
        return cls._from_points(points, flagged, robust, (names[pair[0]], names[pair[1]])).plot(
            ax=ax
        )

    @classmethod
    def from_components(
        cls,
        estimator: EOSDetector,
        X: ArrayLike,
        components: tuple[int, int] = (0, 1),
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw two principal components of the robust correlations.

        Outliers neither rotate these components nor inflate their scale.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features)
            Rows.
        components : pair of int, default=(0, 1)
            Numbers of the components, in order of decreasing variance.
        ax : Axes, optional
            Axes to draw on; new ones by default.

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
        found = RobustComponents.from_estimator(estimator)
        if not all(0 <= number < len(found.variances) for number in components):
            raise ValueError(
                f"components={components!r} must be two of the {len(found.variances)} components, "
                "which are numbered from 0."
            )
        pair = list(components)
        flagged = np.asarray(estimator.predict(X)) == -1
        points = found.transform(np.asarray(X, dtype=np.float64))[:, pair]
        robust = np.zeros(2), np.diag(found.variances[pair])
        names = (found.format_name(pair[0]), found.format_name(pair[1]))
        return cls._from_points(points, flagged, robust, names).plot(ax=ax)

    @classmethod
    def _from_points(
        cls,
        points: FloatArray,
        is_outlier: BoolArray,
        robust: tuple[FloatArray, FloatArray],
        names: tuple[str, str],
    ) -> Self:
        classical = points.mean(axis=0), np.cov(points, rowvar=False)
        return cls(points, is_outlier, compute_ellipse(*robust), compute_ellipse(*classical), names)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import ToleranceEllipseDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> display = ToleranceEllipseDisplay.from_estimator(EOSDetector().fit(X), X)
        >>> display.plot() is display
        True
        """
        ax = make_axes() if ax is None else ax
        scatter_rows(ax, self.points[:, 0], self.points[:, 1], self.is_outlier)
        ax.plot(*self.robust.T, color=LINE, label="EOS, 99 %")
        ax.plot(*self.classical.T, color=LINE, linestyle=":", label="classical, 99 %")
        ax.set(xlabel=format_name(self.names[0], 60), ylabel=format_name(self.names[1], 45))
        draw_legend(ax, ncols=2)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass(frozen=True)
class RobustComponents:
    """Principal components of a detector's correlations, for columns scaled to unit variance.

    Attributes
    ----------
    location, scales : array of shape (n_features,)
        Robust location and standard deviation of the columns.
    vectors : array of shape (n_features, n_features)
        Directions, one per column, each with a positive largest loading.
    variances : array of shape (n_features,)
        Variances along the directions, decreasing.
    """

    location: FloatArray
    scales: FloatArray
    vectors: FloatArray
    variances: FloatArray

    @classmethod
    def from_estimator(cls, estimator: EOSDetector) -> RobustComponents:
        """Compute the components of a fitted detector's correlations."""
        location, covariance = _get_gaussian(estimator)
        scales = np.sqrt(np.diag(covariance))
        scales = np.where(scales > 0, scales, 1.0)
        variances, vectors = np.linalg.eigh(covariance / scales / scales[:, None])
        largest = np.abs(vectors).argmax(axis=0)
        vectors = vectors * np.sign(vectors[largest, np.arange(len(largest))])
        return cls(location, scales, vectors[:, ::-1], np.maximum(variances[::-1], 0.0))

    def transform(self, values: FloatArray) -> FloatArray:
        """Return the coordinates of rows along all components."""
        scores: FloatArray = (values - self.location) / self.scales @ self.vectors
        return scores

    def format_name(self, number: int) -> str:
        """Format the name of a component with its share of the variance."""
        share = self.variances[number] / max(float(self.variances.sum()), 1e-300)
        return f"robust component {number + 1} ({100 * share:.0f} %)"


def _get_gaussian(estimator: EOSDetector) -> tuple[FloatArray, FloatArray]:
    """Return location and covariance, or raise if the rows are not described by them."""
    if not hasattr(estimator, "covariance_"):
        raise ValueError(
            "a tolerance ellipse needs one Gaussian for the columns as they are: fit "
            "EOSDetector(model='gaussian') to columns of numbers."
        )
    return (
        np.asarray(estimator.location_, dtype=np.float64),
        np.asarray(estimator.covariance_, dtype=np.float64),
    )


def compute_ellipse(
    location: FloatArray, covariance: FloatArray, level: float = 0.99
) -> FloatArray:
    """Compute points on the ellipse that contains a given share of Gaussian rows."""
    angles = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    variances, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(variances, 0.0))
    outline: FloatArray = location + np.sqrt(chi2.ppf(level, 2)) * circle @ root.T
    return outline
