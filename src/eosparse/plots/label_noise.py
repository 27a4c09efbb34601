"""The label-noise curve: how a score falls as more labels are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils import _safe_indexing

from eosparse.core import FloatArray, IntArray
from eosparse.plots._matplotlib import METHODS, format_name, make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = ("-", "--", "-.", ":")
_MARKERS = "os^Dv*PX"


@dataclass
class LabelNoiseDisplay:
    """Scores of several methods against the share of wrong labels.

    Parameters
    ----------
    noise : array of shape (n_levels,)
        Shares of wrong labels, from 0 to 1.
    scores : array of shape (n_methods, n_levels)
        Score of each method.
    half_intervals : array of shape (n_methods, n_levels) or None
        Half of the interval around each score; NaN if unknown.
    methods : sequence of str
        Names of the methods.
    score_name : str, default="score"
        Name of the score.

    Examples
    --------
    >>> from eosparse.plots import LabelNoiseDisplay
    >>> scores = {"plain": [[0.9, 0.92], [0.7, 0.76]], "EOS": [[0.9, 0.91], [0.86, 0.88]]}
    >>> display = LabelNoiseDisplay.from_curve([0.0, 0.3], scores, score_name="accuracy")
    >>> display.scores.round(2).tolist()
    [[0.91, 0.73], [0.9, 0.87]]
    """

    noise: FloatArray
    scores: FloatArray
    half_intervals: FloatArray | None
    methods: Sequence[str]
    score_name: str = "score"

    @classmethod
    def from_curve(
        cls,
        noise: ArrayLike,
        scores: Mapping[str, ArrayLike],
        *,
        score_name: str = "score",
        ax: Axes | None = None,
    ) -> Self:
        """Draw means over repetitions with their 95 % intervals (Student's t).

        Parameters
        ----------
        noise : array-like of shape (n_levels,)
            Shares of wrong labels.
        scores : dict from method to array-like of shape (n_levels,) or (n_levels, n_repetitions)
            Scores; NaN where a repetition is missing.
        score_name : str, default="score"
            Name of the score.
        ax : Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        LabelNoiseDisplay
        """
        if not scores:
            raise ValueError("there are no scores to draw: pass at least one method.")
        levels = np.asarray(noise, dtype=np.float64)
        curves = [_summarise_repetitions(name, scores[name], levels) for name in scores]
        means, halves = (np.array(part) for part in zip(*curves, strict=True))
        return cls(levels, means, halves, list(scores), score_name).plot(ax=ax)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        noise: Sequence[float] = (0.0, 0.1, 0.2, 0.3, 0.4),
        scoring: str = "accuracy",
        n_repetitions: int = 5,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Fit classifiers to labels with random errors, score them on correct labels, and draw.

        In each repetition a stratified half of the rows is used for training. A share of their
        labels is replaced by other classes, the same ones for all classifiers; the wrong labels at
        a lower noise level stay wrong at the higher ones.

        Parameters
        ----------
        estimators : dict from method to classifier
            Cloned before each fit.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, assumed to be correct.
        noise : sequence of float
            Shares of the training labels to replace.
        scoring : str, default="accuracy"
            Name of one of scikit-learn's scorers.
        n_repetitions : int, default=5
            Number of splits.
        random_state : int, default=0
            For splits and wrong labels.
        ax : Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        LabelNoiseDisplay

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.linear_model import LogisticRegression
        >>> from eosparse import EOSClassifier
        >>> from eosparse.plots import LabelNoiseDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LogisticRegression(max_iter=1000)
        >>> display = LabelNoiseDisplay.from_estimators(
        ...     {"plain": model, "EOS": EOSClassifier(model)}, X, y, noise=[0.3], n_repetitions=2
        ... )
        >>> display.scores.shape
        (2, 1)
        """
        scorer, labels = get_scorer(scoring), np.asarray(y)
        splitter = StratifiedShuffleSplit(n_repetitions, test_size=0.5, random_state=random_state)
        scores = {name: np.full((len(noise), n_repetitions), np.nan) for name in estimators}
        for repetition, (train, test) in enumerate(splitter.split(labels, labels)):
            spoiler = _Spoiler(labels, train, np.random.default_rng([random_state, repetition]))
            some, others = _safe_indexing(X, train), _safe_indexing(X, test)
            for level, share in enumerate(noise):
                for name, estimator in estimators.items():
                    fitted = clone(estimator).fit(some, spoiler.spoil(share))
                    scores[name][level, repetition] = scorer(fitted, others, labels[test])
        score_name = scoring.replace("_", " ")
        return cls.from_curve(noise, scores, score_name=score_name, ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves on given axes, or on new ones."""
        ax = make_axes() if ax is None else ax
        order = np.argsort(self.noise, kind="stable")
        for number, method in enumerate(self.methods):
            halves = None if self.half_intervals is None else self.half_intervals[number, order]
            ax.errorbar(
                100 * self.noise[order],
                self.scores[number, order],
                halves,
                label=format_name(method, 40),
                capsize=2,
                elinewidth=0.8,
                markersize=5,
                **_choose_style(number),
            )
        ax.set(xlabel="wrong labels, %", ylabel=format_name(self.score_name, 45))
        ax.grid(alpha=0.25, linewidth=0.5)
        # Curves fall with noise, so the lower left corner is free.
        ax.legend(loc="lower left", frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class _Spoiler:
    """Replaces labels of some rows by other classes, in a fixed random order."""

    def __init__(self, y: Any, rows: IntArray, rng: np.random.Generator) -> None:
        self._classes, codes = np.unique(y, return_inverse=True)
        self._right = codes[rows]
        shift = rng.integers(1, max(len(self._classes), 2), len(rows))
        self._wrong = (self._right + shift) % len(self._classes)
        self._order = rng.permutation(len(rows))

    def spoil(self, share: float) -> Any:
        """Return labels of which a share is wrong."""
        codes, chosen = self._right.copy(), self._order[: round(share * len(self._order))]
        codes[chosen] = self._wrong[chosen]
        return self._classes[codes]


def _choose_style(number: int) -> dict[str, Any]:
    """Return colour, line and marker of a method: any two differ in more than colour."""
    return {
        "color": METHODS[number % len(METHODS)],
        "linestyle": _LINES[number % len(_LINES)],
        "marker": _MARKERS[number % len(_MARKERS)],
    }


def _summarise_repetitions(
    name: str, scores: ArrayLike, levels: FloatArray
) -> tuple[FloatArray, FloatArray]:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim not in (1, 2) or len(values) != len(levels):
        raise ValueError(
            f"scores of {name!r} have shape {values.shape}, but there are {len(levels)} noise "
            "levels: pass one score, or one row of repetitions, per level."
        )
    repeated = values.reshape(len(levels), -1)
    means, halves = np.full(len(levels), np.nan), np.full(len(levels), np.nan)
    for level, line in enumerate(repeated):
        known = line[~np.isnan(line)]
        if len(known):
            means[level] = known.mean()
        if len(known) > 1:
            error = known.std(ddof=1) / np.sqrt(len(known))
            halves[level] = student.ppf(0.975, len(known) - 1) * error
    return means, halves
