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
            f"{_last(estimator).__class__.__name__} takes no sample_weight, so that EOS cannot "
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
    # Searches pass what they are given on to the estimator they wrap.
    wrapped = getattr(estimator, "estimator", None)
    is_search = wrapped is not None and hasattr(estimator, "cv")
    return _weight_names(wrapped) if is_search else []


def _last(estimator: Any) -> Any:
    return _last(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def rows_of(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array, a data frame or a sparse matrix."""
    return _safe_indexing(X, rows)


def class_probabilities(learner: Any, X: Any, n_classes: int) -> FloatArray:
    """Probabilities of the classes 0 to n_classes-1, from the best that the learner offers.

    Where there are no probabilities, decision values stand for log-odds (two classes) or for
    logarithms of odds against the others (more); a learner that only predicts is taken at its
    word. Classes that it has not seen get zero.
    """
    probabilities = np.zeros((_length(X), n_classes))
    seen = np.asarray(learner.classes_, dtype=np.intp)
    if hasattr(learner, "predict_proba"):
        probabilities[:, seen] = learner.predict_proba(X)
    elif hasattr(learner, "decision_function"):
        values = np.asarray(learner.decision_function(X), dtype=np.float64)
        if values.ndim == 1:
            values = np.column_stack([expit(-values), expit(values)])
            probabilities[:, seen] = values
        else:
            probabilities[:, seen] = softmax(values, axis=1)
    else:
        probabilities[np.arange(len(probabilities)), np.asarray(learner.predict(X), int)] = 1.0
    return probabilities


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
