"""The general search for α and a start, for models without a search of their own.

On rows that scatter like a Gaussian in p directions with variance σ², a squared distance is σ²χ²_p
and the weights are ``w ∝ exp(-c'm/2)`` with m = g/σ² and ``c' = 2σ²/α``. The equations for the
location then are an M-estimator with ψ(r) = r exp(-c'|r|²/2), whose efficiency is

    (E ψ')² / E ψ² = ((1+2c') / (1+c')²)^(p/2+1) = (1-c²)^(p/2+1),    c = c'/(1+c'),

the same as that of the Gaussian error. The efficiency gives c, and **α = 2σ²(1-c)/c**. For any
other error the same is done with the gamma law that it approximately follows: half a χ² with
2·shape degrees of freedom, in units of its scale. A mixture has a natural unit, and α = 1/(cD).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic

import numpy as np

from eosparse.core import (
    DegenerateDataWarning,
    FloatArray,
    Result,
    Status,
    alternate,
    centre_and_spread,
    chi_squared_quantile,
    optimal_weights,
    warn_caller,
    weighted_quantiles,
)
from eosparse.core.model import Theta
from eosparse.models import (
    Attempt,
    ErrorMoments,
    Request,
    TableModel,
    coupling_for_efficiency,
    squared_distances,
)
from eosparse.models.lengths import TIE, first_largest
from eosparse.rows import MemoryRows, Sample

# Efficiency behind alpha="auto": a tenth of the precision is given up for robustness.
MODEL_EFFICIENCY = 0.9
# With a handful of rows for each parameter no α is safe; this keeps it finite.
_LEAST_EXCESS = 1.5
# Passes over the sample for a first guess of σ, and the most refinements of α: both converge fast.
_GUESSING_PASSES, _REFINEMENTS = 10, 20
# A refined α has this precision, relatively; the law that follows from it has no more.
_ALPHA_TOLERANCE = 1e-3
# Steps of α are extrapolated tenfold at most: beyond that, two steps say little about their limit.
_STEEPEST = 0.9
# Passes over the sample and tolerance with which a start settles. The solution for all rows differs
# by more than this.
_SAMPLE_PASSES, _SAMPLE_TOL = 200, 1e-7
# Squared distances below this part of the rows' squared spread are rounding.
_ROUNDING = 1e-20
# With a smaller spread, or one larger than its reciprocal, the cubes of squares, by which the law
# of the distances is found, leave the range of floats.
_SMALLEST_SPREAD = 1e-50
_FARTHEST_MIDDLE = 1e100
# Bounds of α for errors that are not squared, relative to the α from quantiles of the errors: three
# moments may still include outliers, and a fit that shrinks its errors tenfold has no end.
_LARGEST_RISE, _LEAST_FALL = 3.0, 0.1
# Solutions with a smaller effective part of the rows describe a minority, or have collapsed.
_LEAST_HELD = 0.25
# Rows with larger errors have moments that may overflow.
_FARTHEST = 1e260


@dataclass(frozen=True)
class Search(Generic[Theta]):
    """A model on a sample of the rows, on which α and the start are chosen.

    Attributes
    ----------
    model : TableModel
        The model, complete.
    sample : Sample
        The rows, as the model sees them.
    rounding : float
        Error that is mere rounding; -inf if any error counts.
    efficiency : float
        Efficiency for which to choose α.
    """

    model: TableModel[Theta, Any]
    sample: Sample
    rounding: float = -np.inf
    efficiency: float = MODEL_EFFICIENCY

    @property
    def values(self) -> FloatArray:
        """The rows of the sample."""
        return self.sample.values

    @property
    def mass(self) -> FloatArray:
        """Their prior weights."""
        return self.sample.mass

    @cached_property
    def n_directions(self) -> float | None:
        """Directions in which rows scatter; None if errors are not squared distances."""
        return self.model.n_directions(self.values.shape[1]) if self.model.is_squared else None

    @cached_property
    def n_determining(self) -> int:
        """How many rows some θ can pass through exactly."""
        return self.model.n_determining(self.values.shape[1])

    def propose(self, request: Request) -> Attempt[Theta]:
        """Return the start with the lowest objective, and α, for errors without rounding.

        The precision in which columns are stored is rounding only if it explains most errors.
        """
        columns = find_column_rounding(self.sample)
        rough = replace(self, model=self.model.round_off(self.rounding, columns))
        fine = replace(self, model=self.model.round_off(self.rounding, np.zeros_like(columns)))
        attempt = fine.choose_attempt(request)
        if request.alpha == "auto" and attempt.theta is not None:
            for theta in rough.find_exact([attempt.theta]):
                return rough.warn_of_exact_fit(theta)
        return attempt

    def choose_attempt(self, request: Request) -> Attempt[Theta]:
        """Return the start with the lowest objective, and α."""
        starts = list(self.model.starts(self.sample))
        if not starts:
            raise TypeError(f"{type(self.model).__name__}.starts() returned no guess of theta.")
        for start in starts:
            self.errors(start)  # raises early if they are invalid
        size = float(self.mass.sum())
        natural = self.model.natural_alpha(self.efficiency, size, self.values.shape[1])
        if request.alpha != "auto" or natural is not None:
            alpha = float(natural if request.alpha == "auto" else request.alpha)  # type: ignore[arg-type]
            theta = self.best(starts, alpha) if request.searches else None
            return Attempt(self.model, alpha, theta)
        guesses = [self.guess(start) for start in starts]
        candidates = [theta for theta, _ in guesses]
        alpha = min(guess for _, guess in guesses)
        best = self.best(candidates, alpha)
        # Many outliers reach the median of the errors, but not their lower quartile.
        refined, alpha = self.refine(best, min(alpha, self.quantile_alpha(best, 0.25)))
        if alpha <= self.rounding:
            if exact := self.find_exact([refined, best, *candidates]):
                return Attempt(self.model, self.rounding, exact[0] if request.searches else None)
            # A minority that θ passes through exactly must not decide what is noise.
            alpha = self.free_alpha(best)
        if self.n_directions is None:
            self.check_alpha(alpha, self.quantile_alpha(starts[0], 0.5))
        if not request.searches:
            return Attempt(self.model, alpha)
        best = self.best([*candidates, best], alpha)
        return Attempt(self.model, alpha, self.settle(best, alpha, _SAMPLE_PASSES).last)

    def errors(self, theta: Theta) -> FloatArray:
        """Return the errors of the sample, checked."""
        return self.model.distances(self.values, theta)

    def check_alpha(self, alpha: float, at_start: float) -> None:
        """Raise if the fit can shrink its errors, and with them α, without end."""
        if not alpha >= _LEAST_FALL * at_start:
            raise ValueError(
                f"alpha='auto' finds no alpha for {type(self.model).__name__}: from "
                f"{at_start:.3g} at the start it fell to {alpha:.3g}, since part of the rows can "
                "make their errors arbitrarily small, as under the log-loss of separable "
                "classes. Pass alpha, in units of the error."
            )

    def guess(self, theta: Theta) -> tuple[Theta, float]:
        """Return a start that has settled a little, and α from the middle of its errors."""
        for _ in range(2):
            alpha = self.quantile_alpha(theta, 0.5)
            theta = self.settle(theta, alpha, _GUESSING_PASSES).last
        return theta, self.quantile_alpha(theta, 0.5)

    def quantile_alpha(self, theta: Theta, share: float) -> float:
        """Return α from a quantile of the errors, or from the lower half of their range."""
        errors, p = self.errors(theta), self.n_directions
        if p is not None:
            # Rows through which θ passes exactly say nothing about the others.
            share = min(0.5, share + self.n_determining / float(self.mass.sum()))
            quantile = float(weighted_quantiles(errors, self.mass, (share,))[0])
            return self.alpha(2 * quantile / chi_squared_quantile(share, p), p)
        low, middle = weighted_quantiles(errors, self.mass, (0.1, 0.5)).ravel().tolist()
        return max(4 * (middle - low), 1e-12 * abs(middle), 1e-290)

    def free_alpha(self, theta: Theta) -> float:
        """Return α from the median error of the rows that θ need not pass through."""
        share = 0.5 + 0.5 * min(self.n_determining / float(self.mass.sum()), 1.0)
        quantile = float(weighted_quantiles(self.errors(theta), self.mass, (share,))[0])
        p = self.n_directions or 1.0
        return self.alpha(2 * quantile / chi_squared_quantile(0.5, p), p)

    def find_exact(self, candidates: list[Theta]) -> list[Theta]:
        """Return the θ on which most rows lie exactly, those with the most rows first.

        The rows that determine θ lie on it anyway, and are not counted. Errors that are no squared
        distances say nothing of this kind.
        """
        if self.n_directions is None:
            return []
        held = np.array([float(self.mass @ (self.errors(theta) == 0)) for theta in candidates])
        free, most = held - self.n_determining, float(self.mass.sum()) - self.n_determining
        order = np.argsort(-held, kind="stable")
        return [candidates[i] for i in order if free[i] > 0.5 * most]

    def warn_of_exact_fit(self, theta: Theta) -> Attempt[Theta]:
        """Return the attempt at which rows that lie on θ keep all weight, and say so."""
        off = self.errors(theta) > 0
        if off.any():
            share = 1 - float(self.mass @ off) / float(self.mass.sum())
            warn_caller(
                f"{share:.1%} of the rows fit {type(self.model).__name__} exactly: there is no "
                "noise by which to judge the others, and each of them is flagged. Columns with "
                "few values, or that follow from others, are the usual cause: leave them out if "
                "these rows are not what you look for.",
                DegenerateDataWarning,
            )
        return Attempt(self.model, self.rounding, theta)

    def refine(self, theta: Theta, alpha: float) -> tuple[Theta, float]:
        """Return θ, and α for the law of the errors that the weights themselves show.

        A quantile of all errors is too large if some rows are outliers, and assumes equal variances
        in all directions. A gamma law matched to the weighted errors, with its tilt undone, is
        affected by neither.
        """
        steps: list[tuple[float, float]] = []
        for _ in range(_REFINEMENTS):
            theta = self.settle(theta, alpha, _SAMPLE_PASSES).last
            moments = self.moments(theta, alpha)
            if moments.mean <= self.rounding:  # all weight is on rows that fit exactly
                return theta, self.rounding
            steps.append((float(np.log(alpha)), float(np.log(self.alpha_of_law(theta, alpha)))))
            before, alpha = alpha, float(np.exp(_extrapolate(steps[-2:])))
            if abs(alpha - before) <= _ALPHA_TOLERANCE * alpha:
                break
        return theta, alpha

    def alpha_of_law(self, theta: Theta, alpha: float) -> float:
        """Return the α for the law of the errors at a θ that was found with some α."""
        law, p = self.model.fit_gamma(alpha, self.moments(theta, alpha)), self.n_directions
        if p is not None:
            return self.alpha(law.scale, float(min(2 * law.shape, p)))
        # Three moments may still include outliers.
        most = _LARGEST_RISE * self.quantile_alpha(theta, 0.5)
        return min(self.alpha(law.scale, 2 * law.shape), most)

    def alpha(self, scale: float, n_directions: float) -> float:
        """Return α for an error that is `scale` times a gamma variable, 2σ² for squares."""
        return max(scale * self.odds(n_directions), self.rounding, 1e-290)

    def odds(self, n_directions: float) -> float:
        """Return α/2σ² for the efficiency, or the least at which few rows cannot capture θ.

        θ can pass exactly through the k rows that determine it, with errors of zero and ``Z ≥ k``.
        If half of the n rows belong, the proper solution has about
        ``Z = n/2 (1 + 2σ²/α)^(-p/2)``, which must be at least twice as large.
        """
        p = max(n_directions, 1.0)
        c = coupling_for_efficiency(self.efficiency, p)
        excess = float(self.mass.sum()) / 2 / (2 * self.n_determining)
        least = 1 / np.expm1(2 / p * np.log(max(excess, _LEAST_EXCESS)))
        return max(1 / c - 1, float(least))

    def best(self, starts: list[Theta], alpha: float) -> Theta:
        """Return the best solution, from a start or from rows far from the best of these.

        If a tight group of outliers has taken the place of the bulk, the far rows are the bulk.
        """
        results = [self.settle(start, alpha, _SAMPLE_PASSES) for start in starts]
        elsewhere = self.fit_far_rows(self.choose(results).last)
        return self.choose([*results, self.settle(elsewhere, alpha, _SAMPLE_PASSES)]).last

    def fit_far_rows(self, theta: Theta) -> Theta:
        """Return the fit to the half of the rows with the largest errors."""
        errors = self.errors(theta)
        middle = float(weighted_quantiles(errors, self.mass, (0.5,))[0])
        far = errors >= middle - TIE * abs(middle)
        far &= (errors < _FARTHEST) & (self.mass > 0)
        mass = self.mass[far] / self.mass[far].sum()
        return self.model.solve(self.model.statistics(self.values[far], mass, theta))

    def choose(self, results: list[Result[Theta]]) -> Result[Theta]:
        """Return the smallest solution, if possible a full and even one of a majority."""
        for is_good in (self.holds_rows, self.is_full, self.is_supported, self.is_even):
            results = [result for result in results if is_good(result)] or results
        return results[first_largest(-np.array([self.size(result) for result in results]))]

    def holds_rows(self, result: Result[Theta]) -> bool:
        """Whether a solution has not collapsed, and holds more than a few rows."""
        enough = _LEAST_HELD * float(self.mass.sum())
        return result.status is not Status.COLLAPSED and result.effective_size >= enough

    def size(self, result: Result[Theta]) -> float:
        """Return the volume of a solution if its model knows one, else its objective."""
        law = self.model.fit_gamma(result.alpha, self.moments(result.last, result.alpha))
        mean = max(law.least + law.shape * law.scale, self.rounding)
        volume = self.model.volume(result.last, mean)
        if volume is not None:
            return volume
        return result.objective if result.objective_history else np.inf

    def is_full(self, result: Result[Theta]) -> bool:
        """Whether a solution describes a majority of the rows, and is full by `TableModel.is_full`.

        A tight group of outliers has small errors, but most rows lie far beyond them.
        """
        errors = self.errors(result.last)
        moments = self.moments(result.last, result.alpha)
        law = self.model.law(result.last, result.alpha, moments)
        usual = errors <= max(float(law.distance_at(np.array([0.01]))[0]), self.rounding)
        most = float(self.mass @ usual) >= 0.5 * float(self.mass.sum())
        return most and self.model.is_full(result.last, self.values, self.weigh(result))

    def is_supported(self, result: Result[Theta]) -> bool:
        """Whether no part of a solution rests on too few rows."""
        return self.model.is_supported(result.last, self.values, self.weigh(result))

    def weigh(self, result: Result[Theta]) -> FloatArray:
        """Return the weights of a solution, one on average."""
        weights = optimal_weights(self.errors(result.last), result.alpha, self.mass).weights
        return weights * float(self.mass.sum())

    def is_even(self, result: Result[Theta]) -> bool:
        """Whether most rows are as near as the nearest quarter suggests, for equal variances.

        It distinguishes a bulk from a tight group with other rows around it, whose fitted law is
        wide enough for both.
        """
        p = self.n_directions
        if p is None:
            return True
        errors = self.errors(result.last)
        near = float(weighted_quantiles(errors, self.mass, (0.25,))[0])
        ratio = chi_squared_quantile(0.99, p) / chi_squared_quantile(0.25, p)
        reach = max(near * ratio, self.rounding)
        return float(self.mass @ (errors <= reach)) >= 0.5 * float(self.mass.sum())

    def moments(self, theta: Theta, alpha: float) -> ErrorMoments:
        """Return the moments of the errors at some θ, from which their law follows."""
        errors = self.errors(theta)
        weights = optimal_weights(errors, alpha, self.mass).weights
        middle = float(weights @ np.where(weights > 0, errors, 0.0))
        each = np.divide(weights, self.mass, out=np.zeros_like(weights), where=self.mass > 0)
        power = self.model.law_power
        return ErrorMoments.of_errors(errors, each, self.mass, middle, power)

    def settle(self, theta: Theta, alpha: float, max_iter: int) -> Result[Theta]:
        """Alternate on the sample for some passes."""
        rows = MemoryRows(self.values, self.mass)
        result = alternate(self.model, rows, alpha, theta, tol=_SAMPLE_TOL, max_iter=max_iter)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return result


def _extrapolate(steps: list[tuple[float, float]]) -> float:
    """Return where steps ``x → f(x)`` lead, by the secant through the last two of them.

    Without it, α would still depend on where it started: where outliers with a little weight widen
    the law, each step is nearly as long as the one before.

    Examples
    --------
    >>> _extrapolate([(0.0, 2.0)])
    2.0
    >>> round(_extrapolate([(0.0, 2.0), (2.0, 3.0)]), 9)  # f(x) = 2 + x/2
    4.0
    """
    x, reached = steps[-1]
    if len(steps) == 1 or x == steps[0][0]:
        return reached
    slope = (reached - steps[0][1]) / (x - steps[0][0])
    return x + (reached - x) / (1 - min(slope, _STEEPEST))


def find_rounding(sample: Sample) -> float:
    """Return the squared distance that is mere rounding; raise where squares are out of range."""
    values, mass = sample.values, sample.mass
    centre = np.median(values, axis=0)
    spread = float(np.median(np.abs(values - centre).max(axis=1)))
    if spread != 0.0 and not _SMALLEST_SPREAD < spread < 1 / _SMALLEST_SPREAD:
        raise ValueError(
            f"rows of X deviate by about {spread:.3g}, whose square is out of the range of floats: "
            "use another unit, or scale the columns."
        )
    middle = weighted_quantiles(values, mass, (0.5,))[0]
    if not np.abs(middle).max() < _FARTHEST_MIDDLE:
        raise ValueError(
            f"rows of X lie around {np.abs(middle).max():.3g} in a column, whose square is out of "
            "the range of floats: subtract a constant from it, or scale it."
        )
    squares = squared_distances(values, middle[None])[:, 0]
    typical = float(weighted_quantiles(squares, mass, (0.5,))[0]) or float(squares.max())
    # Columns far from zero have lost digits already.
    lost = (4 * np.finfo(np.float64).eps) ** 2 * (float(np.square(middle).sum()) + typical)
    return max(_ROUNDING * typical, lost, 1e-290)


def find_column_rounding(sample: Sample) -> FloatArray:
    """Return the square of the rounding in each column, by the precision that it has."""
    middle, spread = centre_and_spread(sample.values, sample.mass)
    precision = 4 * sample.find_precision()
    if len(precision) != len(middle):  # a model may see other columns
        precision = np.full(len(middle), precision.max())
    rounding: FloatArray = np.square(precision * middle) + np.square(precision * spread)
    return rounding
