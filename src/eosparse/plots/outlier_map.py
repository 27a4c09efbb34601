"""Outlier map: the distance of every row, and the cut-off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.covariance import EmpiricalCovariance
from sklearn.preprocessing import StandardScaler

from eosparse.core import BoolArray, FloatArray
from eosparse.estimators import EOSDetector
from eosparse.estimators.distances import Distances
from eosparse.plots._columns import find_column, get_column_names
from eosparse.plots._matplotlib import (
    LINE,
    SHADE,
    draw_legend,
    format_name,
    make_axes,
    scatter_rows,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class OutlierMapDisplay:
    """Robust distance of each row against its index, another distance or a column.

    Parameters
    ----------
    distances : array of shape (n_samples,)
        Mahalanobis distances (not squared).
    is_outlier : array of bool of shape (n_samples,)
        Which rows are flagged.
    cut : float
        Distance above which rows are flagged.
    against : array of shape (n_samples,), optional
        Values on the horizontal axis; the index of the row by default.
    against_name : str, default="row"
        Label of the horizontal axis.
    is_classical : bool, default=False
        Whether `against` holds classical distances. If so, both axes get the same scale and the
        cut-off, and a line marks equal distances.
    name : str, default="robust distance"
        Label of the vertical axis. For models other than one Gaussian the distances are minus the
        log of the p-values.

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
    name: str = "robust distance"

    @classmethod
    def from_estimator(
        cls,
        estimator: EOSDetector,
        X: ArrayLike,
        *,
        against: str | int | ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the distances of rows with a fitted detector, and draw them.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features)
            Rows.
        against : "classical", column or array-like of shape (n_samples,), optional
            Values on the horizontal axis: "classical" for the Mahalanobis distances from the
            mean and covariance of all rows of `X`, the name or number of a column, or one number
            per row. By default the index of the row.
        ax : Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        OutlierMapDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import OutlierMapDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> detector = EOSDetector().fit(X)
        >>> OutlierMapDisplay.from_estimator(detector, X, against="classical").against_name
        'classical distance'
        """
        found = Distances.of_rows(estimator, X)
        flagged = np.asarray(estimator.predict(X)) == -1
        values, label = _choose_axis(estimator, X, against)
        if values is not None and values.shape != flagged.shape:
            raise ValueError(
                f"against has shape {values.shape}, but needs one number per row: {flagged.shape}."
            )
        is_classical = isinstance(against, str) and against == "classical"
        return cls(found.values, flagged, found.cut, values, label, is_classical, found.name).plot(
            ax=ax
        )

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import OutlierMapDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> display = OutlierMapDisplay.from_estimator(EOSDetector().fit(X), X)
        >>> display.plot() is display
        True
        """
        ax = make_axes() if ax is None else ax
        x = np.arange(0.0, len(self.distances)) if self.against is None else self.against
        scatter_rows(ax, x, self.distances, self.is_outlier)
        ax.axhline(self.cut, color=LINE, linewidth=0.8, linestyle="--", label="cut-off")
        ax.set(xlabel=format_name(self.against_name, 60), ylabel=self.name, yscale="log")
        if self.is_classical:
            self._draw_equal_distances(ax, x)
        draw_legend(ax, ncols=3)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_equal_distances(self, ax: Axes, x: FloatArray) -> None:
        ax.axvline(self.cut, color=LINE, linewidth=0.8, linestyle="--")
        ax.set_xscale("log")
        both = np.concatenate([x, self.distances])
        ends = [both[both > 0].min(), both.max()]
        ax.plot(ends, ends, color=SHADE, linewidth=0.8, zorder=1, label="equal distances")


def _choose_axis(
    estimator: EOSDetector, X: ArrayLike, against: str | int | ArrayLike | None
) -> tuple[FloatArray | None, str]:
    """Return the values on the horizontal axis, and its label."""
    if against is None:
        return None, "row"
    if isinstance(against, str) and against == "classical":
        return compute_classical_distances(X), "classical distance"
    if isinstance(against, str | int):
        names = get_column_names(estimator)
        number = find_column(names, against)
        return np.asarray(X, dtype=np.float64)[:, number], names[number]
    name: Any = getattr(against, "name", None)
    return np.asarray(against, dtype=np.float64), "" if name is None else str(name)


def compute_classical_distances(X: ArrayLike) -> FloatArray:
    """Compute Mahalanobis distances (not squared) from the mean and covariance of all rows."""
    # Scaled first: a pseudo-inverse would mistake columns in small units for dependent ones.
    scaled = StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))
    distances: FloatArray = np.sqrt(EmpiricalCovariance().fit(scaled).mahalanobis(scaled))
    return distances
