r"""A regressor under weights: how targets are judged, with the scale of their residuals.

The error of a row with loss e is minus a log-density, ``g = h (log s + e/s)``: a Gaussian one for
squared residuals (h = 1/2), a Laplacian one for absolute residuals (h = 1). The scale s, the
weighted mean of e, is fitted as well, so another unit of the target shifts all errors alike and
changes no weight.

What alpha means
    The weights are ``exp(-g / (1 + α))``. They shrink the scale: if σ is that of e among all rows
    that belong, then s = σ α / (1 + α) for both densities. So the weights are
    ``exp(-(h e / σ) / α)``: as in a classifier, α is in units of minus the log-likelihood of a
    row, taken at the scale σ. At any α > 0 the scale stays positive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from eosparse.core import FloatArray, IntArray, optimal_weights, weighted_quantiles
from eosparse.fitting.learning import (
    Learned,
    LearningOptions,
    LearningProblem,
    learn,
    start_learning,
)
from eosparse.fitting.meta_input import get_last_step
from eosparse.models import FittedLearner, NumberedRows, coupling_for_efficiency

RegressorLoss = Callable[[FloatArray, FloatArray], ArrayLike]
# Efficiency of linear coefficients on clean Gaussian rows, relative to least squares, behind
# alpha="auto": a little below Huber's and Tukey's customary 0.95, for less bias with many outliers.
_AUTO_EFFICIENCY = 0.85
# A regressor that leaves less of the variance unexplained has memorised the targets.
_MEMORISED = 1e-3
# The smallest scale, relative to that of a constant prediction: rounding of the targets, squared.
_SMALLEST_SCALE = 1e-24
# Targets of a smaller spread, or one larger than its reciprocal, have squares that fit no float.
_LEAST_SPREAD = 1e-100
# Keeps quotients finite if all targets are equal.
_TINY = 1e-290
# Rounds in which the scale settles, and the part of it by which it may still change.
_MOST_ROUNDS, _SETTLED = 100, 1e-6
# Part of a Gaussian that lies beyond the residuals that count as outlying.
_TAILS = 0.01


@dataclass(frozen=True)
class FittedRegressor(FittedLearner):
    """A regressor, the errors of all rows, its predictions, their losses and the scale of these."""

    predictions: FloatArray
    losses: FloatArray
    scale: float


@dataclass
class TargetProblem(LearningProblem[FittedRegressor]):
    """Rows with numeric targets, judged by a loss and its fitted scale.

    Attributes
    ----------
    estimator, X, y, prior, n_fits
        As in `LearningProblem`.
    loss : {"squared", "absolute"} or callable
        As in `EOSRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.arange(4.0)[:, None]
    >>> y = np.array([0.0, 1.0, 2.0, 5.0])
    >>> problem = TargetProblem(LinearRegression(), X, y, np.ones(4), loss="squared")
    >>> round(problem.fit(problem.equal_weights).scale, 3)  # the mean squared residual
    0.3
    """

    loss: str | RegressorLoss

    @cached_property
    def unit(self) -> float:
        """Unit of residuals: one, or a power of two near a spread whose square fits no float."""
        middle = float(weighted_quantiles(self.y, self.prior, (0.5,))[0])
        with np.errstate(over="ignore"):
            away = np.abs(self.y / 4 - middle / 4)  # a difference may overflow
        spread = 4.0 * float(weighted_quantiles(away, self.prior, (0.75,))[0]) or 4.0 * away.max()
        if callable(self.loss) or spread == 0.0 or _LEAST_SPREAD < spread < 1 / _LEAST_SPREAD:
            return 1.0
        return float(np.ldexp(1.0, int(np.clip(np.frexp(spread)[1], -1022, 1023))))

    @cached_property
    def scaled(self) -> FloatArray:
        """The targets in that unit."""
        return np.asarray(self.y / self.unit)

    # In sample the weights usually settle within a few passes; each costs a fit.
    passes_in_sample: ClassVar[int] = 8

    @property
    def rows(self) -> NumberedRows:
        """The rows by number, on one simplex."""
        return NumberedRows(np.arange(len(self.prior)), self.prior)

    @property
    def strata(self) -> IntArray:
        """There are no classes: one group."""
        return np.zeros(len(self.prior), dtype=np.intp)

    @property
    def smallest_size(self) -> float:
        """A scale needs two rows."""
        return 2.0

    def predict(self, learner: Any, X: Any, numbers: IntArray) -> tuple[FloatArray]:
        """Return the predictions."""
        predictions = np.asarray(learner.predict(X), dtype=np.float64).reshape(len(numbers))
        if not np.isfinite(predictions).all():
            place = int(np.flatnonzero(~np.isfinite(predictions))[0])
            raise ValueError(
                f"{get_last_step(learner).__class__.__name__} predicts {predictions[place]} for "
                f"row {numbers[place]}: numbers of X or y are too large or too small for it. Scale "
                "them."
            )
        return (predictions,)

    def predict_by_default(self) -> tuple[FloatArray]:
        """Return zeros: every row is held out."""
        return (np.zeros(len(self.prior)),)

    def judge(
        self, learner: Any, predicted: tuple[FloatArray, ...], weights: FloatArray
    ) -> FittedRegressor:
        """Return the losses, their weighted mean as the scale, and the errors."""
        (predictions,) = predicted
        losses = self._compute_losses(predictions)
        scale = max(float(weights @ losses / weights.sum()), _SMALLEST_SCALE * self._typical_loss)
        height = 0.5 if self.loss == "squared" else 1.0
        errors = height * (np.log(scale / self._typical_loss) + losses / scale)
        return FittedRegressor(learner, errors, predictions, losses, scale)

    def is_memorised(self, plain: FittedRegressor) -> bool:
        """Whether an unweighted regressor that is not linear explains all of the variance."""
        if hasattr(get_last_step(plain.learner), "coef_"):
            return False
        equal = self.equal_weights
        residuals = self.scaled - plain.predictions / self.unit
        deviations = self.scaled - float(equal @ self.scaled)
        return float(equal @ residuals**2) < _MEMORISED * float(equal @ deviations**2)

    def weigh(self, errors: FloatArray, alpha: float) -> FloatArray:
        """Return the optimal weights."""
        return optimal_weights(errors, 1.0 + alpha, self.prior).weights

    @cached_property
    def _typical_loss(self) -> float:
        """Mean loss of a constant prediction: the unit of scales."""
        middle = float(self.prior @ self.scaled / self.prior.sum()) * self.unit
        losses = self._compute_losses(np.full_like(self.y, middle))
        return max(float(self.prior @ losses / self.prior.sum()), _TINY)

    def _compute_losses(self, predictions: FloatArray) -> FloatArray:
        if callable(self.loss):
            losses = np.asarray(self.loss(self.y, predictions), dtype=np.float64)
            if losses.shape != self.y.shape or not ((losses >= 0) & (losses < np.inf)).all():
                raise ValueError("loss must return one non-negative, finite number per row.")
            return losses
        residuals: FloatArray = self.scaled - predictions / self.unit
        return np.square(residuals) if self.loss == "squared" else np.abs(residuals)


def learn_targets(
    problem: TargetProblem, options: LearningOptions, starts: Iterable[FloatArray]
) -> Learned[FittedRegressor]:
    """Fit a regressor and the weights of its rows.

    The first fit is the unweighted one, or one to the weights of a robust start if its median loss
    is lower.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.arange(20.0)[:, None]
    >>> y = np.where(X[:, 0] == 3, 50.0, X[:, 0])
    >>> problem = TargetProblem(LinearRegression(), X, y, np.ones(20), loss="squared")
    >>> options = LearningOptions("auto", False, 5, tol=1e-4, max_iter=50, random_state=0)
    >>> learn_targets(problem, options, starts=()).estimator.coef_.round(3).tolist()
    [1.0]
    """
    alpha = _choose_alpha() if options.alpha == "auto" else float(options.alpha)
    plain, folds = start_learning(problem, options.out_of_fold, options)
    fits = [plain, *(problem.fit(weights, folds) for weights in starts)]
    start = min(
        fits, key=lambda fit: float(weighted_quantiles(fit.losses, problem.prior, (0.5,))[0])
    )
    passes: dict[str, Any] = {"tol": options.tol, "max_iter": options.max_iter}
    result = learn(problem, start, folds, 1.0 + alpha, **passes)
    if np.isinf(alpha) and result.theta is start is not plain:
        # The unweighted regressor is the answer, even if a robust start has the lower objective.
        result = learn(problem, plain, folds, alpha, **passes)
    weights = problem.weigh(result.theta.errors, alpha)
    return Learned(problem, plain, weights, alpha, result, folds)


def _choose_alpha() -> float:
    """Return the alpha at which linear coefficients keep the efficiency of "auto"."""
    return 1.0 / coupling_for_efficiency(_AUTO_EFFICIENCY, 1.0) - 1.0


def estimate_scale(problem: TargetProblem, learned: Learned[FittedRegressor]) -> float:
    """Return the standard deviation of good residuals (squared loss), or the weighted mean loss.

    The weights make squared residuals smaller than they are; on Gaussian residuals the correction
    is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.arange(4.0)[:, None]
    >>> y = np.array([0.0, 1.0, 2.0, 5.0])
    >>> problem = TargetProblem(LinearRegression(), X, y, np.ones(4), loss="squared")
    >>> options = LearningOptions(np.inf, False, 5, tol=1e-4, max_iter=5, random_state=0)
    >>> round(estimate_scale(problem, learn_targets(problem, options, starts=())), 3)
    0.548
    """
    scale = _settle_scale(problem, learned) if learned.is_out_of_fold else learned.last.scale
    if problem.loss != "squared":
        return scale * problem.unit
    kept = 1 - 1 / (1.0 + learned.alpha) or learned.alpha  # 1 + α may round to 1
    return float(np.sqrt(scale / kept)) * problem.unit


def _settle_scale(problem: TargetProblem, learned: Learned[FittedRegressor]) -> float:
    """Return the scale that suits the last predictions of held-out rows, without another fit.

    Two passes over held-out rows leave a scale that still depends on the start.
    """
    fitted = learned.last
    for _ in range(_MOST_ROUNDS):
        weights = problem.weigh(fitted.errors, learned.alpha)
        before, fitted = fitted, problem.judge(None, (fitted.predictions,), weights)
        if abs(fitted.scale - before.scale) <= _SETTLED * before.scale:
            break
    return fitted.scale


def estimate_outlier_share(problem: TargetProblem, predictions: FloatArray, scale: float) -> float:
    """Return the share of rows beyond those that a Gaussian has outside its central 99 %.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.arange(4.0)[:, None]
    >>> y = np.array([0.0, 1.0, 2.0, 5.0])
    >>> problem = TargetProblem(LinearRegression(), X, y, np.ones(4), loss="squared")
    >>> round(estimate_outlier_share(problem, predictions=X[:, 0], scale=0.5), 3)
    0.242
    """
    residuals = np.abs(problem.y - predictions)
    if problem.loss != "squared":
        median = weighted_quantiles(residuals, problem.prior, (0.5,))[0]
        scale = float(median / norm.ppf(0.75))
    is_beyond = residuals > norm.ppf(1 - _TAILS / 2) * scale
    share = float(problem.prior @ is_beyond / problem.prior.sum())
    return max((share - _TAILS) / (1 - _TAILS), 0.0)
