"""`EOSRegressor`: any weighted regressor, with rows it cannot explain weighed down."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, is_regressor
from sklearn.linear_model import LinearRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    _check_y,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from eosparse.core import (
    FloatArray,
    IntArray,
    alternate,
    check_alpha,
    check_choice,
    check_number,
    check_whole,
    optimal_weights,
    weighted_quantiles,
)
from eosparse.estimators.detector import EOSDetector
from eosparse.estimators.notebook import SummaryMixin, weights_summary
from eosparse.fitting.folds import fold_numbers, splits
from eosparse.fitting.meta_input import checked_prior, checked_rows, last_step, spread
from eosparse.fitting.notices import warn_unless_converged
from eosparse.fitting.weighted_fit import as_counts, fit_weighted, rows_of, weight_parameters
from eosparse.models import (
    Fitted,
    LearnerModel,
    NumberedRows,
    coupling_for_efficiency,
    least_absolute_residuals,
)

Loss = Callable[[FloatArray, FloatArray], ArrayLike]
# Efficiency, relative to least squares on clean Gaussian rows, behind alpha="auto".
_AUTO_EFFICIENCY = 0.85
# A robust start needs this many rows per column of the joint table.
_ROWS_PER_COLUMN = 5
_MEMORISED = 1e-3
_PASSES_IN_SAMPLE, _PASSES_OUT_OF_FOLD = 8, 2


@dataclass(frozen=True)
class Regression:
    """A regressor (None if there is one per fold), its predictions, losses and their scale."""

    learner: Any
    predictions: FloatArray
    losses: FloatArray
    scale: float


@dataclass(frozen=True)
class TargetProblem:
    """Rows, targets, prior weights, and how a regressor is judged on them.

    The error of a row with loss e is ``g = h (log s + e/s)``, where the scale s is fitted too:
    minus a Gaussian log-density for squared residuals (h = 1/2), minus a Laplacian one for
    absolute ones (h = 1). Another unit of the target shifts all errors alike and changes no weight.
    """

    estimator: Any
    loss: str | Loss
    X: Any
    y: FloatArray
    prior: FloatArray

    @property
    def height(self) -> float:
        """The factor h."""
        return 0.5 if self.loss == "squared" else 1.0

    def fit(self, weights: FloatArray) -> Fitted[Regression]:
        """Fit one regressor to all rows and judge them by it."""
        learner = self._learner(np.arange(len(self.y)), weights)
        return self._judged(learner, np.asarray(learner.predict(self.X), np.float64), weights)

    def fit_out_of_fold(self, folds: IntArray, weights: FloatArray) -> Fitted[Regression]:
        """Fit one regressor per fold to the other rows, and judge its rows by it."""
        predictions = np.zeros(len(self.y))
        for train, test in splits(folds):
            learner = self._learner(train, weights)
            predictions[test] = learner.predict(rows_of(self.X, test))
        return self._judged(None, predictions, weights)

    def _learner(self, rows: IntArray, weights: FloatArray) -> Any:
        some = self.X if len(rows) == len(self.y) else rows_of(self.X, rows)
        return fit_weighted(
            self.estimator, some, self.y[rows], as_counts(weights, self.prior)[rows]
        )

    def _judged(
        self, learner: Any, predictions: FloatArray, weights: FloatArray
    ) -> Fitted[Regression]:
        losses = self._losses(predictions.reshape(len(self.y)))
        # Rows that are explained exactly leave no scale; rounding of the targets is the least.
        scale = max(float(weights @ losses / weights.sum()), 1e-24 * self._typical)
        errors = self.height * (np.log(scale / self._typical) + losses / scale)
        return Fitted(Regression(learner, predictions, losses, scale), errors)

    @cached_property
    def _typical(self) -> float:
        """Loss of a constant prediction: the unit in which scales are told."""
        middle = float(self.prior @ self.y / self.prior.sum())
        losses = self._losses(np.full_like(self.y, middle))
        return max(float(self.prior @ losses / self.prior.sum()), 1e-290)

    def _losses(self, predictions: FloatArray) -> FloatArray:
        if callable(self.loss):
            losses = np.asarray(self.loss(self.y, predictions), dtype=np.float64)
            if losses.shape != self.y.shape or not (losses >= 0).all():
                raise ValueError("loss must return one non-negative number per row.")
            return losses
        residuals = self.y - predictions
        return np.square(residuals) if self.loss == "squared" else np.abs(residuals)


class EOSRegressor(SummaryMixin, MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    r"""Fit a regressor while weighing down the rows that it cannot explain.

    Entropic Outlier Sparsification minimises

    .. math::
        \sum_t w_t h \left(\log s + \frac{e_t(\theta)}{s}\right) + (1 + \alpha) \sum_t w_t \log w_t

    over the weights w, the regressor θ and the scale s, where e is the loss of a row. With squared
    residuals this is Welsch regression whose scale is fitted along; α has no unit, and a target in
    other units gives the same weights.

    Parameters
    ----------
    estimator : regressor, optional
        Any regressor whose fit takes `sample_weight`, or a pipeline that ends in one. By default
        linear least squares.
    alpha : float or "auto", default="auto"
        Regularisation, in excess of the least at which the scale holds up: the entropy counts
        1 + α. "auto" takes the value at which linear coefficients keep 85 % efficiency on clean
        Gaussian rows.
    loss : {"squared", "absolute"} or callable, default="squared"
        Loss of a row; a callable gets targets and predictions and returns non-negative losses.
    out_of_fold : bool or "auto", default="auto"
        Whether a row is judged by a regressor that did not see it. "auto" does so where the plain
        regressor reproduces the targets it was fitted to.
    n_folds : int, default=5
        Number of folds.
    start : {"robust", "plain"}, default="robust"
        "robust" starts from the best of the plain fit, a fit to the bulk of the joint table of rows
        and targets (by `EOSDetector`), and a fit to the half of the rows nearest to the plane of
        least absolute residuals; the median loss decides. "plain" is fooled by wrong rows far out
        in X, or by many on one side.
    tol : float, default=1e-4
        Stop when the objective falls by no more than this.
    max_iter : int, optional
        Most passes over the rows. By default 8, and 2 with held-out rows.
    random_state : int, RandomState or None, default=None
        For the folds. None stands for 0: a fit can always be repeated.

    Attributes
    ----------
    estimator_ : regressor
        The regressor fitted to the weighted rows.
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    errors_ : ndarray of shape (n_samples,)
        Error of each row under the last fit; NaN for rows without prior weight.
    predictions_ : ndarray of shape (n_samples,)
        Predictions by which the rows were judged.
    scale_ : float
        Standard deviation of the residuals of the rows that belong (squared loss, corrected to be
        consistent on Gaussian residuals), or their weighted mean loss.
    noise_rate_ : float
        Estimated share of wrong targets: those beyond what a Gaussian has outside its central
        99 %.
    alpha_ : float
        The alpha used.
    is_out_of_fold_ : bool
        Whether rows were judged by regressors that did not see them.
    objective_history_ : ndarray
        The objective after each pass, never rising.
    status_ : Status
        How the alternation ended.
    n_iter_ : int
        Passes over the rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the input has names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X @ [1.0, -2.0] + 0.1 * rng.normal(size=200)
    >>> y[:60] += 20  # three tenths are wrong
    >>> EOSRegressor().fit(X, y).estimator_.coef_.round(1).tolist()
    [1.0, -2.0]
    """

    def __init__(
        self,
        estimator: Any = None,
        alpha: float | Literal["auto"] = "auto",
        *,
        loss: str | Loss = "squared",
        out_of_fold: bool | Literal["auto"] = "auto",
        n_folds: int = 5,
        start: Literal["robust", "plain"] = "robust",
        tol: float = 1e-4,
        max_iter: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.loss = loss
        self.out_of_fold = out_of_fold
        self.n_folds = n_folds
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the regressor, the scale and the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Whatever the estimator takes.
        y : array-like of shape (n_samples,)
            Targets, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A weight of k equals the same row k times, 0 its absence.

        Returns
        -------
        EOSRegressor
            The fitted regressor.
        """
        self._check_parameters()
        problem, present, n_rows = self._problem(X, y, sample_weight)
        coupling = coupling_for_efficiency(_AUTO_EFFICIENCY, 1.0)
        self.alpha_ = 1.0 / coupling - 1.0 if self.alpha == "auto" else float(self.alpha)
        entropic = 1.0 + self.alpha_
        fit, start = self._start(problem)
        passes = _PASSES_OUT_OF_FOLD if self.is_out_of_fold_ else _PASSES_IN_SAMPLE
        max_iter = passes if self.max_iter is None else self.max_iter
        model = LearnerModel(fit, len(problem.y))
        rows = NumberedRows(np.arange(len(problem.y)), problem.prior)
        result = alternate(model, rows, entropic, start, tol=self.tol, max_iter=max_iter)
        if not self.is_out_of_fold_ or self.max_iter is not None:
            warn_unless_converged(result, max_iter)
        last = result.theta
        weights = optimal_weights(last.errors, entropic, problem.prior).weights
        learner = last.learner.learner
        self.estimator_ = problem.fit(weights).learner.learner if learner is None else learner
        self.scale_ = _corrected_scale(problem, last.learner.scale, entropic)
        self.noise_rate_ = _share_of_outliers(problem, last.learner.predictions, self.scale_)
        self.objective_history_ = np.array(result.objective_history)
        self.status_, self.n_iter_ = result.status, result.n_iter
        self.weights_ = spread(weights, present, n_rows, 0.0)
        self.errors_ = spread(last.errors, present, n_rows, np.nan)
        self.predictions_ = spread(last.learner.predictions, present, n_rows, np.nan)
        return self

    def _problem(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[TargetProblem, IntArray, int]:
        """Check the input; rows without prior weight are left out."""
        inner = self._inner()
        if not is_regressor(inner):
            raise ValueError(f"estimator={inner!r} must be a regressor.")
        weight_parameters(inner, np.ones(1))
        if y is None:
            raise ValueError("EOSRegressor requires y to be passed, but the target y is None.")
        X = checked_rows(self, X, inner, reset=True)
        targets = _check_y(column_or_1d(y, warn=True), y_numeric=True, estimator=self)
        targets = targets.astype(np.float64)
        check_consistent_length(X, targets)
        prior = checked_prior(sample_weight, X)
        present = np.flatnonzero(prior > 0)
        some = X if len(present) == len(prior) else rows_of(X, present)
        problem = TargetProblem(inner, self.loss, some, targets[present], prior[present])
        return problem, present, len(prior)

    def _start(
        self, problem: TargetProblem
    ) -> tuple[Callable[[FloatArray], Fitted[Regression]], Fitted[Regression]]:
        """Return how to fit weighted rows, and the better of the first fits."""
        self.is_out_of_fold_ = self.out_of_fold is True
        equal = problem.prior / problem.prior.sum()
        if self.out_of_fold == "auto":
            plain = self._unless_exact(problem, equal)
            if plain is not None:
                return problem.fit, self._better(problem, problem.fit, plain)
            self.is_out_of_fold_ = True
        fit = problem.fit
        if self.is_out_of_fold_:
            seed = 0 if self.random_state is None else self.random_state
            all_one = np.zeros(len(problem.y), dtype=np.intp)
            folds = fold_numbers(problem.X, all_one, problem.prior, self.n_folds, seed)
            if folds.max() < 1:
                raise ValueError("all rows of X are equal: none can be held out.")

            def fit(weights: FloatArray) -> Fitted[Regression]:
                return problem.fit_out_of_fold(folds, weights)

        return fit, self._better(problem, fit, fit(equal))

    def _unless_exact(self, problem: TargetProblem, equal: FloatArray) -> Fitted[Regression] | None:
        """Return the plain fit, or None if it reproduces the targets."""
        plain = problem.fit(equal)
        residuals = problem.y - plain.learner.predictions
        spread = problem.y - float(equal @ problem.y)
        explained = float(equal @ residuals**2) < _MEMORISED * float(equal @ spread**2)
        is_linear = hasattr(last_step(plain.learner.learner), "coef_")
        return None if explained and not is_linear else plain

    def _better(
        self,
        problem: TargetProblem,
        fit: Callable[[FloatArray], Fitted[Regression]],
        plain: Fitted[Regression],
    ) -> Fitted[Regression]:
        """Return the plain fit, or one to a robust choice of rows if its median loss is lower."""
        choices = _robust_choices(problem) if self.start == "robust" else ()
        fits = [plain, *(fit(weights) for weights in choices)]
        return min(fits, key=lambda fitted: _median_loss(fitted, problem.prior))

    def _summary(self) -> list[tuple[str, str]]:
        return weights_summary(self)

    def predict(self, X: Any) -> FloatArray:
        """Return the prediction for each row."""
        check_is_fitted(self, "estimator_")
        predictions: FloatArray = self.estimator_.predict(
            checked_rows(self, X, self.estimator_, reset=False)
        )
        return predictions

    def _inner(self) -> Any:
        return LinearRegression() if self.estimator is None else self.estimator

    def _check_parameters(self) -> None:
        check_alpha(self.alpha)
        if not callable(self.loss):
            check_choice("loss", self.loss, ("squared", "absolute"))
        if not isinstance(self.out_of_fold, (bool, np.bool_)):
            check_choice("out_of_fold", self.out_of_fold, ("auto",))
        check_choice("start", self.start, ("robust", "plain"))
        check_whole("n_folds", self.n_folds, 2)
        check_number("tol", self.tol, "[0, inf)")
        check_whole("max_iter", self.max_iter, 1, words=(None,))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._inner()).input_tags
        return tags


