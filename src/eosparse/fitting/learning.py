"""Any learner under weights: what classification and regression share.

A learner is fitted to weighted rows, and the rows are judged by it: by the learner itself, or fold
by fold by one that did not see them. `start_learning` decides which and fits the unweighted
learner; `learn` alternates weights and fits; `Learned` has the learner of the last weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal

import numpy as np

from eosparse.core import FloatArray, IntArray, Result, Rows, Status, Strata, alternate
from eosparse.fitting.binning import bin_columns
from eosparse.fitting.folds import assign_folds, split_by_fold
from eosparse.fitting.meta_input import take_rows
from eosparse.fitting.notices import warn_of_early_end
from eosparse.fitting.weighted_fit import fit_weighted, scale_to_counts
from eosparse.models import LearnerModel
from eosparse.models.learner import Fit

# Passes over held-out rows, each of which costs one fit per fold. The first weighs the rows by the
# unweighted learner, the second by one that is fitted to weighted rows.
_PASSES_OUT_OF_FOLD = 2


@dataclass(frozen=True)
class LearningOptions:
    """Parameters that `EOSClassifier` and `EOSRegressor` have in common.

    Attributes
    ----------
    alpha : float or "auto"
        Regularisation, in units of the loss; infinity gives all rows equal weight.
    out_of_fold : bool or "auto"
        Whether rows are judged by a learner that did not see them.
    n_folds : int
        Number of folds.
    tol : float
        Stop when the objective falls by no more than this.
    max_iter : int or None
        Maximum number of passes over the rows.
    random_state : int, RandomState or None
        For the folds. None stands for 0.
    n_first_folds : int or None
        Number of folds of the unweighted learner; None for as many.

    Examples
    --------
    >>> LearningOptions("auto", True, n_folds=5, tol=1e-3, max_iter=None, random_state=0).alpha
    'auto'
    """

    alpha: float | Literal["auto"]
    out_of_fold: bool | Literal["auto"]
    n_folds: int
    tol: float
    max_iter: int | None
    random_state: int | np.random.RandomState | None
    n_first_folds: int | None = None


@dataclass
class LearningProblem(ABC, Generic[Fit]):
    """Rows, targets and prior weights, and a learner to be fitted to them.

    Attributes
    ----------
    estimator : estimator
        Cloned before each fit.
    X : array-like of shape (n_samples, n_features)
        The rows, as the estimator takes them.
    y : array of shape (n_samples,)
        The targets, as the estimator takes them.
    prior : array of shape (n_samples,)
        Prior weights, all positive.
    groups : array of shape (n_samples,) or None
        Rows with the same number are held out together.
    n_fits : int
        How often the estimator was fitted so far.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from eosparse.fitting.target_learning import TargetProblem
    >>> X = np.arange(6.0)[:, None]
    >>> problem = TargetProblem(LinearRegression(), X, X[:, 0], np.ones(6), loss="squared")
    >>> problem.fit(problem.equal_weights).predictions.round(3).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    >>> problem.fit(problem.equal_weights, folds=np.arange(6) % 3).predictions.round(3).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    >>> problem.n_fits  # one in sample, three folds
    4
    """

    estimator: Any
    X: Any
    y: Any
    prior: FloatArray
    groups: IntArray | None = field(default=None, kw_only=True)
    n_fits: int = field(default=0, init=False)

    # Passes in sample, each of which costs one fit.
    passes_in_sample: ClassVar[int]

    @property
    @abstractmethod
    def rows(self) -> Rows[IntArray] | Strata[IntArray]:
        """The rows by number, with one simplex or one per class."""

    @property
    @abstractmethod
    def strata(self) -> IntArray:
        """What is spread evenly over the folds, as a number for each row."""

    @property
    @abstractmethod
    def smallest_size(self) -> float:
        """Effective number of rows below which a solution counts as collapsed."""

    @abstractmethod
    def predict(self, learner: Any, X: Any, numbers: IntArray) -> tuple[FloatArray, ...]:
        """Return the predictions of a learner for some rows: arrays with one entry per row."""

    @abstractmethod
    def predict_by_default(self) -> tuple[FloatArray, ...]:
        """Return default predictions for all rows, used for those that no fold holds out."""

    @abstractmethod
    def judge(self, learner: Any, predicted: tuple[FloatArray, ...], weights: FloatArray) -> Fit:
        """Return the errors of all rows from what was predicted for them."""

    @abstractmethod
    def is_memorised(self, plain: Fit) -> bool:
        """Whether the unweighted learner reproduces the targets that it was fitted to."""

    @abstractmethod
    def weigh(self, errors: FloatArray, alpha: float) -> FloatArray:
        """Return the optimal weights."""

    @property
    def equal_weights(self) -> FloatArray:
        """Weights of the unweighted learner: the prior weights as shares."""
        shares: FloatArray = self.prior / self.prior.sum()
        return shares

    def fit(self, weights: FloatArray, folds: IntArray | None = None) -> Fit:
        """Fit the learner to weighted rows, in sample or for each fold, and judge all rows."""
        numbers = np.arange(len(self.prior))
        if folds is None:
            learner = self.fit_learner(weights)
            return self.judge(learner, self.predict(learner, self.X, numbers), weights)
        predicted = self.predict_by_default()
        for train, held_out in split_by_fold(folds):
            learner = self._fit_to(take_rows(self.rows_of_folds, train), train, weights)
            answers = self.predict(learner, take_rows(self.rows_of_folds, held_out), held_out)
            for whole, answer in zip(predicted, answers, strict=True):
                whole[held_out] = answer
        return self.judge(None, predicted, weights)

    @cached_property
    def rows_of_folds(self) -> Any:
        """The rows as the learners of the folds see them."""
        return bin_columns(self.estimator, self.X)

    def fit_learner(self, weights: FloatArray) -> Any:
        """Fit the estimator to all rows."""
        return self._fit_to(self.X, np.arange(len(self.prior)), weights)

    def _fit_to(self, X: Any, numbers: IntArray, weights: FloatArray) -> Any:
        """Fit the estimator to rows, given with their numbers; equal weights count as the prior."""
        self.n_fits += 1
        counts = scale_to_counts(weights, self.prior)[numbers]
        return fit_weighted(self.estimator, X, self.y[numbers], counts)


@dataclass(frozen=True)
class Learned(Generic[Fit]):
    """A learner under weights.

    Attributes
    ----------
    problem : LearningProblem
        Rows, targets and the learner.
    first : FittedLearner
        The fit of the unweighted learner.
    weights : array of shape (n_samples,)
        Weights of the rows, summing to one.
    alpha : float
        The alpha used.
    result : Result
        How the alternation went.
    folds : array of shape (n_samples,) or None
        Fold of each row; None if rows were not held out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from eosparse.fitting.target_learning import TargetProblem
    >>> X = np.arange(6.0)[:, None]
    >>> problem = TargetProblem(LinearRegression(), X, X[:, 0], np.ones(6), loss="squared")
    >>> start = problem.fit(problem.equal_weights)
    >>> result = learn(problem, start, None, np.inf, tol=1e-4, max_iter=2)
    >>> learned = Learned(problem, start, problem.equal_weights, np.inf, result, folds=None)
    >>> learned.estimator.coef_.round(3).tolist(), learned.is_out_of_fold
    ([1.0], False)
    """

    problem: LearningProblem[Fit]
    first: Fit
    weights: FloatArray
    alpha: float
    result: Result[Fit]
    folds: IntArray | None

    @cached_property
    def estimator(self) -> Any:
        """The learner of the last pass, or one that is fitted to all rows if rows were held out."""
        learner = self.last.learner
        return self.problem.fit_learner(self.weights) if learner is None else learner

    @property
    def is_out_of_fold(self) -> bool:
        """Whether rows were judged by learners that did not see them."""
        return self.folds is not None

    @property
    def last(self) -> Fit:
        """The fit by which the rows were judged last."""
        return self.result.theta

    @property
    def status(self) -> Status:
        """How the alternation ended; at an infinite alpha there is nothing to alternate."""
        return self.result.status if np.isfinite(self.alpha) else Status.CONVERGED


def start_learning(
    problem: LearningProblem[Fit],
    out_of_fold: bool | Literal["auto"],
    options: LearningOptions,
) -> tuple[Fit, IntArray | None]:
    """Fit the unweighted learner, and decide whether rows are held out.

    With "auto" they are if the learner reproduces the targets that it was fitted to: errors in
    sample would be zero, also those of wrong targets.

    Returns
    -------
    tuple of FittedLearner and (array or None)
        The first fit and the fold of each row of the next ones, or None if no row is held out.

    Examples
    --------
    A tree reproduces the targets that it was fitted to, so rows are held out.

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from eosparse.fitting.target_learning import TargetProblem
    >>> X = np.arange(6.0)[:, None]
    >>> problem = TargetProblem(DecisionTreeRegressor(), X, X[:, 0], np.ones(6), loss="squared")
    >>> options = LearningOptions("auto", "auto", 3, tol=1e-4, max_iter=None, random_state=0)
    >>> _, folds = start_learning(problem, options.out_of_fold, options)
    >>> np.bincount(folds).tolist()
    [2, 2, 2]
    """
    if out_of_fold == "auto" or not out_of_fold:
        plain = problem.fit(problem.equal_weights)
        if out_of_fold != "auto" or not problem.is_memorised(plain):
            return plain, None
    folds = _hold_out(problem, options.n_folds, options)
    if folds.max() < 1:
        what = "distinct rows" if problem.groups is None else "groups of rows"
        raise ValueError(
            f"X has too few {what}: none can be held out. Pass a number as alpha, and "
            "out_of_fold=False."
        )
    few = options.n_first_folds
    first = folds if few is None or few == options.n_folds else _hold_out(problem, few, options)
    return problem.fit(problem.equal_weights, first), folds


def _hold_out(problem: LearningProblem[Fit], n_folds: int, options: LearningOptions) -> IntArray:
    seed = 0 if options.random_state is None else options.random_state
    return assign_folds(problem.X, problem.strata, problem.prior, n_folds, seed, problem.groups)


def learn(
    problem: LearningProblem[Fit],
    start: Fit,
    folds: IntArray | None,
    alpha: float,
    *,
    tol: float,
    max_iter: int | None,
) -> Result[Fit]:
    """Alternate weights and fits from a first fit.

    Two passes over held-out rows are the default, not a failure: only a limit that the user set,
    or that of passes in sample, is worth a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from eosparse.fitting.target_learning import TargetProblem
    >>> X = np.arange(20.0)[:, None]
    >>> y = np.where(X[:, 0] == 3, 50.0, X[:, 0])
    >>> problem = TargetProblem(LinearRegression(), X, y, np.ones(20), loss="squared")
    >>> start = problem.fit(problem.equal_weights)
    >>> result = learn(problem, start, None, 3.0, tol=1e-4, max_iter=50)
    >>> result.theta.learner.coef_.round(3).tolist()
    [1.0]
    """
    passes = problem.passes_in_sample if folds is None else _PASSES_OUT_OF_FOLD
    limit = passes if max_iter is None else max_iter
    model = LearnerModel(
        lambda weights: problem.fit(weights, folds), len(problem.prior), problem.smallest_size
    )
    result = alternate(model, problem.rows, alpha, start, tol=tol, max_iter=limit)
    if np.isfinite(alpha) and (folds is None or max_iter is not None):
        warn_of_early_end(result, limit)
    return result
