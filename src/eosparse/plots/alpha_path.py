"""The α-path: what every other α would have flagged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core import BoolArray, FloatArray, Status
from eosparse.estimators import AlphaPath, EOSDetector
from eosparse.plots._matplotlib import BLUE, FLAGGED, LINE, SHADE, legend_on_top, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class AlphaPathDisplay:
    """Number of flagged rows and effective size over α, the plateau shaded.

    A wide plateau, the longest stretch of log α over which the flagged rows hardly change, says
    that the answer does not hang on the choice of α.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        Alphas at which there is a solution.
    n_flagged : array of shape (n_alphas,)
        Number of flagged rows.
    effective_sizes : array of shape (n_alphas,)
        Kish's effective number of rows.
    plateau : tuple of float or None, default=None
        Smallest and largest alpha of the plateau.
    chosen : float or None, default=None
        The alpha that was used.
    collapsed : float or None, default=None
        The alpha at which the weights collapsed.

    Examples
    --------
    >>> from eosparse import EOSDetector
    >>> from eosparse.datasets import make_contaminated
    >>> from eosparse.plots import AlphaPathDisplay
    >>> X, _ = make_contaminated(300, 3, 0.1, outliers="clustered", random_state=0)
    >>> detector = EOSDetector().fit(X)
    >>> display = AlphaPathDisplay.from_path(detector.path(X), chosen=detector.alpha_)
    >>> display.plateau[0] < display.chosen < display.plateau[1]
    True
    """

    alphas: FloatArray
    n_flagged: FloatArray
    effective_sizes: FloatArray
    plateau: tuple[float, float] | None = None
    chosen: float | None = None
    collapsed: float | None = None

    @classmethod
    def from_estimator(
        cls, estimator: EOSDetector, X: ArrayLike, *, ax: Axes | None = None
    ) -> Self:
        """Solve along falling alphas for a fitted detector's training rows, and draw them."""
        return cls.from_path(estimator.path(X), chosen=float(estimator.alpha_), ax=ax)

    @classmethod
    def from_path(
        cls, path: AlphaPath, *, chosen: float | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : AlphaPath
            From `EOSDetector.path`.
        chosen : float, optional
            Alpha to mark, as a detector's `alpha_`.
        ax : Axes, optional
            Where to draw; new axes by default. The effective size has an axis of its
            own, `size_ax_`.

        Returns
        -------
        AlphaPathDisplay
        """
        usable: BoolArray = np.array([status is not Status.COLLAPSED for status in path.statuses])
        run = path.alphas[path.plateau]
        return cls(
            path.alphas[usable],
            path.n_flagged[usable],
            path.effective_sizes[usable],
            (float(run.min()), float(run.max())) if len(run) > 1 else None,
            chosen,
            None if usable.all() else float(path.alphas[~usable][0]),
        ).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given axes, or on new ones."""
        ax = new_axes() if ax is None else ax
        sizes = ax.twinx()
        if self.plateau is not None:
            ax.axvspan(*self.plateau, color=SHADE, alpha=0.25, linewidth=0, label="plateau")
        self._draw_marks(ax)
        ax.plot(self.alphas, self.n_flagged, "D-", ms=4, color=FLAGGED, label="flagged rows")
        sizes.plot(self.alphas, self.effective_sizes, "o:", ms=3, color=BLUE)
        ax.plot([], [], "o:", ms=3, color=BLUE, label="effective size")
        ax.set(xscale="log", xlabel="α", ylabel="flagged rows")
        ax.set_ylim(bottom=0, top=1.05 * max(self.n_flagged.max(initial=0.0), 1.0))
        sizes.set_ylim(bottom=0)
        sizes.set_ylabel("effective number of rows", color=BLUE)
        legend_on_top(ax, ncols=3)
        low, high = sizes.get_ylim()
        sizes.set_ylim(low, high + 0.18 * (high - low))
        self.ax_, self.size_ax_, self.figure_ = ax, sizes, ax.figure
        return self

    def _draw_marks(self, ax: Axes) -> None:
        if self.chosen is not None:
            label = f"α = {self.chosen:.3g}, used"
            ax.axvline(self.chosen, color=LINE, linewidth=1, linestyle="--", label=label)
        if self.collapsed is not None:
            ax.axvline(self.collapsed, color=SHADE, linewidth=1, linestyle=":", label="collapse")
