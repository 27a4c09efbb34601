"""Detectors that judge rows without estimating a covariance, used with their defaults."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from eosparse.comparison.peers.outcomes import Detection
from eosparse.comparison.peers.registry import Task, register
from eosparse.core import FloatArray


def make_isolation_forest(seed: int, **options: Any) -> Any:
    """Return scikit-learn's isolation forest, not fitted.

    Examples
    --------
    >>> make_isolation_forest(0, n_jobs=-1)
    IsolationForest(n_jobs=-1, random_state=0)
    """
    from sklearn.ensemble import IsolationForest

    return IsolationForest(random_state=seed, **options)


@register("isolation forest", Task.DETECT, needs="sklearn", is_random=True)
def _detect_by_isolation_forest(X: FloatArray, seed: int, **options: Any) -> Detection:
    model = make_isolation_forest(seed, **options).fit(X)
    scores = model.score_samples(X)
    return Detection(-scores, scores < model.offset_)


@register("LOF", Task.DETECT, needs="sklearn")
def _detect_by_lof(X: FloatArray, seed: int, **options: Any) -> Detection:  # noqa: ARG001
    from sklearn.neighbors import LocalOutlierFactor

    # 20 neighbours are scikit-learn's default, which smaller tables cannot provide.
    model = LocalOutlierFactor(n_neighbors=min(20, len(X) - 1), **options)
    flagged = model.fit_predict(X) == -1
    return Detection(-model.negative_outlier_factor_, flagged)


@register("one-class SVM", Task.DETECT, needs="sklearn")
def _detect_by_one_class_svm(X: FloatArray, seed: int, **options: Any) -> Detection:  # noqa: ARG001
    from sklearn.svm import OneClassSVM

    model = OneClassSVM(**options).fit(X)
    scores = model.decision_function(X)
    return Detection(-scores, scores < 0)


def _register_pyod(name: str, module: str, detector: str) -> None:
    """Add a detector of PyOD to the registry."""

    @register(name, Task.DETECT, needs="pyod")
    def detect(X: FloatArray, seed: int, **options: Any) -> Detection:  # noqa: ARG001
        model = getattr(import_module(f"pyod.models.{module}"), detector)(**options).fit(X)
        return Detection(np.asarray(model.decision_scores_), np.asarray(model.labels_) == 1)


for _name, _module in (("ECOD", "ecod"), ("COPOD", "copod"), ("HBOS", "hbos"), ("PCA", "pca")):
    _register_pyod(_name, _module, _name)
_register_pyod("kNN", "knn", "KNN")
