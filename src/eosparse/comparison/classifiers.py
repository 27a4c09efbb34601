"""Classifiers to compare: a name, and how it is made.

To add one, add a line to `FAST` or `SLOW`.

Every parameter that is tuned is tuned on the labels as they are, by cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from eosparse.core import FloatArray
from eosparse.estimators import EOSClassifier, SPAClassifier


def logistic(C: float = 1.0) -> Any:
    """Return logistic regression on standardised columns."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=500))


def forest() -> Any:
    """Return a random forest."""
    return RandomForestClassifier(50, random_state=0)


def boosting() -> Any:
    """Return boosted trees."""
    # Few bins: with more distinct values than bins, weighted binning takes seconds per fit.
    return HistGradientBoostingClassifier(max_bins=32, random_state=0)


def network() -> Any:
    """Return a neural network with one hidden layer."""
    # Newton-like steps: stochastic ones are stopped too early, or late, on a few hundred rows.
    steps = MLPClassifier((32,), solver="lbfgs", max_iter=200, random_state=0)
    return make_pipeline(StandardScaler(), steps)


def by_cv(estimator: Any, **grid: Any) -> Any:
    """Return an estimator tuned on the labels as they are."""
    return GridSearchCV(estimator, grid, scoring=area, cv=5, error_score="raise")


def clean_learning() -> Any:
    """Return cleanlab around logistic regression."""
    from cleanlab.classification import CleanLearning

    # One process: the units of the benchmark run side by side already.
    return CleanLearning(logistic(), seed=0, find_label_issues_kwargs={"n_jobs": 1})


_C = tuple(np.logspace(-4, 1, 6))
FAST: dict[str, Callable[[], Any]] = {
    "SPA": lambda: SPAClassifier(alpha=np.inf),
    "EOS+SPA": SPAClassifier,
    "LogReg": logistic,
    "EOS(LogReg)": lambda: EOSClassifier(logistic()),
    "LogReg, C by CV": lambda: by_cv(logistic(), logisticregression__C=_C),
    "SVM, C by CV": lambda: by_cv(
        make_pipeline(StandardScaler(), SVC(random_state=0)), svc__C=(0.03, 0.1, 0.3, 1.0, 3.0)
    ),
    "kNN, k by CV": lambda: by_cv(
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        kneighborsclassifier__n_neighbors=(5, 15, 31),
    ),
    "LDA": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "naive Bayes": GaussianNB,
    "EOS(naive Bayes)": lambda: EOSClassifier(GaussianNB()),
    "LogReg, C=.01": lambda: logistic(0.01),
    "EOS(LogReg, C=.01)": lambda: EOSClassifier(logistic(0.01)),
}
SLOW: dict[str, Callable[[], Any]] = {
    # With entropic feature selection, as the paper's own may have had.
    "EOS+eSPA, by CV": lambda: by_cv(
        SPAClassifier(32, n_init=2),
        epsilon_features=(None, 0.02, 0.05, 0.1),
        epsilon_label=(0.1, 1.0),
    ),
    "forest": forest,
    "EOS(forest)": lambda: EOSClassifier(forest()),
    "boosting": boosting,
    "EOS(boosting)": lambda: EOSClassifier(boosting()),
    "MLP, decay by CV": lambda: by_cv(network(), mlpclassifier__alpha=(0.1, 1.0, 10.0, 100.0)),
    "CleanLearning, C by CV": lambda: by_cv(
        clean_learning(), clf__logisticregression__C=(0.001, 0.01, 0.1, 1.0)
    ),
}
PLAIN = {
    "EOS+SPA": "SPA",
    "EOS(LogReg)": "LogReg",
    "EOS(LogReg, C=.01)": "LogReg, C=.01",
    "EOS(naive Bayes)": "naive Bayes",
    "EOS(forest)": "forest",
    "EOS(boosting)": "boosting",
}
OURS = (*PLAIN, "EOS+eSPA, by CV")
# On thousands of columns these take minutes per fit.
NOT_ON_WIDE = (
    "EOS+eSPA, by CV", "boosting", "EOS(boosting)", "MLP, decay by CV", "CleanLearning, C by CV",
    "SVM, C by CV", "LDA", "LogReg, C by CV",
)  # fmt: skip

# Boosting fits one tree per class and round.
NOT_ON_MANY_CLASSES = ("boosting", "EOS(boosting)", "CleanLearning, C by CV")


def missing_package(method: str) -> str | None:
    """Say which package a method lacks; None if it can run."""
    from importlib.util import find_spec

    if method in ("cleanlab", "CleanLearning, C by CV") and find_spec("cleanlab") is None:
        return "cleanlab is not installed: pip install 'eosparse[bench]'"
    return None


def area(model: Any, X: FloatArray, y: NDArray[np.int_]) -> float:
    """Area under the ROC curve on test rows; each class against the others if more than two."""
    if len(np.unique(y)) > 2:
        return float(roc_auc_score(y, _probabilities(model, X), multi_class="ovr"))
    return float(roc_auc_score(y, _probabilities(model, X)[:, 1]))


def _probabilities(model: Any, X: FloatArray) -> FloatArray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    values = np.asarray(model.decision_function(X))
    if values.ndim == 1:
        return np.column_stack([-values, values])
    return np.asarray(np.exp(values) / np.exp(values).sum(axis=1, keepdims=True))
