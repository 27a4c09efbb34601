"""A classifier under weights: how labels are judged, and which alpha suits them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core import FloatArray, IntArray, Result, Rows, Status, Strata
from eosparse.fitting.binning import bin_columns
from eosparse.fitting.class_weights import Simplex, warn_of_lost_classes, weigh_labelled_rows
from eosparse.fitting.learning import (
    Learned,
    LearningOptions,
    LearningProblem,
    learn,
    start_learning,
)
from eosparse.fitting.weighted_fit import predict_probabilities
from eosparse.inference import LabelNoise, compute_mean_auc, estimate_label_noise
from eosparse.models import FittedLearner, NumberedRows
from eosparse.rows import group_by_class

ClassifierLoss = Callable[[Any, Any, Any], ArrayLike]
# The smallest probability of a label, so that one row cannot decide everything: its error is at
# most 6.9.
_SMALLEST_PROBABILITY = 1e-3
# A learner that contradicts fewer of the labels it was fitted to has memorised them.
_MEMORISED = 0.005


@dataclass(frozen=True)
class FittedClassifier(FittedLearner):
    """A classifier, the errors of all labels, and the probabilities they were judged by."""

    probabilities: FloatArray


@dataclass
class LabelProblem(LearningProblem[FittedClassifier]):
    """Rows with labels; the error of a row is minus the log-probability of its label.

    Attributes
    ----------
    estimator, X, y, prior, n_fits
        As in `LearningProblem`.
    classes : array of shape (n_samples,)
        Class of each row, as a number from 0.
    names : array of shape (n_classes,)
        The classes.
    loss : {"auto", "log", "margin"} or callable
        As in `EOSClassifier`.
    simplex : {"per-class", "single"}
        Whether each class keeps its share of the weight.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, classes = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    >>> names = np.array(["low", "high"])
    >>> problem = LabelProblem(
    ...     LogisticRegression(), X, names[classes], np.ones(20),
    ...     classes=classes, names=names, loss="log", simplex="per-class",
    ... )
    >>> problem.smallest_size
    2.0
    """

    classes: IntArray
    names: Any
    loss: str | ClassifierLoss
    simplex: Simplex

    # In sample the weights usually settle within a few passes; each costs a fit.
    passes_in_sample: ClassVar[int] = 10

    @property
    def rows(self) -> Rows[IntArray] | Strata[IntArray]:
        """The rows by number, with one simplex or one per class."""
        if self.simplex == "single":
            return NumberedRows(np.arange(len(self.prior)), self.prior)
        return group_by_class(
            lambda numbers: NumberedRows(numbers, self.prior[numbers]), self.classes, self.prior
        )

    @property
    def strata(self) -> IntArray:
        """Every class is spread over all folds."""
        return self.classes

    @cached_property
    def rows_of_folds(self) -> Any:
        """The rows as the learners of the folds see them; a user's loss sees them as they are."""
        return self.X if callable(self.loss) else bin_columns(self.estimator, self.X)

    @property
    def smallest_size(self) -> float:
        """At least one row per class."""
        return float(len(self.names))

    def predict(self, learner: Any, X: Any, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the probabilities of the classes, and the error of the given label."""
        classes = self.classes[numbers]
        kind = "auto" if callable(self.loss) else self.loss
        probabilities = predict_probabilities(learner, X, self.names, kind)
        if not callable(self.loss):
            own = probabilities[np.arange(len(classes)), classes]
            return probabilities, -np.log(np.maximum(own, _SMALLEST_PROBABILITY))
        errors = np.asarray(self.loss(learner, X, self.names[classes]), dtype=np.float64)
        if errors.shape != classes.shape:
            raise ValueError(
                f"loss returned an array of shape {errors.shape} for {len(classes)} rows: it "
                "must return one error per row."
            )
        return probabilities, errors

    def predict_by_default(self) -> tuple[FloatArray, FloatArray]:
        """Believe the labels of rows that are never held out: the only ones of their class."""
        return np.eye(len(self.names))[self.classes], np.zeros(len(self.classes))

    def judge(
        self,
        learner: Any,
        predicted: tuple[FloatArray, ...],
        weights: FloatArray,  # noqa: ARG002  # signature of the base class
    ) -> FittedClassifier:
        """Return the errors as they were predicted."""
        probabilities, errors = predicted
        return FittedClassifier(learner, errors, probabilities)

    def is_memorised(self, plain: FittedClassifier) -> bool:
        """Whether the unweighted classifier contradicts hardly any label."""
        is_wrong = plain.probabilities.argmax(axis=1) != self.classes
        return float(self.equal_weights @ is_wrong) < _MEMORISED

    def weigh(self, errors: FloatArray, alpha: float) -> FloatArray:
        """Return the optimal weights, and warn if a class lost its weight."""
        weights = weigh_labelled_rows(errors, alpha, self.prior, self.classes, self.simplex)
        warn_of_lost_classes(weights, self.classes, self.prior, self.names)
        return weights

    def estimate_noise(self, fitted: FittedClassifier) -> LabelNoise:
        """Estimate how many labels are wrong from the probabilities of a fit."""
        return estimate_label_noise(fitted.probabilities, self.classes, self.prior)


def learn_labels(
    problem: LabelProblem, options: LearningOptions
) -> tuple[Learned[FittedClassifier], LabelNoise]:
    """Fit a classifier and the weights of its rows.

    With ``alpha="auto"`` rows are held out, alpha is the gap between the errors of right and wrong
    labels at the estimated noise rate, and the unweighted classifier is kept if the weights do not
    make held-out rows easier to predict.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, classes = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
    >>> classes[3] = 1  # a wrong label
    >>> problem = LabelProblem(
    ...     LogisticRegression(), X, classes, np.ones(40),
    ...     classes=classes, names=np.array([0, 1]), loss="log", simplex="per-class",
    ... )
    >>> options = LearningOptions(1.0, False, 3, tol=1e-3, max_iter=None, random_state=0)
    >>> learned, _ = learn_labels(problem, options)
    >>> bool(learned.weights[3] < 0.1 / 40)
    True
    """
    is_auto = options.alpha == "auto"
    out_of_fold = True if is_auto and options.out_of_fold == "auto" else options.out_of_fold
    start, folds = start_learning(problem, out_of_fold, options)
    noise = problem.estimate_noise(start)
    alpha = noise.gap if options.alpha == "auto" else float(options.alpha)
    result = learn(problem, start, folds, alpha, tol=options.tol, max_iter=options.max_iter)
    if is_auto and not _is_worth_it(problem, start, result):
        alpha = np.inf
        result = learn(problem, start, folds, alpha, tol=options.tol, max_iter=1)
    weights = problem.weigh(result.theta.errors, alpha)
    if np.isfinite(alpha):
        # The weighted fit shows more clearly which labels are wrong.
        noise = problem.estimate_noise(result.theta)
    return Learned(problem, start, weights, alpha, result, folds), noise


def _is_worth_it(
    problem: LabelProblem, plain: FittedClassifier, result: Result[FittedClassifier]
) -> bool:
    """Whether a weighted fit was kept that ranks the labels at least as well as the plain one."""
    if result.status is Status.COLLAPSED or result.theta is plain:
        return False
    before, after = (
        compute_mean_auc(fitted.probabilities, problem.classes, problem.prior)
        for fitted in (plain, result.theta)
    )
    return after >= before
