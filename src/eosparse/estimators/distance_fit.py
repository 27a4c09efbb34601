"""Fits whose error is a squared distance, to a centre or a subspace: α, starts, law and flags.

On rows that scatter around it like a Gaussian in p directions with variance σ², the error is σ²χ²_p
and the weights are ``w ∝ exp(-c'm/2)`` with m = g/σ² and ``c' = 2σ²/α``. The equations for the
location then are an M-estimator with ψ(r) = r exp(-c'|r|²/2), whose efficiency is

    (E ψ')² / E ψ² = ((1+2c') / (1+c')²)^(p/2+1) = (1-c²)^(p/2+1),    c = c'/(1+c'),

the same as that of the Gaussian error. A wanted efficiency gives c, and **α = 2σ²(1-c)/c**.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from scipy.stats import chi2
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eosparse.core import (
    ErrorModel,
    FloatArray,
    Result,
    Status,
    alternate,
    optimal_weights,
)
from eosparse.errors import (
    Moments,
    coupling_for_efficiency,
    squared_distances,
    weighted_moments,
    weighted_quantiles,
)
from eosparse.estimators.notices import warn_unless_converged
from eosparse.estimators.parameters import check_number, check_whole
from eosparse.estimators.read_out import mass_beyond
from eosparse.estimators.table_input import new_table
from eosparse.inference import FittedGamma, rejected_mass
from eosparse.rows import Chained, DaskRows, FileRows, MemoryRows, Table

Theta = TypeVar("Theta")

AUTO_EFFICIENCY = 0.9
# With a handful of rows for each parameter nothing is safe; this keeps α finite.
_LEAST_EXCESS = 1.5
# Passes over the sample for a first guess of σ, and how often that is refined.
_GUESSING_PASSES, _REFINEMENTS = 10, 8
_SAMPLE_PASSES = 200
# Squared distances below this part of the rows' squared spread are rounding.
_ROUNDING = 1e-20


@dataclass(frozen=True)
class Problem(Generic[Theta]):
    """A squared-distance error, the p directions in which rows scatter, and what is asked for.

    Attributes
    ----------
    model : ErrorModel
        The error.
    n_directions : int
        p, at least 1.
    n_determining : int
        k, the number of rows through which some θ passes exactly.
    alpha : float or "auto"
        Regularisation.
    efficiency, tol, max_iter
        As in the estimators.
    comparing : float
        Efficiency of the α at which starts are compared, where α is left open.
    is_full : callable
        From θ and weighted rows to whether θ is worth having, such as no cluster being empty.
    """

    model: ErrorModel[FloatArray, Theta, Any]
    n_directions: int
    n_determining: int
    alpha: float | Literal["auto"]
    efficiency: float
    tol: float
    max_iter: int
    comparing: float
    is_full: Callable[[Theta, FloatArray, FloatArray], bool] = lambda *_: True

    def fit(self, table: Table, sample: MemoryRows, starts: Iterable[Theta]) -> DistanceFit[Theta]:
        """Choose α and the best start on a sample, and go on with all rows."""
        check_units(sample.values)
        bench = _Bench(self, sample)
        start, alpha = bench.chosen(list(starts))
        result = alternate(self.model, table, alpha, start, tol=self.tol, max_iter=self.max_iter)
        return DistanceFit(self.model, result, bench.rounding)


@dataclass(frozen=True)
class _Bench(Generic[Theta]):
    """A sample of the rows, on which α and the start are chosen."""

    problem: Problem[Theta]
    sample: MemoryRows

    @property
    def mass(self) -> FloatArray:
        prior = self.sample.prior
        return np.ones(len(self.sample.values)) if prior is None else prior

    @property
    def rounding(self) -> float:
        """Error that is mere rounding."""
        middle = weighted_quantiles(self.sample.values, self.mass, (0.5,))[0]
        squares = squared_distances(self.sample.values, middle[None])[:, 0]
        typical = float(weighted_quantiles(squares, self.mass, (0.5,))[0]) or float(squares.max())
        away = float(np.square(middle).sum())  # columns far from zero have lost digits already
        return max(_ROUNDING * typical, 1e-30 * away, 1e-290)

    def chosen(self, starts: list[Theta]) -> tuple[Theta, float]:
        """Return the start with the lowest objective, and α."""
        if self.problem.alpha != "auto":
            return self.best(starts, self.problem.alpha), self.problem.alpha
        guesses = [self.guess(start) for start in starts]
        alpha = min(guess for _, guess in guesses)
        candidates = [theta for theta, _ in guesses]
        best = self.best(candidates, self.comparing(alpha))
        alpha = self.refined(best, alpha)
        best = self.best([*candidates, best], self.comparing(alpha))
        return self.settled(best, alpha, _SAMPLE_PASSES).last, alpha

    def comparing(self, alpha: float) -> float:
        """Return the α at which starts are compared."""
        p, wanted = self.problem.n_directions, self.problem.efficiency
        other = min(wanted, self.problem.comparing)
        return alpha * self.odds(other, p) / self.odds(wanted, p)

    def guess(self, theta: Theta) -> tuple[Theta, float]:
        """Return a start that has settled a little, and α from the median of its errors."""
        for _ in range(2):
            alpha = self.median_alpha(theta)
            theta = self.settled(theta, alpha, _GUESSING_PASSES).last
        return theta, self.median_alpha(theta)

    def median_alpha(self, theta: Theta) -> float:
        errors = self.problem.model.errors(self.sample.values, theta)
        median = float(weighted_quantiles(errors, self.mass, (0.5,))[0])
        p = self.problem.n_directions
        return self.alpha(2 * median / float(chi2.ppf(0.5, p)), p)

    def refined(self, theta: Theta, alpha: float) -> float:
        """Return α for the law of the errors that the weights themselves show.

        The median of all errors is too large if some are outliers', and directions may be unequal.
        A gamma law with the weighted mean and variance, its tilt undone, knows neither.
        """
        for _ in range(_REFINEMENTS):
            theta = self.settled(theta, alpha, _SAMPLE_PASSES).last
            errors, weights = self.judged(theta, alpha)
            law = _law(_error_moments(errors, weights), alpha)
            before = alpha
            alpha = self.alpha(law.scale, min(2 * law.shape, self.problem.n_directions))
            if abs(alpha - before) <= 1e-3 * alpha:
                break
        return alpha

    def alpha(self, scale: float, n_directions: float) -> float:
        """Return α for an error that is `scale` times a gamma variable, 2σ² for squares."""
        return max(scale * self.odds(self.problem.efficiency, n_directions), self.rounding)

    def odds(self, efficiency: float, n_directions: float) -> float:
        """Return α/2σ² for an efficiency, or the least at which rows cannot keep θ to themselves.

        As many rows as determine θ, k, can have it pass through them, with errors of zero and
        ``Z ≥ k``. Where half of the n rows belong, the proper solution has about
        ``Z = n/2 (1 + 2σ²/α)^(-p/2)``, which shall be at least twice as much.
        """
        p = max(n_directions, 1.0)
        c = coupling_for_efficiency(efficiency, p)
        excess = float(self.mass.sum()) / 2 / (2 * self.problem.n_determining)
        least = 1 / np.expm1(2 / p * np.log(max(excess, _LEAST_EXCESS)))
        return float(max(1 / c - 1, least))

    def best(self, starts: list[Theta], alpha: float) -> Theta:
        """Return the solution with the lowest objective, if possible a full one of a majority."""
        results = [self.settled(start, alpha, _SAMPLE_PASSES) for start in starts]
        held = [result for result in results if result.status is not Status.COLLAPSED] or results
        full = [result for result in held if self.is_full(result)] or held
        return min(full, key=lambda result: result.objective_history[-1:] or (np.inf,)).last

    def is_full(self, result: Result[Theta]) -> bool:
        """Whether a solution describes a majority of the rows, and is what the problem calls full.

        A tight group of outliers has small errors, but most rows lie beyond what it calls usual.
        """
        errors, weights = self.judged(result.last, result.alpha)
        law = _law(_error_moments(errors, weights), result.alpha)
        usual = errors <= max(float(law.distance_at(np.array([0.01]))[0]), self.rounding)
        total = float(self.mass.sum())
        return float(self.mass @ usual) >= 0.5 * total and self.problem.is_full(
            result.last, self.sample.values, weights * total
        )

    def judged(self, theta: Theta, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return errors and weights of the sample."""
        errors = self.problem.model.errors(self.sample.values, theta)
        return errors, optimal_weights(errors, alpha, self.mass).weights

    def settled(self, theta: Theta, alpha: float, max_iter: int) -> Result[Theta]:
        return alternate(self.problem.model, self.sample, alpha, theta, tol=1e-9, max_iter=max_iter)