def _robust_choices(problem: TargetProblem) -> Iterator[FloatArray]:
    """Weights of rows that may be right, where X is made of numbers and has rows enough.

    Rows in the bulk of the joint table are right though others lie far out in X; the half nearest
    to a plane of least absolute residuals is right though almost half of the targets are not.
    """
    try:
        values = np.asarray(problem.X, dtype=np.float64).reshape(len(problem.y), -1)
    except (TypeError, ValueError):
        return
    if problem.prior.sum() < _ROWS_PER_COLUMN * (values.shape[1] + 2):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # starts, not answers
        # Rows that have no joint covariance have no bulk.
        with suppress(ValueError):
            table = np.column_stack([values, problem.y])
            yield EOSDetector().fit(table, sample_weight=problem.prior).weights_
        distances = least_absolute_residuals(values, problem.y, problem.prior)
        yield problem.prior * (distances <= weighted_quantiles(distances, problem.prior, (0.5,)))


def _median_loss(fitted: Fitted[Regression], prior: FloatArray) -> float:
    return float(weighted_quantiles(fitted.learner.losses, prior, (0.5,))[0])


def _corrected_scale(problem: TargetProblem, scale: float, alpha: float) -> float:
    if problem.loss != "squared":
        return scale
    return float(np.sqrt(scale / (1 - 1 / alpha)))


def _share_of_outliers(problem: TargetProblem, predictions: FloatArray, scale: float) -> float:
    residuals = np.abs(problem.y - predictions)
    if problem.loss != "squared":
        median = weighted_quantiles(residuals, problem.prior, (0.5,))[0]
        scale = float(median / norm.ppf(0.75))
    beyond = residuals > norm.ppf(0.995) * scale
    share = float(problem.prior @ beyond / problem.prior.sum())
    return max((share - 0.01) / 0.99, 0.0)
