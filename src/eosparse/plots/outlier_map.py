"""Outlier map: the distance of every row, and the cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.covariance import EmpiricalCovariance
from sklearn.preprocessing import StandardScaler

from eosparse.core import BoolArray, FloatArray
from eosparse.estimators import EOSDetector
from eosparse.plots._columns import column_names, column_number
from eosparse.plots._matplotlib import LINE, SHADE, legend_on_top, new_axes, readable, scatter_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class OutlierMapDisplay:
    """Robust distance of each row against its index, or against something else.

    Parameters
    ----------
    distances : array of shape (n_samples,)
        Mahalanobis distances (not squared).
    is_outlier : array of bool of shape (n_samples,)
        Which rows are flagged.
    cut : float
        Distance beyond which rows are flagged.
    against : array of shape (n_samples,), optional
        What the other axis shows; the index of the row by default.
    against_name : str, default="row"
        What it is called.
    is_classical : bool, default=False
        Whether `against` holds classical distances: both axes are drawn alike then, with the cut
        in both directions and the line on which both distances are equal.

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
    against: FloatArray | None = None
    against_name: str = "row"
    is_classical: bool = False

    @classmethod
    def from_estimator(
        cls,
        estimator: EOSDetector,
        X: ArrayLike,
        *,
        against: str | int | ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the distances of rows from a fitted detector, and draw them.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features)
            Rows.
        against : "classical", column or array-like of shape (n_samples,), optional
            The other axis: Mahalanobis distances from mean and covariance of all rows of `X`,
            a column by name or number, or one number per row. The index of the row by default.
        ax : Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        OutlierMapDisplay
        """
        squared = np.asarray(estimator.mahalanobis(X))
        flagged = np.asarray(estimator.predict(X)) == -1
        other, name = _other_axis(estimator, X, against)
        if other is not None and other.shape != squared.shape:
            raise ValueError(
                f"against has shape {other.shape}: one number per row is needed, {squared.shape}."
            )
        cut = float(np.sqrt(-estimator.offset_))
        is_classical = isinstance(against, str) and against == "classical"
        return cls(np.sqrt(squared), flagged, cut, other, name, is_classical).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given axes, or on new ones."""
        ax = new_axes() if ax is None else ax
        x = np.arange(0.0, len(self.distances)) if self.against is None else self.against
        scatter_rows(ax, x, self.distances, self.is_outlier)
        ax.axhline(self.cut, color=LINE, linewidth=0.8, linestyle="--", label="cut")
        ax.set(xlabel=readable(self.against_name, 60), ylabel="robust distance", yscale="log")
        if self.is_classical:
            self._draw_equal_distances(ax, x)
        legend_on_top(ax, ncols=3)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_equal_distances(self, ax: Axes, x: FloatArray) -> None:
        ax.axvline(self.cut, color=LINE, linewidth=0.8, linestyle="--")
        ax.set_xscale("log")
        both = np.concatenate([x, self.distances])
        ends = [both[both > 0].min(), both.max()]
        ax.plot(ends, ends, color=SHADE, linewidth=0.8, zorder=1, label="equal distances")


def _other_axis(
    estimator: EOSDetector, X: ArrayLike, against: str | int | ArrayLike | None
) -> tuple[FloatArray | None, str]:
    """Return what the other axis shows, and its name."""
    if against is None:
        return None, "row"
    if isinstance(against, str) and against == "classical":
        return classical_distances(X), "classical distance"
    if isinstance(against, str | int):
        names = column_names(estimator)
        number = column_number(names, against)
        return np.asarray(X, dtype=np.float64)[:, number], names[number]
    name: Any = getattr(against, "name", None)
    return np.asarray(against, dtype=np.float64), "" if name is None else str(name)


def classical_distances(X: ArrayLike) -> FloatArray:
    """Mahalanobis distances (not squared) from the mean and covariance of all rows."""
    # In columns of one scale, lest a pseudo-inverse take small units for dependence.
    scaled = StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))
    distances: FloatArray = np.sqrt(EmpiricalCovariance().fit(scaled).mahalanobis(scaled))
    return distances
