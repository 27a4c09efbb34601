"""Classifiers, with and without EOS around them.

To add one, add a call of `register_classifier`. Tuned parameters are tuned by cross-validation on
the labels as they are, wrong ones included.
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

from eosparse.comparison.peers.registry import Task, register
from eosparse.core import FloatArray
from eosparse.estimators import EOSClassifier, SPAClassifier


def make_logistic(C: float = 1.0) -> Any:
    """Return logistic regression on standardised columns."""
    # More iterations than by default, so that weak penalties converge too.
    return make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=500))


def make_forest() -> Any:
    """Return a random forest."""
    return RandomForestClassifier(50, random_state=0)


def make_boosting() -> Any:
    """Return boosted trees."""
    # Few bins: with more distinct values than bins, weighted binning takes seconds per fit.
    return HistGradientBoostingClassifier(max_bins=32, random_state=0)


def make_network() -> Any:
    """Return a neural network with one hidden layer."""
    # Newton-like steps: on a few hundred rows, stochastic ones stop too early or too late.
    steps = MLPClassifier((32,), solver="lbfgs", max_iter=200, random_state=0)
    return make_pipeline(StandardScaler(), steps)


def tune(estimator: Any, **grid: Any) -> Any:
    """Return an estimator that tunes parameters by cross-validation on the given labels."""
    return GridSearchCV(estimator, grid, scoring=score_auc, cv=5, error_score="raise")


def make_clean_learning() -> Any:
    """Return cleanlab around logistic regression."""
    from cleanlab.classification import CleanLearning

    # One process: units run side by side already.
    return CleanLearning(make_logistic(), seed=0, find_label_issues_kwargs={"n_jobs": 1})


_C = tuple(np.logspace(-4, 1, 6))


def register_classifier(name: str, make: Callable[[], Any], needs: str = "sklearn") -> None:
    """Add a classifier to the registry.

    Examples
    --------
    >>> from eosparse.comparison.peers import PEERS
    >>> register_classifier("naive Bayes, again", GaussianNB)
    >>> PEERS.pop("naive Bayes, again").run()
    GaussianNB()
    """
    register(name, Task.CLASSIFY, needs)(make)


register_classifier("SPA", lambda: SPAClassifier(alpha=np.inf))
register_classifier("EOS+SPA", SPAClassifier)
register_classifier("LogReg", make_logistic)
register_classifier("EOS(LogReg)", lambda: EOSClassifier(make_logistic()))
register_classifier("LogReg, C by CV", lambda: tune(make_logistic(), logisticregression__C=_C))
register_classifier(
    "SVM, C by CV",
    lambda: tune(
        make_pipeline(StandardScaler(), SVC(random_state=0)), svc__C=(0.03, 0.1, 0.3, 1.0, 3.0)
    ),
)
register_classifier(
    "kNN, k by CV",
    lambda: tune(
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        kneighborsclassifier__n_neighbors=(5, 15, 31),
    ),
)
register_classifier("LDA", lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
register_classifier("naive Bayes", GaussianNB)
register_classifier("EOS(naive Bayes)", lambda: EOSClassifier(GaussianNB()))
register_classifier("LogReg, C=.01", lambda: make_logistic(0.01))
register_classifier("EOS(LogReg, C=.01)", lambda: EOSClassifier(make_logistic(0.01)))
register_classifier("forest", make_forest)
register_classifier("EOS(forest)", lambda: EOSClassifier(make_forest()))
register_classifier("boosting", make_boosting)
register_classifier("EOS(boosting)", lambda: EOSClassifier(make_boosting()))
register_classifier(
    "MLP, decay by CV", lambda: tune(make_network(), mlpclassifier__alpha=(0.1, 1.0, 10.0, 100.0))
)
register_classifier(
    "CleanLearning, C by CV",
    lambda: tune(make_clean_learning(), clf__logisticregression__C=(0.001, 0.01, 0.1, 1.0)),
    needs="cleanlab",
)

# Each of ours, and the same learner without EOS.
PLAIN = {
    "EOS+SPA": "SPA",
    "EOS(LogReg)": "LogReg",
    "EOS(LogReg, C=.01)": "LogReg, C=.01",
    "EOS(naive Bayes)": "naive Bayes",
    "EOS(forest)": "forest",
    "EOS(boosting)": "boosting",
}


def score_auc(model: Any, X: FloatArray, y: NDArray[np.int_]) -> float:
    """Return the area under the ROC curve; of several classes, each against the others.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> score_auc(GaussianNB().fit(X, y), X, y)
    1.0
    """
    probabilities = _predict_probabilities(model, X)
    if len(np.unique(y)) > 2:
        return float(roc_auc_score(y, probabilities, multi_class="ovr"))
    return float(roc_auc_score(y, probabilities[:, 1]))


def _predict_probabilities(model: Any, X: FloatArray) -> FloatArray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    values = np.asarray(model.decision_function(X))
    if values.ndim == 1:
        return np.column_stack([-values, values])
    return np.asarray(np.exp(values) / np.exp(values).sum(axis=1, keepdims=True))
