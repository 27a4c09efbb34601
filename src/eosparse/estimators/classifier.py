"""`EOSClassifier`: any classifier, with little weight on doubtful labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from eosparse.core import FloatArray, IntArray, check_choice, warn_caller
from eosparse.estimators.weighted_learner import WeightedLearner
from eosparse.fitting.class_weights import SIMPLEXES, Simplex
from eosparse.fitting.label_learning import (
    ClassifierLoss,
    FittedClassifier,
    LabelProblem,
    learn_labels,
)
from eosparse.fitting.learning import Learned, LearningOptions
from eosparse.fitting.meta_input import PresentRows, check_labels, select_present_rows
from eosparse.fitting.weighted_fit import predict_probabilities
from eosparse.fitting.whole_fit import fit_or_restore
from eosparse.inference import LabelNoise


@dataclass(frozen=True)
class LearnedLabels:
    """The rows that count, what is learned from them, and how many labels seem to be wrong."""

    rows: PresentRows
    problem: LabelProblem
    learned: Learned[FittedClassifier]
    noise: LabelNoise


def _inner_has(name: str) -> Callable[[Any], bool]:
    """Return a check for `available_if`: whether the inner estimator has a method."""

    def check(self: Any) -> bool:
        inner = getattr(self, "estimator_", None) or self._inner()
        getattr(inner, name)  # raises, with the inner estimator's own reason
        return True

    return check


class EOSClassifier(ClassifierMixin, WeightedLearner):  # type: ignore[misc]  # sklearn has no types
    r"""Fit a classifier while rows with doubtful labels lose weight.

    Entropic Outlier Sparsification minimises

    .. math::
        \sum_t w_t\, g_t(\theta) + \alpha \sum_t w_t \log w_t

    over the weights w and the classifier θ. The loss g of a row is by default minus the logarithm
    of the probability of its label. The weights ``w ∝ exp(-g/α)`` alternate with a weighted fit.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier whose fit takes `sample_weight`, or a pipeline that ends in one. By default
        logistic regression on standardised columns.
    alpha : float or "auto", default="auto"
        Regularisation, in units of the loss: a row whose loss is larger by alpha than that of
        another gets 1/e of its weight. ``np.inf`` gives the plain classifier.
        "auto" takes alpha from the share of wrong labels, which is estimated on held-out rows, and
        keeps the plain classifier if the weights do not make held-out rows easier to predict.
    loss : "log", "margin", "auto" or callable, default="auto"
        "log" uses `predict_proba`; "margin" takes `decision_function` as log-odds; "auto" uses the
        first of these that the estimator has. A callable receives the fitted estimator, rows and
        labels and returns the error of each row, in units of minus a log-probability if alpha
        is "auto".
    simplex : {"per-class", "single"}, default="per-class"
        "per-class" keeps the share of each class in the weight. With "single" all rows share one
        simplex, as in the paper, and a class may lose all its weight.
    out_of_fold : bool or "auto", default="auto"
        Whether a row is judged by a classifier that did not see it. Flexible learners memorise
        wrong labels and need this. "auto" does so if alpha is "auto", or if the plain classifier
        reproduces the labels it was fitted to.
    n_folds : int, default=3
        Number of folds.
    tol : float, default=1e-3
        Stop when the objective falls by no more than this.
    max_iter : int, optional
        Maximum number of passes over the rows. By default 10, or 2 with held-out rows, where each
        pass costs `n_folds` fits.
    random_state : int, RandomState or None, default=None
        For the folds. None stands for 0, so that a fit can always be repeated.

    Attributes
    ----------
    estimator_ : classifier
        The classifier fitted to the weighted rows.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    errors_ : ndarray of shape (n_samples,)
        Error of each row under the last fit; NaN for rows without prior weight.
    probabilities_ : ndarray of shape (n_samples, n_classes)
        Class probabilities by which the rows were judged.
    alpha_ : float
        The alpha used; infinite if the plain classifier was kept.
    noise_rate_ : float
        Estimated share of wrong labels.
    class_noise_rates_ : ndarray of shape (n_classes,)
        The same among the rows given each class.
    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        Estimated chance that a row of each class (row of the matrix) is given each label (column).
    is_out_of_fold_ : bool
        Whether rows were judged by classifiers that did not see them.
    objective_history_ : ndarray
        The objective after each pass, never rising.
    status_ : Status
        How the alternation ended. With held-out rows and the default `max_iter` of two passes it
        is usually "max_iter".
    n_iter_ : int
        Passes over the rows.
    n_fits_ : int
        How often the estimator was fitted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input has names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from eosparse import EOSClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> X[:100] += 2.5
    >>> truth = np.repeat([1, 0], 100)
    >>> y = truth.copy()
    >>> y[:25] = 0  # a quarter of class 1 is mislabelled
    >>> forest = RandomForestClassifier(50, random_state=0)
    >>> robust = EOSClassifier(forest).fit(X, y)
    >>> round(robust.noise_rate_, 1)  # 25 of 200 are wrong
    0.1
    >>> bool(robust.weights_[:25].mean() < 0.8 * robust.weights_[25:].mean())
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        alpha: float | Literal["auto"] = "auto",
        *,
        loss: str | ClassifierLoss = "auto",
        simplex: Simplex = "per-class",
        out_of_fold: bool | Literal["auto"] = "auto",
        n_folds: int = 3,
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.loss = loss
        self.simplex = simplex
        self.out_of_fold = out_of_fold
        self.n_folds = n_folds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_or_restore
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier and the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, in any form that the estimator takes.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A row of weight k counts as k equal rows, one of weight 0 is left out.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, such as those of one patient, are held out together.

        Returns
        -------
        EOSClassifier
            The fitted classifier.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSClassifier
        >>> X = np.arange(20.0)[:, None]
        >>> EOSClassifier().fit(X, X[:, 0] > 9).predict([[3.0], [15.0]]).tolist()
        [False, True]
        """
        return self._keep(self._learn(X, y, sample_weight, groups))

    def _learn(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        n_first_folds: int | None = None,
    ) -> LearnedLabels:
        """Find the weights; the classifier of all rows is fitted when it is asked for."""
        options = replace(self._check_parameters(), n_first_folds=n_first_folds)
        inner, labels = self._check_inner(), check_labels(self, y)
        rows = select_present_rows(self, inner, X, labels, sample_weight, groups)
        names, classes = np.unique(labels[rows.numbers], return_inverse=True)
        _check_classes(classes, names)
        problem = LabelProblem(
            inner, rows.X, names[classes], rows.prior,
            classes=classes, names=names, loss=self.loss, simplex=self.simplex, groups=rows.groups,
        )  # fmt: skip
        return LearnedLabels(rows, problem, *learn_labels(problem, options))

    def _keep(self, found: LearnedLabels) -> Self:
        """Set the fitted attributes."""
        rows, learned, noise = found.rows, found.learned, found.noise
        self.classes_ = found.problem.names
        self.estimator_ = learned.estimator
        self.weights_ = rows.scatter(learned.weights, 0.0)
        self.errors_ = rows.scatter(learned.last.errors, np.nan)
        self.probabilities_ = rows.scatter(learned.last.probabilities, np.nan)
        self.alpha_ = learned.alpha
        self.noise_rate_ = noise.rate
        self.class_noise_rates_ = noise.class_rates
        self.noise_matrix_ = noise.matrix
        self.is_out_of_fold_ = learned.is_out_of_fold
        self.objective_history_ = np.array(learned.result.objective_history)
        self.status_ = learned.status
        self.n_iter_ = learned.result.n_iter
        self.n_fits_ = found.problem.n_fits
        return self

    def predict(self, X: Any) -> Any:
        """Return the class of each row.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSClassifier
        >>> X = np.arange(20.0)[:, None]
        >>> EOSClassifier().fit(X, X[:, 0] > 9).predict([[15.0]]).tolist()
        [True]
        """
        X = self._check_new(X)
        return self.estimator_.predict(X)

    @available_if(_inner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class; only if the estimator has `predict_proba`.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSClassifier
        >>> X = np.arange(20.0)[:, None]
        >>> EOSClassifier().fit(X, X[:, 0] > 9).predict_proba([[15.0]]).round().tolist()
        [[0.0, 1.0]]
        """
        X = self._check_new(X)
        return predict_probabilities(self.estimator_, X, self.classes_)

    @available_if(_inner_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values; only if the estimator has `decision_function`.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSClassifier
        >>> X = np.arange(20.0)[:, None]
        >>> bool(EOSClassifier().fit(X, X[:, 0] > 9).decision_function([[15.0]])[0] > 0)
        True
        """
        X = self._check_new(X)
        values: FloatArray = self.estimator_.decision_function(X)
        return values

    def _inner(self) -> Any:
        if self.estimator is None:
            return make_pipeline(StandardScaler(), LogisticRegression())
        return self.estimator

    def _check_parameters(self) -> LearningOptions:
        check_choice("simplex", self.simplex, SIMPLEXES)
        if not callable(self.loss):
            check_choice("loss", self.loss, ("auto", "log", "margin"))
            inner, needed = self._inner(), {"log": "predict_proba", "margin": "decision_function"}
            method = needed.get(self.loss)
            if method is not None and not hasattr(inner, method):
                raise ValueError(
                    f"loss={self.loss!r} needs {method}, which {inner.__class__.__name__} does not "
                    "have. Choose the other one, 'auto', or a callable."
                )
        return self._check_options()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def _check_classes(classes: IntArray, names: Any) -> None:
    """Raise unless there are two classes; warn of those with one member."""
    if len(names) < 2:
        raise ValueError(
            "y has one class only among the rows that count: EOSClassifier needs at least two "
            "classes."
        )
    for label in np.flatnonzero(np.bincount(classes) == 1):
        warn_caller(
            f"class {names.tolist()[label]!r} has one member: its label cannot be checked against "
            "others.",
            UserWarning,
        )
