"""`EOSClassifier`: any weighted classifier, with doubtful labels weighed down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from eosparse.core import (
    FloatArray,
    IntArray,
    Result,
    Rows,
    Status,
    Strata,
    alternate,
    check_alpha,
    check_choice,
    check_number,
    check_whole,
    warn_caller,
)
from eosparse.estimators.notebook import SummaryMixin, weights_summary
from eosparse.fitting.class_weights import grouped_weights, warn_of_lost_classes
from eosparse.fitting.folds import fold_numbers, splits
from eosparse.fitting.meta_input import check_labels, checked_prior, checked_rows, spread
from eosparse.fitting.notices import warn_unless_converged
from eosparse.fitting.spa_fit import Simplex
from eosparse.fitting.weighted_fit import (
    as_counts,
    class_probabilities,
    fit_weighted,
    rows_of,
    weight_parameters,
)
from eosparse.inference import LabelNoise, estimate_label_noise, mean_area
from eosparse.models import Fitted, LearnerModel, NumberedRows
from eosparse.rows import by_class

Loss = Callable[[Any, Any, Any], ArrayLike]
# A class without any support has this probability at least: one row must not decide everything.
_SMALLEST_PROBABILITY = 1e-3
# A learner that contradicts fewer of the labels it was fitted to has memorised them.
_MEMORISED = 0.005
# Passes over the rows: each costs a fit of the learner, or one per fold.
_PASSES_IN_SAMPLE, _PASSES_OUT_OF_FOLD = 10, 2


@dataclass(frozen=True)
class Prediction:
    """A learner (None if there is one per fold) and the probabilities that rows were judged by."""

    learner: Any
    probabilities: FloatArray


@dataclass(frozen=True)
class LabelledProblem:
    """Rows, given labels as numbers from 0, prior weights, and how a learner is judged on them."""

    estimator: Any
    loss: str | Loss
    X: Any
    classes: IntArray
    prior: FloatArray
    names: Any

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.names)

    def fit(self, weights: FloatArray) -> Fitted[Prediction]:
        """Fit one learner to all rows and judge them by it."""
        learner = self.learner(np.arange(len(self.classes)), weights)
        probabilities = class_probabilities(learner, self.X, self.names, self._kind)
        errors = self._errors(learner, self.X, self.classes, probabilities)
        return Fitted(Prediction(learner, probabilities), errors)

    def fit_out_of_fold(self, folds: IntArray, weights: FloatArray) -> Fitted[Prediction]:
        """Fit one learner per fold to the other rows, and judge its rows by it."""
        # Rows that are never held out, the only ones of their class, are taken at their word.
        probabilities = np.eye(self.n_classes)[self.classes]
        errors = np.zeros(len(self.classes))
        for train, test in splits(folds):
            learner, held_out = self.learner(train, weights), rows_of(self.X, test)
            probabilities[test] = class_probabilities(learner, held_out, self.names, self._kind)
            errors[test] = self._errors(learner, held_out, self.classes[test], probabilities[test])
        return Fitted(Prediction(None, probabilities), errors)

    def learner(self, rows: IntArray, weights: FloatArray) -> Any:
        """Fit the estimator to some rows; on average they count as by their prior weights."""
        some = self.X if len(rows) == len(self.classes) else rows_of(self.X, rows)
        counts = as_counts(weights, self.prior)[rows]
        return fit_weighted(self.estimator, some, self.names[self.classes[rows]], counts)

    @property
    def _kind(self) -> str:
        return "auto" if callable(self.loss) else self.loss

    def _errors(
        self, learner: Any, X: Any, classes: IntArray, probabilities: FloatArray
    ) -> FloatArray:
        if callable(self.loss):
            errors = np.asarray(self.loss(learner, X, self.names[classes]), dtype=np.float64)
            if errors.shape != classes.shape:
                raise ValueError(
                    f"loss returned an array of shape {errors.shape} for {len(classes)} rows: it "
                    "must return one error per row."
                )
            return errors
        own = probabilities[np.arange(len(classes)), classes]
        return -np.log(np.maximum(own, _SMALLEST_PROBABILITY))

    def rows(self, simplex: Simplex) -> Rows[IntArray] | Strata[IntArray]:
        """Return the rows as the loop wants them."""
        if simplex == "single":
            return NumberedRows(np.arange(len(self.classes)), self.prior)
        return by_class(lambda rows: NumberedRows(rows, self.prior[rows]), self.classes, self.prior)


def _inner_has(name: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        inner = getattr(self, "estimator_", None) or self._inner()
        getattr(inner, name)  # raises, with the inner estimator's own reason
        return True

    return check


class EOSClassifier(SummaryMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    r"""Fit a classifier while weighing down the rows whose labels it cannot believe.

    Entropic Outlier Sparsification minimises

    .. math::
        \sum_t w_t\, g_t(\theta) + \alpha \sum_t w_t \log w_t

    over the weights w and the classifier θ, where g is the loss of a row, by default minus the
    logarithm of the probability of its label: ``w ∝ exp(-g/α)`` alternates with a weighted fit.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier whose fit takes `sample_weight`, or a pipeline that ends in one. By default
        logistic regression on standardised columns.
    alpha : float or "auto", default="auto"
        Regularisation, in units of the loss. "auto" takes it from the share of wrong labels, which
        is estimated on held-out rows, and falls back to the plain classifier if the weights do
        not make held-out rows easier to predict.
    loss : "log", "margin", "auto" or callable, default="auto"
        "log" needs `predict_proba`, "margin" takes `decision_function` for log-odds, "auto" the
        first of these that the estimator has. A callable gets the fitted estimator, rows and
        labels and returns the error of each row, in units of minus a log-probability if alpha
        is "auto".
    simplex : {"per-class", "single"}, default="per-class"
        Whether each class keeps its share of the weight, or, as in the paper, all rows share one
        simplex, on which a class may be lost.
    out_of_fold : bool or "auto", default="auto"
        Whether a row is judged by a classifier that did not see it. Flexible learners memorise
        wrong labels and need it. "auto" does so where alpha is "auto", and where the plain
        classifier reproduces the labels it was fitted to.
    n_folds : int, default=3
        Number of folds.
    tol : float, default=1e-3
        Stop when the objective falls by no more than this.
    max_iter : int, optional
        Most passes over the rows. By default 10, and 2 with held-out rows, where each costs
        `n_folds` fits.
    random_state : int, RandomState or None, default=None
        For the folds. None stands for 0: a fit can always be repeated.

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
    alpha_ : float
        The alpha used; infinite if the plain classifier was kept.
    noise_rate_ : float
        Estimated share of wrong labels.
    class_noise_rates_ : ndarray of shape (n_classes,)
        The same among the rows given each class.
    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        Estimated chance that a row of each class (line) is given each label (column).
    probabilities_ : ndarray of shape (n_samples, n_classes)
        Class probabilities by which the rows were judged.
    is_out_of_fold_ : bool
        Whether those come from classifiers that did not see the row.
    objective_history_ : ndarray
        The objective after each pass, never rising.
    status_ : Status
        How the alternation ended. With held-out rows and `max_iter` left open it is usually
        "max_iter", by choice: two passes.
    n_iter_ : int
        Passes over the rows.
    n_fits_ : int
        How often the estimator was fitted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the input has names that are all strings.

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
    >>> y[:25] = 0  # a quarter of class 1 mislabelled
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
        loss: str | Loss = "auto",
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

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier and the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Whatever the estimator takes.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A weight of k equals the same row k times, 0 its absence.

        Returns
        -------
        EOSClassifier
            The fitted classifier.
        """
        self._check_parameters()
        problem, present, n_rows = self._problem(X, y, sample_weight)
        self.n_fits_ = 0
        start, folds = self._start(problem)
        noise = estimate_label_noise(start.learner.probabilities, problem.classes, problem.prior)
        alpha = noise.gap if self.alpha == "auto" else float(self.alpha)
        result = self._alternate(problem, start, folds, alpha)
        if self.alpha == "auto" and not _is_worth_it(problem, start, result):
            alpha = np.inf  # the plain classifier
            result = self._alternate(problem, start, folds, alpha, max_iter=1)
        last = result.theta
        weights = self._weights(problem, last.errors, alpha)
        self._keep(problem, alpha, result, last, noise)
        self._finish(problem, last, weights)
        self.weights_ = spread(weights, present, n_rows, 0.0)
        self.errors_ = spread(last.errors, present, n_rows, np.nan)
        self.probabilities_ = spread(last.learner.probabilities, present, n_rows, np.nan)
        return self

    def _problem(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[LabelledProblem, IntArray, int]:
        """Check the input; rows without prior weight are left out."""
        inner = self._inner()
        if not is_classifier(inner):
            raise ValueError(f"estimator={inner!r} must be a classifier.")
        weight_parameters(inner, np.ones(1))
        if y is None:
            raise ValueError("EOSClassifier requires y to be passed, but the target y is None.")
        X = checked_rows(self, X, inner, reset=True)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        check_labels(labels)
        check_classification_targets(labels)
        prior, n_rows = checked_prior(sample_weight, X), len(labels)
        present = np.flatnonzero(prior > 0)
        self.classes_, classes = np.unique(labels[present], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "y has one class only among the rows that count: EOSClassifier needs at least two "
                "classes."
            )
        _warn_of_single_members(classes, self.classes_)
        some = X if len(present) == n_rows else rows_of(X, present)
        self._check_loss(inner)
        return (
            LabelledProblem(inner, self.loss, some, classes, prior[present], self.classes_),
            present,
            n_rows,
        )

    def _start(self, problem: LabelledProblem) -> tuple[Fitted[Prediction], IntArray | None]:
        """Fit to equally weighted rows; folds are None where rows are judged in sample."""
        equal = problem.prior / problem.prior.sum()
        held_out = self.out_of_fold
        if held_out == "auto":
            held_out = self.alpha == "auto"
            if not held_out:
                fitted = self._counted(problem.fit, 1)(equal)
                wrong = fitted.learner.probabilities.argmax(axis=1) != problem.classes
                held_out = float(equal @ wrong) < _MEMORISED
                if not held_out:
                    return fitted, None
        if not held_out:
            return self._counted(problem.fit, 1)(equal), None
        seed = 0 if self.random_state is None else self.random_state
        folds = fold_numbers(problem.X, problem.classes, problem.prior, self.n_folds, seed)
        if folds.max() < 1:
            raise ValueError(
                "no two distinct rows of a class: none can be held out. Give alpha a number, and "
                "use out_of_fold=False."
            )
        return self._counted(_held_out_fit(problem, folds), int(folds.max()) + 1)(equal), folds

    def _alternate(
        self,
        problem: LabelledProblem,
        start: Fitted[Prediction],
        folds: IntArray | None,
        alpha: float,
        max_iter: int | None = None,
    ) -> Result[Fitted[Prediction]]:
        fit = self._counted(problem.fit, 1)
        if folds is not None:
            fit = self._counted(_held_out_fit(problem, folds), int(folds.max()) + 1)
        model = LearnerModel(fit, len(problem.classes), float(problem.n_classes))
        passes = _PASSES_IN_SAMPLE if folds is None else _PASSES_OUT_OF_FOLD
        wanted = max_iter or self.max_iter
        self.is_out_of_fold_ = folds is not None
        rows = problem.rows(self.simplex)
        result = alternate(model, rows, alpha, start, tol=self.tol, max_iter=wanted or passes)
        if max_iter is None and (folds is None or wanted is not None):
            warn_unless_converged(result, wanted or passes)
        return result

    def _counted(
        self, fit: Callable[[FloatArray], Fitted[Prediction]], n_fits: int
    ) -> Callable[[FloatArray], Fitted[Prediction]]:
        def counted(weights: FloatArray) -> Fitted[Prediction]:
            self.n_fits_ += n_fits
            return fit(weights)

        return counted

    def _weights(self, problem: LabelledProblem, errors: FloatArray, alpha: float) -> FloatArray:
        groups = problem.classes if self.simplex == "per-class" else None
        weights = grouped_weights(errors, alpha, problem.prior, groups)
        warn_of_lost_classes(weights, problem.classes, problem.prior, problem.names)
        return weights

    def _keep(
        self,
        problem: LabelledProblem,
        alpha: float,
        result: Result[Fitted[Prediction]],
        last: Fitted[Prediction],
        noise: LabelNoise,
    ) -> None:
        self.alpha_ = alpha
        self.status_ = result.status if np.isfinite(alpha) else Status.CONVERGED
        self.objective_history_ = np.array(result.objective_history)
        self.n_iter_ = result.n_iter
        if np.isfinite(alpha):
            # The weighted fit sees more clearly which labels are wrong.
            noise = estimate_label_noise(last.learner.probabilities, problem.classes, problem.prior)
        self.noise_rate_ = noise.rate
        self.class_noise_rates_ = noise.class_rates
        self.noise_matrix_ = noise.matrix

    def _finish(
        self, problem: LabelledProblem, last: Fitted[Prediction], weights: FloatArray
    ) -> None:
        """Keep the learner of the last pass, or fit one to all rows."""
        learner = last.learner.learner
        if learner is None:
            learner = self._counted(problem.fit, 1)(weights).learner.learner
        self.estimator_ = learner

    def _summary(self) -> list[tuple[str, str]]:
        return weights_summary(self)

    def predict(self, X: Any) -> Any:
        """Return the class of each row."""
        X = self._new(X)
        return self.estimator_.predict(X)

    @available_if(_inner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class."""
        X = self._new(X)
        return class_probabilities(self.estimator_, X, self.classes_)

    @available_if(_inner_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision values of the estimator."""
        X = self._new(X)
        values: FloatArray = self.estimator_.decision_function(X)
        return values

    def _new(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        return checked_rows(self, X, self.estimator_, reset=False)

    def _inner(self) -> Any:
        if self.estimator is None:
            return make_pipeline(StandardScaler(), LogisticRegression())
        return self.estimator

    def _check_loss(self, inner: Any) -> None:
        wanted = {"log": "predict_proba", "margin": "decision_function"}
        if callable(self.loss) or self.loss == "auto":
            return
        method = wanted[str(self.loss)]
        if not hasattr(inner, method):
            raise ValueError(
                f"loss={self.loss!r} needs {method}, which {inner.__class__.__name__} does not "
                "have. Choose the other one, 'auto', or a callable."
            )

    def _check_parameters(self) -> None:
        check_alpha(self.alpha)
        if not callable(self.loss):
            check_choice("loss", self.loss, ("auto", "log", "margin"))
        check_choice("simplex", self.simplex, ("per-class", "single"))
        if not isinstance(self.out_of_fold, (bool, np.bool_)):
            check_choice("out_of_fold", self.out_of_fold, ("auto",))
        check_whole("n_folds", self.n_folds, 2)
        check_number("tol", self.tol, "[0, inf)")
        check_whole("max_iter", self.max_iter, 1, words=(None,))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


def _held_out_fit(
    problem: LabelledProblem, folds: IntArray
) -> Callable[[FloatArray], Fitted[Prediction]]:
    return lambda weights: problem.fit_out_of_fold(folds, weights)


def _is_worth_it(
    problem: LabelledProblem, plain: Fitted[Prediction], result: Result[Fitted[Prediction]]
) -> bool:
    """Whether a weighted fit was kept, and left held-out rows as easy to tell apart."""
    if result.status is Status.COLLAPSED or result.theta is plain:
        return False
    weighted = result.theta
    before, after = (
        mean_area(fitted.learner.probabilities, problem.classes, problem.prior)
        for fitted in (plain, weighted)
    )
    return after >= before


def _warn_of_single_members(classes: IntArray, names: Any) -> None:
    for label in np.flatnonzero(np.bincount(classes) == 1):
        warn_caller(
            f"class {names.tolist()[label]!r} has one member: its label cannot be checked against "
            "others.",
            UserWarning,
        )
