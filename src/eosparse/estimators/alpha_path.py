"""The α-path of a detector, as people want to see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eosparse.core import BoolArray, FloatArray, Status, longest_plateau


@dataclass(frozen=True)
class AlphaPath:
    """Solutions along falling alphas, each started from the one before.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Falling; the path ends where the weights collapse.
    n_flagged : array of shape (n_alphas,)
        Number of flagged rows; -1 where collapsed.
    effective_sizes : array of shape (n_alphas,)
        Kish's effective number of rows.
    weights : array of shape (n_alphas, n_samples)
        Weights; zero where collapsed.
    statuses : tuple of Status
        How each alternation ended.
    is_outlier : array of bool of shape (n_alphas, n_samples)
        Which rows are flagged; none where collapsed.
    """

    alphas: FloatArray
    n_flagged: FloatArray
    effective_sizes: FloatArray
    weights: FloatArray
    statuses: tuple[Status, ...]
    is_outlier: BoolArray

    @property
    def plateau(self) -> slice:
        """Longest stretch of log α over which the set of flagged rows hardly changes.

        Any two sets may differ in 1 % of the rows. Stretches that flag nothing count only if no
        other is left, since every path begins with one.
        """
        usable = np.array([status is not Status.COLLAPSED for status in self.statuses])
        counts = self.n_flagged[usable]
        tolerance = 0.01 * self.weights.shape[1]
        first = int(np.argmax(counts > tolerance)) if (counts > tolerance).any() else 0
        places = np.log(self.alphas[usable][first:])
        run = longest_plateau(self.is_outlier[usable][first:], tolerance, places)
        return slice(first + run.start, first + run.stop)

    @property
    def plateau_alpha(self) -> float:
        """Alpha in the middle of the plateau."""
        return float(np.exp(np.log(self.alphas[self.plateau]).mean()))
