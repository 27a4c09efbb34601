"""Fit any scikit-learn estimator to weighted rows, and get class probabilities from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples, has_fit_parameter

from eosparse.core import FloatArray
from eosparse.fitting.meta_input import get_last_step


def fit_weighted(estimator: Any, X: Any, y: Any, weights: FloatArray) -> Any:
    """Fit a clone of the estimator; in a pipeline the weights reach every step that takes them.

    Weights that are all one are not passed: some learners are many times faster without.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> X, weights = np.zeros((2, 1)), np.array([3.0, 1.0])
    >>> fit_weighted(DummyRegressor(), X, [0.0, 4.0], weights).predict(X).tolist()
    [1.0, 1.0]
    """
    learner = clone(estimator)
    parameters = route_weights(learner, weights) if (weights != 1.0).any() else {}
    with config_context(enable_metadata_routing=False):
        return learner.fit(X, y, **parameters)


def scale_to_counts(weights: FloatArray, prior: FloatArray) -> FloatArray:
    """Scale weights to the sum of the prior weights; their shares return the prior to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> scale_to_counts(np.array([0.25, 0.75]), np.ones(2)).tolist()
    [0.5, 1.5]
    """
    share = prior / prior.sum()
    return prior if np.array_equal(weights, share) else weights * (prior.sum() / weights.sum())


def route_weights(estimator: Any, weights: FloatArray) -> dict[str, FloatArray]:
    """Return the fit parameters through which the weights reach an estimator.

    Raises
    ------
    ValueError
        If the estimator, or the last step of a pipeline, takes no weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> list(route_weights(make_pipeline(StandardScaler(), Ridge()), np.ones(2)))
    ['standardscaler__sample_weight', 'ridge__sample_weight']
    """
    names = _list_weight_names(estimator)
    if not names:
        raise ValueError(
            f"{get_last_step(estimator).__class__.__name__} takes no sample_weight, so EOS cannot "
            "weigh its rows. Choose an estimator whose fit has a sample_weight parameter."
        )
    return dict.fromkeys(names, weights)


def _list_weight_names(estimator: Any) -> list[str]:
    """Return the names under which fit takes weights; none if the last step takes none."""
    if isinstance(estimator, Pipeline):
        steps = [(name, step) for name, step in estimator.steps if hasattr(step, "fit")]
        names = {name: _list_weight_names(step) for name, step in steps}
        if not steps or not names[steps[-1][0]]:
            return []
        return [f"{name}__{inner}" for name, inners in names.items() for inner in inners]
    if has_fit_parameter(estimator, "sample_weight"):
        return ["sample_weight"]
    inner_names = [_list_weight_names(inner) for inner in _list_wrapped(estimator)]
    return inner_names[0] if inner_names and all(inner_names) else []


def _list_wrapped(estimator: Any) -> list[Any]:
    """Return the estimators to which fit passes its parameters on."""
    if hasattr(estimator, "cv") and hasattr(estimator, "estimator"):  # searches
        return [estimator.estimator]
    if hasattr(estimator, "regressor"):
        return [estimator.regressor]
    members = getattr(estimator, "estimators", None)  # voting and stacking
    return [inner for _, inner in members] if isinstance(members, list) else []


def predict_probabilities(learner: Any, X: Any, names: Any, loss: str = "auto") -> FloatArray:
    """Return the probabilities of the named classes; classes that the learner never saw get zero.

    Under the loss "margin", or if the learner has no probabilities, decision values are taken as
    log-odds (two classes) or as logarithms of odds against the others (more). If the learner only
    predicts, the predicted class gets all the probability.

    Parameters
    ----------
    learner : classifier
        A fitted classifier.
    X : array-like of shape (n_samples, n_features)
        Rows.
    names : array of shape (n_classes,)
        The classes, sorted.
    loss : {"auto", "log", "margin"}, default="auto"
        "margin" prefers decision values.

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> X = np.zeros((2, 1))
    >>> learner = DummyClassifier(strategy="prior").fit(X, [0, 2])
    >>> predict_probabilities(learner, X, np.array([0, 1, 2])).tolist()
    [[0.5, 0.0, 0.5], [0.5, 0.0, 0.5]]
    """
    probabilities = np.zeros((_num_samples(X), len(names)))
    seen = np.searchsorted(names, learner.classes_)
    if loss != "margin" and hasattr(learner, "predict_proba"):
        probabilities[:, seen] = learner.predict_proba(X)
    elif hasattr(learner, "decision_function"):
        probabilities[:, seen] = _convert_decisions(learner, X)
    else:
        predicted = np.searchsorted(names, learner.predict(X))
        probabilities[np.arange(len(probabilities)), predicted] = 1.0
    return probabilities


def _convert_decisions(learner: Any, X: Any) -> FloatArray:
    """Turn decision values into probabilities."""
    values = np.asarray(learner.decision_function(X), dtype=np.float64)
    if values.ndim == 1:
        return np.column_stack([expit(-values), expit(values)])
    last = get_last_step(learner)
    if getattr(last, "decision_function_shape", "ovr") == "ovo":
        raise ValueError(
            f"{last.__class__.__name__} has one decision value per pair of classes. "
            "Set decision_function_shape='ovr'."
        )
    probabilities: FloatArray = softmax(values, axis=1)
    return probabilities
