"""From rows to the fit of an error model: what it leaves open, α, start, alternation.

On rows that scatter like a Gaussian in p directions with variance σ², a squared distance is σ²χ²_p
and the weights are ``w ∝ exp(-c'm/2)`` with m = g/σ² and ``c' = 2σ²/α``. The equations for the
location then are an M-estimator with ψ(r) = r exp(-c'|r|²/2), whose efficiency is

    (E ψ')² / E ψ² = ((1+2c') / (1+c')²)^(p/2+1) = (1-c²)^(p/2+1),    c = c'/(1+c'),

the same as that of the Gaussian error. A wanted efficiency gives c, and **α = 2σ²(1-c)/c**. Of any
other error the same is done with the gamma law that it follows about: half a χ² of 2·shape degrees,
in units of its scale. A mixture has a natural unit, and α = 1/(cD).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.stats import chi2

from eosparse.core import (
    ErrorModel,
    FloatArray,
    Result,
    Status,
    alternate,
    optimal_weights,
    weighted_quantiles,
)
from eosparse.fitting.error_fit import ErrorFit, error_law, power_sums
from eosparse.fitting.gaussian_choices import FitOptions, all_of, check_range
from eosparse.fitting.notices import DegenerateDataWarning, warn_caller
from eosparse.inference import DistanceLaw, FittedGamma
from eosparse.models import (
    Answers,
    ClusterModel,
    LinearModel,
    MixtureModel,
    SubspaceModel,
    coupling_for_efficiency,
    squared_distances,
)
from eosparse.rows import Coordinates, MemoryRows, Table, as_float64, choose_coordinates, spread_out

Theta = TypeVar("Theta")

MODEL_EFFICIENCY = 0.9
# With a handful of rows for each parameter nothing is safe; this keeps α finite.
_LEAST_EXCESS = 1.5
# Passes over the sample for a first guess of σ, and how often that is refined.
_GUESSING_PASSES, _REFINEMENTS = 10, 8
_SAMPLE_PASSES = 200
# Squared distances below this part of the rows' squared spread are rounding.
_ROUNDING = 1e-20
_SMALLEST_SPREAD = 1e-120
# α of any error, beside that from the quantiles of errors: in refinement, and in the end.
_LARGEST_RISE, _LEAST_FALL = 3.0, 0.1
# The part of the rows that a solution has to hold.
_LEAST_HELD = 0.25
# Rows with larger errors have moments that may overflow.
_FARTHEST = 1e260
# Rows on which starts are compared. Those of clusters take all distances between them.
_SAMPLE = 3000


NAMED_MODELS: dict[str, Callable[[], Any]] = {
    "clusters": ClusterModel,
    "subspace": SubspaceModel,
    "mixture": MixtureModel,
    "regression": LinearModel,
}


def fit_named_or_given(
    table: Table, model: Any, options: FitOptions, feature_names: list[str]
) -> ErrorFit[Any]:
    """Fit a model: a named one to scaled columns, a given one to the columns as they are."""
    if not isinstance(model, str):
        return fit_model(table, model, options)
    coordinates = working_coordinates(table, feature_names)
    return fit_model(table, NAMED_MODELS[model](), options, coordinates)


def working_coordinates(table: Table, feature_names: list[str]) -> Coordinates:
    """Return coordinates in which the columns are centred and robustly scaled."""
    coordinates = choose_coordinates(*table.take(spread_out(table.n_present, _SAMPLE)))
    check_range(coordinates, feature_names)
    return coordinates


def fit_model(
    table: Table,
    model: ErrorModel[FloatArray, Theta, Any],
    options: FitOptions,
    prepare: Callable[[FloatArray], FloatArray] = as_float64,
) -> ErrorFit[Theta]:
    """Choose what is left open, α and a start on a sample, and go on with all rows."""
    values, mass = table.take(spread_out(table.n_present, _SAMPLE))
    sample = MemoryRows(prepare(values), mass)
    answers = Answers(model).completed(sample.values, mass, table.mass)
    if answers.is_squared:
        check_units(sample.values)
    bench = _Bench(answers, sample, options, float(np.finfo(table.dtype).eps))
    start, alpha = bench.chosen()
    result = alternate(
        bench.model.model,
        table.prepared(prepare),
        alpha,
        start,
        tol=options.tol,
        max_iter=options.max_iter,
        callback=all_of(options.callbacks),
    )
    _ = result.theta  # raises, with the reason and the remedy, if it collapsed
    _warn_if_determined(result, bench.n_determining)
    return ErrorFit(bench.model.model, result, table.mass, bench.rounding, prepare)


@dataclass(frozen=True)
class _Bench(Generic[Theta]):
    """A sample of the rows, on which α and the start are chosen."""

    model: Answers[Theta]
    sample: MemoryRows
    options: FitOptions
    precision: float

    @property
    def values(self) -> FloatArray:
        return self.sample.values

    @property
    def mass(self) -> FloatArray:
        assert self.sample.prior is not None
        return self.sample.prior

    @cached_property
    def n_directions(self) -> float | None:
        return self.model.n_directions(self.values.shape[1])

    @cached_property
    def n_determining(self) -> int:
        return self.model.n_determining(self.values.shape[1])

    @property
    def efficiency(self) -> float:
        wanted = self.options.efficiency
        return MODEL_EFFICIENCY if wanted is None else wanted

    @cached_property
    def rounding(self) -> float:
        """Error that is mere rounding."""
        if not self.model.is_squared:
            return -np.inf
        middle = weighted_quantiles(self.values, self.mass, (0.5,))[0]
        squares = squared_distances(self.values, middle[None])[:, 0]
        typical = float(weighted_quantiles(squares, self.mass, (0.5,))[0]) or float(squares.max())
        # Columns far from zero have lost digits already, and those of single precision had few.
        lost = (4 * self.precision) ** 2 * (float(np.square(middle).sum()) + typical)
        return max(_ROUNDING * typical, lost, 1e-290)

    def chosen(self) -> tuple[Theta, float]:
        """Return the start with the lowest objective, and α."""
        starts = self.model.starts(self.values, self.mass)
        for start in starts:
            self.model.errors(self.values, start)  # a wrong model is told so before anything else
        given = self.options.alpha
        size = float(self.mass.sum())
        natural = self.model.natural_alpha(self.efficiency, size, self.values.shape[1])
        if given != "auto" or natural is not None:
            alpha = float(natural if given == "auto" else given)  # type: ignore[arg-type]
            return self.best(starts, alpha), alpha
        guesses = [self.guess(start) for start in starts]
        candidates = [theta for theta, _ in guesses]
        alpha = min(guess for _, guess in guesses)
        best = self.best(candidates, alpha)
        # Many outliers reach the median of the errors, but not their lower quartile.
        alpha = self.refined(best, min(alpha, self.quantile_alpha(best, 0.25)))
        if self.n_directions is None:
            self.check_alpha(alpha, self.quantile_alpha(starts[0], 0.5))
        best = self.best([*candidates, best], alpha)
        return self.settled(best, alpha, _SAMPLE_PASSES).last, alpha

    def check_alpha(self, alpha: float, at_start: float) -> None:
        """Raise where smaller α let the fit make its errors smaller still, without end."""
        if not alpha >= _LEAST_FALL * at_start:
            raise ValueError(
                f"alpha='auto' finds no alpha for {type(self.model.model).__name__}: from "
                f"{at_start:.3g} at the start it fell to {alpha:.3g}, since part of the rows can "
                "make their errors as small as they like, as under the log-loss of classes that "
                "can be separated. Give alpha, in units of the error."
            )

    def guess(self, theta: Theta) -> tuple[Theta, float]:
        """Return a start that has settled a little, and α from the middle of its errors."""
        for _ in range(2):
            alpha = self.quantile_alpha(theta, 0.5)
            theta = self.settled(theta, alpha, _GUESSING_PASSES).last
        return theta, self.quantile_alpha(theta, 0.5)

    def quantile_alpha(self, theta: Theta, share: float) -> float:
        """Return α from a quantile of the errors, or from the lower half of their range."""
        errors, p = self.model.errors(self.values, theta), self.n_directions
        if p is not None:
            # Rows through which θ passes exactly say nothing about the others.
            share = min(0.5, share + self.n_determining / float(self.mass.sum()))
            quantile = float(weighted_quantiles(errors, self.mass, (share,))[0])
            return self.alpha(2 * quantile / float(chi2.ppf(share, p)), p)
        low, middle = weighted_quantiles(errors, self.mass, (0.1, 0.5)).ravel().tolist()
        return max(4 * (middle - low), 1e-12 * abs(middle), 1e-290)

    def refined(self, theta: Theta, alpha: float) -> float:
        """Return α for the law of the errors that the weights themselves show.

        A quantile of all errors is too large if some are outliers', and directions may be unequal.
        A gamma law with the weighted mean and variance, its tilt undone, knows neither.
        """
        for _ in range(_REFINEMENTS):
            theta = self.settled(theta, alpha, _SAMPLE_PASSES).last
            law = self.law(theta, alpha)
            assert isinstance(law, FittedGamma)
            most = np.inf if self.n_directions is None else self.n_directions
            before = alpha
            alpha = self.alpha(law.scale, float(min(2 * law.shape, most)))
            if self.n_directions is None:  # three moments may still be outliers'
                alpha = min(alpha, _LARGEST_RISE * self.quantile_alpha(theta, 0.5))
            if abs(alpha - before) <= 1e-3 * alpha:
                break
        return alpha

    def alpha(self, scale: float, n_directions: float) -> float:
        """Return α for an error that is `scale` times a gamma variable, 2σ² for squares."""
        return max(scale * self.odds(n_directions), self.rounding, 1e-290)

    def odds(self, n_directions: float) -> float:
        """Return α/2σ² for the efficiency, or the least at which rows cannot keep θ to themselves.

        As many rows as determine θ, k, can have it pass through them, with errors of zero and
        ``Z ≥ k``. Where half of the n rows belong, the proper solution has about
        ``Z = n/2 (1 + 2σ²/α)^(-p/2)``, which shall be at least twice as much.
        """
        p = max(n_directions, 1.0)
        c = coupling_for_efficiency(self.efficiency, p)
        excess = float(self.mass.sum()) / 2 / (2 * self.n_determining)
        least = 1 / np.expm1(2 / p * np.log(max(excess, _LEAST_EXCESS)))
        return max(1 / c - 1, float(least))

    def best(self, starts: list[Theta], alpha: float) -> Theta:
        """Return the best solution, from a start or from rows far from the best of these.

        Where a tight group of outliers has taken the place of the bulk, that is where the bulk is.
        """
        results = [self.settled(start, alpha, _SAMPLE_PASSES) for start in starts]
        elsewhere = self.far_from(self.preferred(results).last)
        return self.preferred([*results, self.settled(elsewhere, alpha, _SAMPLE_PASSES)]).last

    def far_from(self, theta: Theta) -> Theta:
        """Return the fit to the half of the rows with the largest errors."""
        errors = self.model.errors(self.values, theta)
        far = errors >= weighted_quantiles(errors, self.mass, (0.5,))[0]
        far &= (errors < _FARTHEST) & (self.mass > 0)
        mass = self.mass[far] / self.mass[far].sum()
        model = self.model.model
        return model.solve(model.statistics(self.values[far], mass, theta))

    def preferred(self, results: list[Result[Theta]]) -> Result[Theta]:
        """Return the smallest solution, if possible a full and even one of a majority."""
        for is_good in (self.is_held, self.is_full, self.is_even):
            results = [result for result in results if is_good(result)] or results
        return min(results, key=self.size)

    def is_held(self, result: Result[Theta]) -> bool:
        """Whether a solution has not collapsed, and holds more than a few rows."""
        enough = _LEAST_HELD * float(self.mass.sum())
        return result.status is not Status.COLLAPSED and result.effective_size >= enough

    def size(self, result: Result[Theta]) -> float:
        """Return the volume of a solution if its model knows one, else its objective."""
        law = self.law(result.last, result.alpha)
        if isinstance(law, FittedGamma):
            mean = max(law.least + law.shape * law.scale, self.rounding)
            volume = self.model.volume(result.last, mean)
            if volume is not None:
                return volume
        return result.objective if result.objective_history else np.inf

    def is_full(self, result: Result[Theta]) -> bool:
        """Whether a solution describes a majority of the rows, and is what the model calls full.

        A tight group of outliers has small errors, but most rows lie beyond what it calls usual.
        """
        errors = self.model.errors(self.values, result.last)
        law = self.law(result.last, result.alpha)
        usual = errors <= max(float(law.distance_at(np.array([0.01]))[0]), self.rounding)
        total = float(self.mass.sum())
        weights = optimal_weights(errors, result.alpha, self.mass).weights
        return float(self.mass @ usual) >= 0.5 * total and self.model.is_full(
            result.last, self.values, weights * total
        )

    def is_even(self, result: Result[Theta]) -> bool:
        """Whether most rows are as near as the nearest quarter, scattering in all directions alike.

        It tells a bulk from a tight group with other rows around it, whose law is wide for both.
        """
        p = self.n_directions
        if p is None:
            return True
        errors = self.model.errors(self.values, result.last)
        near = float(weighted_quantiles(errors, self.mass, (0.25,))[0])
        reach = max(near * float(chi2.ppf(0.99, p) / chi2.ppf(0.25, p)), self.rounding)
        return float(self.mass @ (errors <= reach)) >= 0.5 * float(self.mass.sum())

    def law(self, theta: Theta, alpha: float) -> DistanceLaw:
        """Return the law of the errors at some θ."""
        errors = self.model.errors(self.values, theta)
        weights = optimal_weights(errors, alpha, self.mass).weights
        middle = float(weights @ np.where(weights > 0, errors, 0.0))
        each = np.divide(weights, self.mass, out=np.zeros_like(weights), where=self.mass > 0)
        sums = power_sums(self.model.model, errors, each, self.mass, middle)
        return error_law(self.model.model, theta, alpha, sums, middle)

    def settled(self, theta: Theta, alpha: float, max_iter: int) -> Result[Theta]:
        # All rows lead elsewhere by more than this tolerance.
        model = self.model.model
        result = alternate(model, self.sample, alpha, theta, tol=1e-7, max_iter=max_iter)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return result


def _warn_if_determined(result: Result[Any], n_determining: int) -> None:
    """Warn of a fit that passes through all rows that count, whatever they are."""
    if result.effective_size <= n_determining:
        warn_caller(
            f"the fit is free to pass through {n_determining} rows exactly, and only "
            f"{result.effective_size:.0f} have weight: their errors say nothing about them. Use "
            "fewer columns, clusters or components, or more rows.",
            DegenerateDataWarning,
        )


def check_units(values: FloatArray) -> None:
    """Raise where the squares of most deviations leave the range of floats."""
    middle = np.median(values, axis=0)
    spread = float(np.median(np.abs(values - middle).max(axis=1)))
    if spread != 0.0 and not _SMALLEST_SPREAD < spread < 1 / _SMALLEST_SPREAD:
        raise ValueError(
            f"rows of X deviate by about {spread:.3g}, whose square is out of the range of floats: "
            "use another unit, or scale the columns."
        )
