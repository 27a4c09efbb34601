"""`EOSRegressor`: any regressor, with little weight on rows that it cannot explain."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import _check_y

from eosparse.core import FloatArray, check_choice, weighted_quantiles
from eosparse.estimators.detector import EOSDetector
from eosparse.estimators.weighted_learner import WeightedLearner
from eosparse.fitting.doubts import is_exact_fit
from eosparse.fitting.learning import Learned, LearningOptions
from eosparse.fitting.meta_input import (
    PresentRows,
    check_one_column,
    check_target_is_given,
    select_present_rows,
)
from eosparse.fitting.target_learning import (
    FittedRegressor,
    RegressorLoss,
    TargetProblem,
    estimate_outlier_share,
    estimate_scale,
    learn_targets,
)
from eosparse.fitting.whole_fit import fit_or_restore
from eosparse.models import least_absolute_residuals

# A robust start needs this many rows per column of the joint table: with fewer, its covariance says
# little.
_ROWS_PER_COLUMN = 5


@dataclass(frozen=True)
class LearnedTargets:
    """The rows that count, and what is learned from them."""

    rows: PresentRows
    problem: TargetProblem
    learned: Learned[FittedRegressor]

    @property
    def scale(self) -> float:
        """Standard deviation of the residuals of good rows, or their weighted mean loss."""
        return estimate_scale(self.problem, self.learned)

    @property
    def noise_rate(self) -> float:
        """Estimated share of wrong targets."""
        return estimate_outlier_share(self.problem, self.learned.last.predictions, self.scale)


class EOSRegressor(RegressorMixin, WeightedLearner):  # type: ignore[misc]  # sklearn has no types
    r"""Fit a regressor while rows that it cannot explain lose weight.

    Entropic Outlier Sparsification minimises

    .. math::
        \sum_t w_t h \left(\log s + \frac{e_t(\theta)}{s}\right) + (1 + \alpha) \sum_t w_t \log w_t

    over the weights w, the regressor θ and the scale s, where e is the loss of a row, with h = 1/2
    for squared residuals and h = 1 otherwise. The scale takes up one unit of the entropy: the
    weights are ``w ∝ exp(-g/α)``, where g is the loss at the scale σ of good rows, minus a
    log-density. For squared residuals g is ``(residual / scale_)² / 2``, and this is Welsch
    regression with a fitted scale. A target in other units gets the same weights.

    Parameters
    ----------
    estimator : regressor, optional
        Any regressor whose fit takes `sample_weight`, or a pipeline that ends in one. By default
        linear least squares.
    alpha : float or "auto", default="auto"
        Regularisation, in units of the loss g: a row whose loss is larger by alpha than that of
        another gets 1/e of its weight. ``np.inf`` gives the plain regressor.
        "auto" takes the alpha at which linear coefficients keep 85 % efficiency on clean Gaussian
        rows.
    loss : {"squared", "absolute"} or callable, default="squared"
        Loss e of a row. A callable receives targets and predictions and returns non-negative
        losses.
    out_of_fold : bool or "auto", default="auto"
        Whether a row is judged by a regressor that did not see it. Flexible learners memorise wrong
        targets and need this. "auto" does so if the plain regressor reproduces the targets it was
        fitted to.
    n_folds : int, default=5
        Number of folds.
    start : {"robust", "plain"}, default="robust"
        "robust" starts from the fit with the lowest median loss among three: to all rows, to the
        bulk of the joint table of rows and targets (one Gaussian), and to the half of the rows
        nearest to the plane of least absolute residuals. "plain" starts from the fit to all rows,
        which wrong rows far out in X, or many on one side, can mislead.
    tol : float, default=1e-4
        Stop when the objective falls by no more than this.
    max_iter : int, optional
        Maximum number of passes over the rows. By default 8, or 2 with held-out rows, where each
        pass costs `n_folds` fits.
    random_state : int, RandomState or None, default=None
        For the folds. None stands for 0, so that a fit can always be repeated.

    Attributes
    ----------
    estimator_ : regressor
        The regressor fitted to the weighted rows.
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    errors_ : ndarray of shape (n_samples,)
        Error of each row under the last fit, ``h (log s + e/s)`` up to a constant; NaN for rows
        without prior weight.
    predictions_ : ndarray of shape (n_samples,)
        Predictions by which the rows were judged.
    scale_ : float
        Standard deviation of the residuals of good rows (squared loss, corrected to be
        consistent on Gaussian residuals), or their weighted mean loss.
    alpha_ : float
        The alpha used.
    noise_rate_ : float
        Estimated share of wrong targets: those beyond what a Gaussian has outside its central
        99 %.
    is_out_of_fold_ : bool
        Whether rows were judged by regressors that did not see them.
    objective_history_ : ndarray
        The objective after each pass, never rising.
    status_ : Status
        How the alternation ended.
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
        loss: str | RegressorLoss = "squared",
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

    @fit_or_restore
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the regressor, the scale and the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, in any form that the estimator takes.
        y : array-like of shape (n_samples,)
            Targets, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A row of weight k counts as k equal rows, one of weight 0 is left out.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, such as those of one patient, are held out together.

        Returns
        -------
        EOSRegressor
            The fitted regressor.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSRegressor
        >>> X = np.arange(20.0)[:, None]
        >>> y = 2 * X[:, 0]
        >>> y[3] = 100.0
        >>> bool(EOSRegressor().fit(X, y).weights_[3] < 1e-6)
        True
        """
        return self._keep(self._learn(X, y, sample_weight, groups))

    def _learn(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> LearnedTargets:
        """Find the weights; the regressor of all rows is fitted when it is asked for."""
        options = self._check_parameters()
        inner = self._check_inner()
        check_target_is_given(self, y)
        targets = _check_y(check_one_column(y, warn=True), y_numeric=True, estimator=self)
        rows = select_present_rows(self, inner, X, targets, sample_weight, groups)
        present = targets.astype(np.float64)[rows.numbers]
        problem = TargetProblem(
            inner, rows.X, present, rows.prior, loss=self.loss, groups=rows.groups
        )
        starts = _find_robust_starts(problem) if self.start == "robust" else ()
        return LearnedTargets(rows, problem, learn_targets(problem, options, starts))

    def _keep(self, found: LearnedTargets) -> Self:
        """Set the fitted attributes."""
        rows, learned = found.rows, found.learned
        self.estimator_ = learned.estimator
        self.weights_ = rows.scatter(learned.weights, 0.0)
        self.errors_ = rows.scatter(learned.last.errors, np.nan)
        self.predictions_ = rows.scatter(learned.last.predictions, np.nan)
        self.alpha_ = learned.alpha
        self.scale_ = found.scale
        self.noise_rate_ = found.noise_rate
        self.is_out_of_fold_ = learned.is_out_of_fold
        self.objective_history_ = np.array(learned.result.objective_history)
        self.status_ = learned.status
        self.n_iter_ = learned.result.n_iter
        self.n_fits_ = found.problem.n_fits
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the prediction for each row.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSRegressor
        >>> X = np.arange(20.0)[:, None]
        >>> EOSRegressor().fit(X, 2 * X[:, 0]).predict([[50.0]]).round(3).tolist()
        [100.0]
        """
        X = self._check_new(X)
        predictions: FloatArray = self.estimator_.predict(X)
        return predictions

    def _inner(self) -> Any:
        return LinearRegression() if self.estimator is None else self.estimator

    def _check_parameters(self) -> LearningOptions:
        if not callable(self.loss):
            check_choice("loss", self.loss, ("squared", "absolute"))
        check_choice("start", self.start, ("robust", "plain"))
        return self._check_options()


def _find_robust_starts(problem: TargetProblem) -> Iterator[FloatArray]:
    """Yield weights of rows that may be right, if X is numeric and has enough rows.

    The bulk of the joint table is right even if other rows lie far out in X; the half nearest to a
    plane of least absolute residuals is right even if almost half of the targets are wrong.
    """
    try:
        values = np.asarray(problem.X, dtype=np.float64).reshape(len(problem.y), -1)
    except (TypeError, ValueError):
        return
    if problem.prior.sum() < _ROWS_PER_COLUMN * (values.shape[1] + 2):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these are starts, not answers
        # Rows without a joint covariance have no bulk.
        with suppress(ValueError):
            table = np.column_stack([values, problem.scaled])
            bulk = EOSDetector(model="gaussian").fit(table, sample_weight=problem.prior)
            if not is_exact_fit(bulk._judge.fit):  # most targets may be equal, and others right too
                yield bulk.weights_
        # The plane needs a value everywhere; a column without any says nothing.
        filled = np.where(np.isnan(values), np.nan_to_num(np.nanmedian(values, axis=0)), values)
        distances = least_absolute_residuals(filled, problem.scaled, problem.prior)
        yield problem.prior * (distances <= weighted_quantiles(distances, problem.prior, (0.5,)))
