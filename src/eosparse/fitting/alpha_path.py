"""The α-path of a detector: what every other α would have flagged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core import BoolArray, FloatArray, Status, alpha_path, longest_plateau
from eosparse.fitting.judge import Rule, find_judge
from eosparse.models import Fit
from eosparse.rows import Table


@dataclass(frozen=True)
class AlphaPath:
    """Solutions along falling alphas, each started from the previous one.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Decreasing; the path ends where the weights collapse.
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

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> X[:10] += 9.0
    >>> path = EOSDetector().path(X)
    >>> int(np.median(path.n_flagged[path.plateau]))
    10
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

        Any two sets may differ in 1 % of the rows. Every path begins with a stretch that flags
        nothing, which counts only if there is no other. Infinite and collapsed alphas do not count.
        """
        tolerance = 0.01 * self.weights.shape[1]
        # Infinite alphas come first, and only the last may have collapsed.
        first = int(np.count_nonzero(np.isinf(self.alphas)))
        stop = sum(status is not Status.COLLAPSED for status in self.statuses)
        is_flagging = self.n_flagged[first:stop] > tolerance
        first += int(np.argmax(is_flagging)) if is_flagging.any() else 0
        places = np.log(self.alphas[first:stop])
        run = longest_plateau(self.is_outlier[first:stop], tolerance, places)
        return slice(first + run.start, first + run.stop)

    @property
    def plateau_alpha(self) -> float:
        """Alpha in the middle of the plateau; NaN if there is none."""
        alphas = self.alphas[self.plateau]
        return float(np.exp(np.log(alphas).mean())) if len(alphas) else float("nan")


def follow_path(
    fit: Fit[Any],
    table: Table,
    rule: Rule,
    alphas: ArrayLike | None,
    *,
    tol: float,
    max_iter: int,
) -> AlphaPath:
    """Solve along falling alphas with the model of a fit, each from the previous solution."""
    if not table.is_in_memory:
        raise TypeError("path() takes rows in memory: read a sample of the rows first.")
    visited = _choose_alphas(fit, table.n_features, alphas)
    rows = table.prepare_with(fit.coordinates or fit.model.view)
    start = fit.model.start_from(rows)
    results = alpha_path(fit.model, rows, visited, start, tol=tol, max_iter=max_iter)
    is_solved = np.array([result.status is not Status.COLLAPSED for result in results])
    weights, flags = [], []
    for result in results:
        # A collapsed step has no solution: that of the fit stands in, and is blanked below.
        step = fit if result.status is Status.COLLAPSED else replace(fit, result=result)
        distances = table.map(step.measure)
        judge = find_judge(step, distances, rule)
        flags.append(distances.map(judge.is_outlier).to_column(bool))
        weights.append(table.times_prior(distances.map(judge.weigh).to_column(np.float64)))
    is_outlier = np.stack(flags) & is_solved[:, None]
    return AlphaPath(
        alphas=visited[: len(results)],
        n_flagged=np.where(is_solved, is_outlier.sum(axis=1), -1),
        effective_sizes=np.array([result.effective_size for result in results]),
        weights=np.stack(weights) * is_solved[:, None],
        statuses=tuple(result.status for result in results),
        is_outlier=is_outlier,
    )


def _choose_alphas(fit: Fit[Any], n_features: int, alphas: ArrayLike | None) -> FloatArray:
    """Return the alphas of a path, largest first."""
    largest, smallest = fit.model.path_range(fit.result.alpha, n_features)
    if alphas is None:
        return np.geomspace(largest, smallest, _N_ALPHAS)
    visited = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if visited.ndim != 1 or not visited.size or not (visited > 0).all():
        raise ValueError("alphas must be a list of positive numbers.")
    return np.sort(visited)[::-1]


# Enough for a smooth picture.
_N_ALPHAS = 40
