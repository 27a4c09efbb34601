"""Fit any scikit-learn estimator to weighted rows, and read class probabilities off it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from eosparse.core import FloatArray, IntArray
from eosparse.fitting.meta_input import last_step


def fit_weighted(estimator: Any, X: Any, y: Any, weights: FloatArray) -> Any:
    """Fit a clone; in a pipeline the weights reach every step that takes them.

    Weights of one need not be passed, and some learners are many times faster without.
    """
    learner = clone(estimator)
    parameters = weight_parameters(learner, weights) if (weights != 1.0).any() else {}
    with config_context(enable_metadata_routing=False):
        return learner.fit(X, y, **parameters)


def as_counts(weights: FloatArray, prior: FloatArray) -> FloatArray:
    """Scale weights to the sum of the prior; the prior itself comes back to the last bit."""
    share = prior / prior.sum()
    return prior if np.array_equal(weights, share) else weights * (prior.sum() / weights.sum())


def weight_parameters(estimator: Any, weights: FloatArray) -> dict[str, FloatArray]:
    """Return the fit parameters through which the weights reach an estimator.

    Raises
    ------
    ValueError
        If it, or the last step of a pipeline, takes no weights.
    """
    names = _weight_names(estimator)
    if not names:
        raise ValueError(
            f"{last_step(estimator).__class__.__name__} takes no sample_weight, so that EOS cannot "
            "weigh its rows. Choose an estimator whose fit has a sample_weight parameter."
        )
    return dict.fromkeys(names, weights)


def _weight_names(estimator: Any) -> list[str]:
    """Names under which fit takes weights; none if the last step takes none."""
    if isinstance(estimator, Pipeline):
        steps = [(name, step) for name, step in estimator.steps if hasattr(step, "fit")]
        names = {name: _weight_names(step) for name, step in steps}
        if not steps or not names[steps[-1][0]]:
            return []
        return [f"{name}__{inner}" for name, inners in names.items() for inner in inners]
    if has_fit_parameter(estimator, "sample_weight"):
        return ["sample_weight"]
    wrapped = _wrapped(estimator)
    inner_names = [_weight_names(inner) for inner in wrapped]
    return inner_names[0] if inner_names and all(inner_names) else []


def _wrapped(estimator: Any) -> list[Any]:
    """Return the estimators to which fit passes on what it is given."""
    if hasattr(estimator, "cv") and hasattr(estimator, "estimator"):  # searches
        return [estimator.estimator]
    if hasattr(estimator, "regressor"):
        return [estimator.regressor]
    members = getattr(estimator, "estimators", None)  # votes and stacks
    return [inner for _, inner in members] if isinstance(members, list) else []


def rows_of(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array, a data frame or a sparse matrix."""
    return _safe_indexing(X, rows)


def class_probabilities(learner: Any, X: Any, names: Any, loss: str = "auto") -> FloatArray:
    """Probabilities of the named classes, which are sorted; classes not seen get zero.

    Under the loss "margin", or where there are no probabilities, decision values stand for
    log-odds (two classes) or logarithms of odds against the others (more). A learner that only
    predicts is taken at its word.
    """
    probabilities = np.zeros((_length(X), len(names)))
    seen = np.searchsorted(names, learner.classes_)
    if loss != "margin" and hasattr(learner, "predict_proba"):
        probabilities[:, seen] = learner.predict_proba(X)
    elif hasattr(learner, "decision_function"):
        probabilities[:, seen] = _from_decisions(learner, X)
    else:
        predicted = np.searchsorted(names, learner.predict(X))
        probabilities[np.arange(len(probabilities)), predicted] = 1.0
    return probabilities


def _from_decisions(learner: Any, X: Any) -> FloatArray:
    values = np.asarray(learner.decision_function(X), dtype=np.float64)
    if values.ndim == 1:
        return np.column_stack([expit(-values), expit(values)])
    if getattr(last_step(learner), "decision_function_shape", "ovr") == "ovo":
        raise ValueError(
            f"{last_step(learner).__class__.__name__} has one decision value per pair of classes. "
            "Set decision_function_shape='ovr'."
        )
    probabilities: FloatArray = softmax(values, axis=1)
    return probabilities


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