@dataclass(frozen=True)
class ErrorsOf(Generic[Theta]):
    """The errors of rows at a θ; unlike a lambda it can be saved."""

    model: ErrorModel[FloatArray, Theta, Any]
    theta: Theta

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the error of each row."""
        return self.model.errors(np.asarray(values, dtype=np.float64), self.theta)


@dataclass(frozen=True)
class DistanceFit(Generic[Theta]):
    """The outcome: the alternation's result, and what it says of rows.

    Attributes
    ----------
    model : ErrorModel
        The error.
    result : Result
        How the alternation ended.
    rounding : float
        Error that is mere rounding.
    """

    model: ErrorModel[FloatArray, Theta, Any]
    result: Result[Theta]
    rounding: float

    @property
    def errors(self) -> ErrorsOf[Theta]:
        """The errors of rows, as a function."""
        return ErrorsOf(self.model, self.result.theta)

    def weights(self, errors: Any) -> Any:
        """Return the weights of training rows of prior weight one: exp((L-g)/α)."""
        return np.exp((self.result.objective - errors) / self.result.alpha)

    def law(self, errors: Table) -> FittedGamma:
        """Return the gamma law of the errors of rows that belong."""

        def one(block: FloatArray, prior: FloatArray | None) -> Any:
            weights = self.weights(block) * (1.0 if prior is None else prior)
            return _error_moments(block, weights)

        return _law(errors.fold(one), self.result.alpha)

    def cut(self, errors: Table, law: FittedGamma, fdr: float) -> float:
        """Return the error beyond which rows are flagged at a false-discovery rate."""

        def count(levels: FloatArray) -> FloatArray:
            return mass_beyond(errors, np.maximum(law.distance_at(levels), self.rounding))

        rejected = rejected_mass(count, errors.mass, fdr)
        level = fdr * max(rejected, 1.0) / errors.mass
        return max(float(law.distance_at(np.array([level]))[0]), self.rounding)


def _error_moments(errors: FloatArray, weights: FloatArray) -> Moments:
    """Weighted moments of errors; those of rows without weight may be too large to be squared."""
    present = weights > 0
    return weighted_moments(errors[present, None], weights[present], diagonal=True)


def _law(moments: Any, alpha: float) -> FittedGamma:
    """Fit the law of errors to their weighted moments: the weights tilted it by 1/α."""
    return FittedGamma.of_weighted(float(moments.mean[0]), float(moments.scatter[0]), 1 / alpha)


def check_units(values: FloatArray) -> None:
    """Raise where the squares of most deviations leave the range of floats."""
    middle = np.median(values, axis=0)
    spread = float(np.median(np.abs(values - middle).max(axis=1)))
    if spread != 0.0 and not _SMALLEST_SPREAD < spread < 1 / _SMALLEST_SPREAD:
        raise ValueError(
            f"rows of X deviate by about {spread:.3g}, whose square is out of the range of floats: "
            "use another unit, or scale the columns."
        )


_SMALLEST_SPREAD = 1e-120


class WeighsRows(BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """What the estimators share: parameters, and what is said of training rows."""

    alpha: float | Literal["auto"]
    efficiency: float
    fdr: float
    tol: float
    max_iter: int

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, 0.0, words=("auto",))
        check_number("efficiency", self.efficiency, 0.0, 1.0)
        check_number("fdr", self.fdr, 0.0, 1.0)
        check_number("tol", self.tol, 0.0, with_low=True)
        check_whole("max_iter", self.max_iter, 1)

    def _keep(self, fit: DistanceFit[Any], table: Table) -> None:
        """Keep a fit, and read out which rows do not belong."""
        errors = table.mapped(fit.errors)
        self._fit_, self._dtype = fit, table.dtype
        law = fit.law(errors)
        self._training = TrainingErrors(fit, errors, law, fit.cut(errors, law, self.fdr))
        self.alpha_ = fit.result.alpha
        self.objective_ = fit.result.objective
        self.objective_history_ = np.array(fit.result.objective_history)
        self.n_iter_ = fit.result.n_iter
        self.effective_sample_size_ = fit.result.effective_size
        self.status_ = fit.result.status
        self.offset_ = -self._training.cut
        warn_unless_converged(fit.result, self.max_iter)

    @property
    def weights_(self) -> Any:
        """Weights of the training rows, summing to one."""
        check_is_fitted(self, "offset_")
        return self._training.weights(self._dtype)

    @property
    def is_outlier_(self) -> Any:
        """Which training rows are flagged."""
        check_is_fitted(self, "offset_")
        return self._training.flags()

    def score_samples(self, X: Any) -> Any:
        """Return minus the error of each row: higher is more normal.

        Rows with a score below `offset_` do not belong. Rows on disk are streamed, those of Dask
        stay lazy.
        """
        check_is_fitted(self, "offset_")
        table = new_table(self, X)
        return table.mapped(Negative(self._fit_.errors)).column(table.dtype)

    def p_values(self, X: Any) -> Any:
        """Return the chance of an error at least as large, for a row that belongs.

        By the gamma law of the weighted errors: right if rows scatter about like a Gaussian.
        """
        check_is_fitted(self, "offset_")
        table = new_table(self, X)
        return table.mapped(Chained(self._fit_.errors, self._training.law.p_values)).column(
            table.dtype
        )


@dataclass(frozen=True)
class Negative:
    """Minus a function; unlike a lambda it can be saved."""

    function: Callable[[FloatArray], FloatArray]

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return minus the function."""
        return -self.function(values)


