"""Learners that fit tables: a linear one and boosted trees, and the choice between them.

Which of the two predicts better is asked of the labels as they are. With wrong labels that is fair:
their area under the ROC curve is an increasing function of the one with right labels.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array, check_is_fitted

from eosparse.core import FloatArray, IntArray
from eosparse.fitting.folds import assign_folds
from eosparse.fitting.label_learning import LabelProblem
from eosparse.fitting.meta_input import take_rows
from eosparse.fitting.target_learning import TargetProblem
from eosparse.inference import compute_mean_auc
from eosparse.rows import FrameReader, has_more_than_numbers
from eosparse.rows.frames import find_text_columns

LearnerName = Literal["linear", "boosted"]
LEARNERS: tuple[LearnerName, ...] = ("linear", "boosted")
# Enough rows, and folds, to tell which learner is better.
_MOST_ROWS, _FOLDS = 5000, 3
# Of a category, levels with fewer rows say too little to be learned.
_FEWEST_OF_LEVEL = 5
# Boosted trees are clearly better if what they predict beyond chance, or the deviations of the
# linear model, are larger by this factor.
_CLEARLY = 1.02
# Small steps and small trees: wrong labels must not be learned by heart. Few bins, because the last
# fit is weighted (see `fitting/binning.py`).
_BOOSTING: dict[str, Any] = {
    "learning_rate": 0.05,
    "max_leaf_nodes": 15,
    "max_bins": 64,
    "early_stopping": False,
    "random_state": 0,
}


class CellEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Read the cells of a data frame as numbers; gaps stay gaps.

    Numbers stay as they are, true is 1, dates are days. A column of text becomes one 0/1 column for
    each level that five rows or more have, or a column with the number of the level.

    Parameters
    ----------
    indicate : bool, default=True
        Whether levels become 0/1 columns.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, None] * 5, "sex": ["m", "f"] * 5})
    >>> CellEncoder().fit_transform(people)[:2].tolist()
    [[31.0, 0.0, 1.0], [nan, 1.0, 0.0]]
    """

    def __init__(self, indicate: bool = True) -> None:
        self.indicate = indicate

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  # scikit-learn passes it
        """Learn the levels of the columns of text."""
        texts = find_text_columns(X)
        self.reader_ = FrameReader.learn(X, dict.fromkeys(texts, "category"))
        values = self.reader_.read(X)
        self.levels_ = {
            place: _list_frequent(values[:, place])
            for place, name in enumerate(self.reader_.names)
            if name in texts
        }
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the rows as numbers."""
        check_is_fitted(self)
        values = np.asarray(self.reader_.read(X), dtype=np.float64)
        parts = []
        for place, column in enumerate(values.T):
            levels = self.levels_.get(place)
            if levels is None:
                parts.append(column[:, None])
            elif self.indicate:
                parts.append((column[:, None] == levels).astype(np.float64))
            else:
                parts.append(np.where(np.isin(column, levels), column, -1.0)[:, None])
        return np.hstack(parts)


def _list_frequent(codes: FloatArray) -> FloatArray:
    levels, counts = np.unique(codes[~np.isnan(codes)], return_counts=True)
    return np.asarray(levels[counts >= _FEWEST_OF_LEVEL], dtype=np.float64)


def list_learners(X: Any, is_regression: bool) -> dict[LearnerName, Any]:
    """Return the learners for a table: both, or the linear one if it is sparse.

    Examples
    --------
    >>> import numpy as np
    >>> list(list_learners(np.eye(3), is_regression=False))
    ['linear', 'boosted']
    """
    linear: Any = LinearRegression() if is_regression else LogisticRegression(max_iter=1000)
    if issparse(X):
        return {"linear": make_pipeline(StandardScaler(with_mean=False), linear)}
    boosting = HistGradientBoostingRegressor if is_regression else HistGradientBoostingClassifier
    boosted = boosting(**_BOOSTING)
    if has_more_than_numbers(X):
        boosted = make_pipeline(CellEncoder(indicate=False), boosted)
    return {"linear": make_pipeline(*list_measuring_steps(X), linear), "boosted": boosted}


def list_measuring_steps(X: Any) -> list[Any]:
    """Return the steps that make of a table what linear models and distances need.

    Examples
    --------
    >>> import numpy as np
    >>> list_measuring_steps(np.eye(3))
    [StandardScaler()]
    """
    steps: list[Any] = [CellEncoder()] if has_more_than_numbers(X) else []
    if steps or _has_gaps(X):
        steps.append(SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True))
    return [*steps, StandardScaler()]


def _has_gaps(X: Any) -> bool:
    values = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=0)
    return bool(np.isnan(values).any())


def choose_learner(
    X: Any, y: Any, prior: FloatArray, groups: IntArray | None, *, is_regression: bool
) -> tuple[LearnerName, Any]:
    """Return boosted trees if they predict held-out labels clearly better, else a linear model.

    Labels are compared by their area under the ROC curve beyond that of chance, targets by their
    absolute deviations.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows; of more than 5,000, some are used.
    y : array of shape (n_samples,)
        Labels or targets.
    prior : array of shape (n_samples,)
        Prior weights, all positive.
    groups : array of shape (n_samples,) or None
        Rows with the same number are held out together.
    is_regression : bool
        Whether y are targets.

    Returns
    -------
    tuple of str and estimator

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> choose_learner(X, X[:, 0] > 0, np.ones(300), None, is_regression=False)[0]
    'linear'
    >>> choose_learner(X, X[:, 0] * X[:, 1] > 0, np.ones(300), None, is_regression=False)[0]
    'boosted'
    """
    learners = list_learners(X, is_regression)
    if len(learners) == 1:
        return next(iter(learners.items()))
    if len(prior) > _MOST_ROWS:
        some = np.sort(np.random.default_rng(0).choice(len(prior), _MOST_ROWS, replace=False))
        X, y, prior = take_rows(X, some), y[some], prior[some]
        groups = None if groups is None else groups[some]
    measure = _measure_targets if is_regression else _measure_labels
    linear, boosted = (measure(learners[name], X, y, prior, groups) for name in LEARNERS)
    is_better = linear > _CLEARLY * boosted if is_regression else boosted > _CLEARLY * linear
    best: LearnerName = "boosted" if is_better else "linear"
    return best, learners[best]


def _measure_labels(
    learner: Any, X: Any, y: Any, prior: FloatArray, groups: IntArray | None
) -> float:
    names, classes = np.unique(y, return_inverse=True)
    problem = LabelProblem(
        learner, X, y, prior, classes=classes, names=names, loss="auto", simplex="per-class"
    )
    folds = assign_folds(X, classes, prior, _FOLDS, 0, groups)
    fitted = problem.fit(problem.equal_weights, folds)
    return compute_mean_auc(fitted.probabilities, classes, prior) - 0.5


def _measure_targets(
    learner: Any, X: Any, y: Any, prior: FloatArray, groups: IntArray | None
) -> float:
    problem = TargetProblem(learner, X, y, prior, loss="absolute")
    folds = assign_folds(X, problem.strata, prior, _FOLDS, 0, groups)
    return float(prior @ problem.fit(problem.equal_weights, folds).losses)


def is_outdone(
    X: Any, classes: IntArray, prior: FloatArray, folds: IntArray, probabilities: FloatArray
) -> bool:
    """Whether boosted trees predict held-out labels clearly better than given probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> classes, folds = (X[:, 0] * X[:, 1] > 0).astype(int), np.arange(300) % 3
    >>> is_outdone(X, classes, np.ones(300), folds, np.full((300, 2), 0.5))
    True
    """
    boosted = list_learners(X, is_regression=False).get("boosted")
    if boosted is None or folds.max() < 1:
        return False
    names = np.arange(probabilities.shape[1])
    problem = LabelProblem(
        boosted, X, classes, prior, classes=classes, names=names, loss="auto", simplex="per-class"
    )
    theirs = problem.fit(problem.equal_weights, folds).probabilities
    other, own = (compute_mean_auc(p, classes, prior) - 0.5 for p in (theirs, probabilities))
    return bool(other > _CLEARLY * own)
