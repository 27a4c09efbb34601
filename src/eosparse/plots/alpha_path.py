"""The α-path: which rows every other α would have flagged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core import BoolArray, FloatArray, Status
from eosparse.estimators import EOSDetector
from eosparse.fitting.alpha_path import AlphaPath
from eosparse.plots._matplotlib import BLUE, FLAGGED, LINE, SHADE, draw_legend, make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class AlphaPathDisplay:
    """Number of flagged rows and effective sample size along α, with the plateau shaded.

    The plateau is the longest stretch of log α over which the flagged rows hardly change. If it is
    wide, the result does not depend on the choice of α.

    Parameters
    ----------
    alphas : array of shape (n_alphas,)
        Alphas that have a solution.
    n_flagged : array of shape (n_alphas,)
        Number of flagged rows.
    effective_sizes : array of shape (n_alphas,)
        Kish's effective sample size.
    plateau : tuple of float or None, default=None
        Smallest and largest alpha of the plateau.
    chosen : float or None, default=None
        The alpha of the fit.
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
    >>> bool(display.plateau[0] < display.chosen < display.plateau[1])
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
        """Solve along decreasing alphas for a fitted detector's training rows, and draw the path.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features)
            The training rows.
        ax : Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        AlphaPathDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import AlphaPathDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> detector = EOSDetector().fit(X)
        >>> AlphaPathDisplay.from_estimator(detector, X).chosen == detector.alpha_
        True
        """
        return cls.from_path(estimator.path(X), chosen=float(estimator.alpha_), ax=ax)

    @classmethod
    def from_path(
        cls, path: AlphaPath, *, chosen: float | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : AlphaPath
            Result of `EOSDetector.path`.
        chosen : float, optional
            Alpha to mark, such as a detector's `alpha_`.
        ax : Axes, optional
            Axes to draw on; new ones by default. The effective size has its own axes, `size_ax_`.

        Returns
        -------
        AlphaPathDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import AlphaPathDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> path = EOSDetector().fit(X).path(X)
        >>> len(AlphaPathDisplay.from_path(path).alphas) <= len(path.alphas)
        True
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
        """Draw on `ax`, or on new axes.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import AlphaPathDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> display = AlphaPathDisplay.from_estimator(EOSDetector().fit(X), X)
        >>> display.plot() is display
        True
        """
        ax = make_axes() if ax is None else ax
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
        sizes.set_ylabel("effective sample size", color=BLUE)
        draw_legend(ax, ncols=3)
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