@dataclass(frozen=True)
class TrainingErrors:
    """Errors of the training rows, wherever they live, their law and the cut."""

    fit: DistanceFit[Any]
    errors: Table | None
    law: FittedGamma
    cut: float

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what lives on a cluster, which need not be there when this is loaded."""
        is_lazy = isinstance(self.errors, DaskRows)
        return self.__dict__ | ({"errors": None} if is_lazy else {})

    def weights(self, dtype: Any) -> Any:
        """Return the weights: an array, or a lazy one on a cluster."""
        rows = self._kept("weights_")
        column = rows.mapped(self.fit.weights).column(np.dtype(np.float64))
        own = rows.prior if isinstance(rows, MemoryRows) else getattr(rows, "weights", None)
        return (column if own is None else column * own).astype(dtype)

    def flags(self) -> Any:
        """Return whether each error exceeds the cut."""
        return self._kept("is_outlier_").mapped(self._exceeds).column(np.dtype(np.bool_))

    def _exceeds(self, errors: FloatArray) -> Any:
        return errors > self.cut

    def _kept(self, name: str) -> Table:
        if self.errors is None or isinstance(self.errors, FileRows):
            raise AttributeError(
                f"{name} of rows on disk, or of a saved estimator's cluster, is not kept: use "
                "score_samples(), and compare with offset_."
            )
        return self.errors
