"""Ends of the alternation on a sample, and which of them to believe.

The objective has several local minima, and one of them is worthless (all weight on a few rows), so
the answer is decided by where the alternation starts and which of its ends is believed:

1. *Guess* subsets of rows that may be clean: the half closest to the centre in several robust
   metrics, the larger side of a split along directions of extreme kurtosis and skewness, and all
   rows.
2. *Concentrate* each: refit on the half closest to the fit, a few times. Keep the fit to all rows
   as well.
3. *Alternate* from each distinct one.
4. *Admit* an end only if its ellipsoid holds at least half of the rows: otherwise a tight minority
   would win by its small determinant. Among those admitted, the smallest determinant decides,
   and between nearly equal ones the lowest objective.
5. *Peel*: rows held by a minority solution leave the guesses (not the data), and 1-4 are repeated.

Ends at different α are compared by one criterion. An end must hold half of the rows. One whose rows
form two groups is worse than one that leaves out one of them. Otherwise the one whose consistent
covariance has a significantly smaller determinant is better (`StartSearch.is_better`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaincinv, ndtri

from eosparse.core import (
    BoolArray,
    FloatArray,
    Result,
    Status,
    alternate,
    rough_moments,
    weighted_moments,
    weighted_quantiles,
)
from eosparse.inference import ScaledF, SelfPull
from eosparse.models.directions import WIDE
from eosparse.models.exact_fit import ExactFitError, are_corners, find_plane
from eosparse.models.gaussian_guesses import guess_clean_rows
from eosparse.models.gaussian_law import part_in_span
from eosparse.models.groups import find_group
from eosparse.models.normal import Normal, SingularFitError
from eosparse.rows import MemoryRows, map_parallel

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel

# Up to this many numbers, a search for a start is mostly Python, which threads would only hinder.
_SMALL_SAMPLE = 2**16
# Refits after which concentrating hardly changes a fit, and after which growing ends.
_CONCENTRATION_STEPS, _GROWTH_STEPS = 3, 10
# In many columns every step takes as long as passes over the rows.
_FEW_GROWTH_STEPS = 3
# Towards an exact relation the log-determinant falls on and on, by more than this in each step.
_MOST_CONCENTRATIONS, _LEAST_FALL = 12, 0.5
# With many columns it falls by some part of this in each of them anyway.
_EQUAL_FALL = 0.05
# Distinct starts that are followed, and rounds of peeling: each costs alternations on the sample.
_MOST_ENDS = 6
_MOST_PEELINGS = 3
# Peeling ends when less than this part of the rows is left: too few for a majority.
_LEAST_POOL = 0.4
# Determinants that differ by less than this per column do not decide between two ends.
_EQUAL_LOG_DET = 0.02
# A group that hides is at least this part of the rows.
_LEAST_GROUP = 0.1
# Part of a group that a solution without it may still hold.
_HARDLY_ANY = 0.1
# Standard errors by which a log-determinant has to be smaller to replace another end.
_SIGNIFICANT = 4.0
# Part of the good rows that growing may leave out, and part that may still change when it ends.
_LEFT_OUT, _SETTLED = 1e-4, 0.005


@dataclass(frozen=True)
class Measured:
    """A fit to some of the rows, from which all of them are measured once."""

    fit: Normal
    values: FloatArray

    @cached_property
    def distances(self) -> FloatArray:
        """Squared distances of all rows."""
        return self.fit.mahalanobis(self.values)


@dataclass(frozen=True)
class Candidate:
    """An end of the alternation at some c.

    Attributes
    ----------
    result, coupling
        The end, and its c.
    inside, coverage
        The rows in its 99 % ellipsoid, and their share of all.
    is_majority : bool
        Whether at least half of all rows belong, were they new to it.
    corrected_log_det : float
        Log-determinant of the consistent covariance.
    cut : float
        Squared distance of the ellipsoid.
    """

    result: Result[Normal]
    coupling: float
    inside: BoolArray
    coverage: float
    is_majority: bool
    corrected_log_det: float
    cut: float

    @property
    def theta(self) -> Normal:
        """Location and covariance."""
        return self.result.theta


@dataclass(frozen=True)
class StartSearch:
    """The search for a start on rows that fit into memory.

    Attributes
    ----------
    model : GaussianModel
        The error model, in working coordinates.
    values : array of shape (n_samples, n_coordinates)
        The rows.
    mass : array of shape (n_samples,)
        Prior weight of each row.
    prior : array of shape (n_samples,) or None
        The same; None if all are one.
    copies : float
        How many times each row stands in the table.
    total : float
        Mass of all rows, those included that are known not to belong.
    """

    model: GaussianModel
    values: FloatArray
    mass: FloatArray
    prior: FloatArray | None = None
    copies: float = 1.0
    total: float = np.inf

    def best(self, alpha: float, without: Candidate | None = None) -> Candidate | None:
        """Return the best admitted end, else the one that holds most rows, else None.

        Starts `without` the rows of a minority that was found at another α are followed too: all
        that hold these rows may collapse at this one, which says nothing about the others.
        """
        found = self.ends(alpha)
        if without is not None:
            found += self.ends(alpha, self._find_starts(self.mass * ~without.inside))
        pool, fresh, least = self.mass, found, _LEAST_POOL * self.mass.sum()
        for _ in range(_MOST_PEELINGS):
            minorities = [c.inside for c in fresh if not c.is_majority]
            peeled = pool * ~np.any(minorities, axis=0) if minorities else pool
            if not minorities or peeled.sum() < least or np.all(peeled == pool):
                break
            pool, fresh = peeled, self.ends(alpha, self._find_starts(peeled))
            found = found + fresh
        minority = [candidate for candidate in found if not candidate.is_majority]
        for candidate in _order_by_preference(found):
            if candidate.is_majority:
                settled = self.settle([candidate])
                if settled and settled[0].is_majority:
                    return settled[0]
                minority += settled
        return max(minority, key=lambda c: c.coverage, default=None)

    def ends(self, alpha: float, starts: list[Normal] | None = None) -> list[Candidate]:
        """Return where the alternation leads from each start, roughly."""
        chosen = self._starts_from_all if starts is None else starts
        is_small = self.values.size <= _SMALL_SAMPLE
        ends = (map if is_small else map_parallel)(lambda start: self.end(alpha, start), chosen)
        return [end for end in ends if end is not None]

    def is_better(self, other: Candidate, than: Candidate) -> bool:
        """Whether one of two ends at any α is better: it leaves out a group that the other holds.

        It must hold half of the rows, leave out a tenth of them more, and its consistent
        covariance must have a determinant that is significantly smaller.
        """
        gain = than.corrected_log_det - other.corrected_log_det
        leaves_out = other.coverage < than.coverage - _LEAST_GROUP
        is_smaller = gain > _SIGNIFICANT * self._noise(other)
        return other.is_majority and leaves_out and is_smaller

    def _noise(self, end: Candidate) -> float:
        """Return the standard error of the log-determinant of a consistent covariance."""
        size = end.result.effective_size / self.copies * (1 - end.coupling**2) ** 2
        return float(np.sqrt(2 * self.values.shape[1] / size))

    def leave_group(self, found: Candidate, alphas: Iterable[float]) -> Candidate | None:
        """Return the solution without a group of rows that `found` holds.

        `found` itself if the rows it holds do not form two groups. None if they do, and no
        solution tells them apart.
        """
        inside = np.flatnonzero(found.inside & (self.mass > 0))
        group = find_group(self.values[inside], self.mass[inside], 1 / self.copies)
        if group is None:
            return found
        one = np.zeros(len(self.mass), dtype=bool)
        one[inside[group]] = True
        other = found.inside & ~one
        starts = [self.concentrate(self.mass * part, self.mass) for part in (one, ~one)]
        for alpha in alphas:
            ends = self.ends(alpha, [start for start in starts if start is not None])
            settled = self.settle(end for end in ends if self._leaves_one(end, one, other))
            better = [end for end in settled if self._leaves_one(end, one, other)]
            if better:
                return self.pick(better)
        return None

    def settle(self, ends: Iterable[Candidate]) -> list[Candidate]:
        """Continue ends until nothing changes: slow progress may look like an end."""
        settled = (self.end(end.result.alpha, end.theta, tol=1e-12, max_iter=500) for end in ends)
        return [end for end in settled if end is not None]

    def _leaves_one(self, end: Candidate, *groups: BoolArray) -> bool:
        """Whether an end holds half of the rows, and hardly any of one of the groups."""
        held = (self.mass @ (end.inside & group) / (self.mass @ group) for group in groups)
        return end.is_majority and bool(min(held) < _HARDLY_ANY)

    def pick(self, better: list[Candidate]) -> Candidate | None:
        """Return the end with the smallest determinant; of equal ones, the lowest objective.

        All must be ends at the same α.
        """
        if not better:
            return None
        smallest = min(better, key=lambda end: end.corrected_log_det)
        bound = smallest.corrected_log_det + _SIGNIFICANT * self._noise(smallest)
        level = [end for end in better if end.corrected_log_det <= bound]
        return min(level, key=lambda end: end.result.objective)

    @cached_property
    def _starts_from_all(self) -> list[Normal]:
        return self._find_starts(self.mass)

    def _find_starts(self, pool: FloatArray) -> list[Normal]:
        """Return distinct fits from every guess; they do not depend on alpha."""
        guesses = guess_clean_rows(self.values, pool)
        is_small = self.values.size <= _SMALL_SAMPLE
        refined = (map if is_small else map_parallel)(
            lambda guess: self.concentrate(guess, pool), guesses
        )
        fits = [fit for fit in refined if fit is not None]
        # The classical fit too, unconcentrated: ties may make every half of the rows singular.
        distinct = [self.model.solve(self.model.statistics(self.values, pool))]
        for fit in sorted(fits, key=lambda fit: fit.log_det):
            if not any(fit.is_like(other) for other in distinct[1:]):
                distinct.append(fit)
        return distinct[:_MOST_ENDS]

    def concentrate(self, guess: FloatArray, pool: FloatArray) -> Normal | None:
        """Refit a guess on the half of all rows that is closest to it.

        The fit to that half is too narrow for a clean table and about right for one that is half
        wrong. It is left so: the alternation widens a narrow start, but outliers that a wide one
        lets in may stay. Only a shrunk covariance, which few rows determine, keeps the half that
        it was fitted to for good: it is grown.
        """
        try:
            weights = self.concentrate_weights(guess, pool)
            fit = self.grow(weights)[1].fit if self.model.amount > 0 else self.fit(weights)
            _ = fit.factor  # raises here if the fit is singular
        except SingularFitError:
            return None
        return fit

    def concentrate_weights(self, guess: FloatArray, pool: FloatArray) -> FloatArray:
        """Return the half of all rows to which a guess leads; raise on an exact fit."""
        # Without shrinkage a fit needs more rows than columns. This size breaks down last.
        spare = self.values.shape[1] + 1 if self.model.amount == 0 else 1
        half = 0.5 * (self.mass.sum() + spare)
        share = min(half / pool.sum(), 1.0)
        weights, log_det = guess, np.inf
        # In many columns a guess comes from a search of its own.
        least = _CONCENTRATION_STEPS if self.values.shape[1] <= WIDE else 1
        # A shrunk covariance is never singular, so that no fall has to be watched.
        is_open = self.model.amount == 0
        fall = max(_LEAST_FALL, _EQUAL_FALL * self.values.shape[1])
        for step in range(_MOST_CONCENTRATIONS if is_open else least):
            fit = self.fit(weights)
            try:
                before, log_det = log_det, fit.log_det
            except SingularFitError:
                self._raise_if_exact(fit)
                raise
            if step >= least and before - log_det < fall:
                break
            distances = self._leave_out(Measured(fit, self.values), weights)
            weights = pool * (distances <= weighted_quantiles(distances, pool, (share,)))
        return weights

    def _raise_if_exact(self, fit: Normal) -> None:
        """Raise if more than half of all rows satisfy the relations of a singular fit."""
        if self.model.covariance != "full":
            return
        on_plane = find_plane(fit, self.values) & (self.mass > 0)
        is_most = 2 * (self.mass @ on_plane) > self.total
        if is_most and not are_corners(self.values[on_plane]):
            raise ExactFitError(on_plane)

    def _look_for_plane(self, collapsed: Normal) -> None:
        """Raise if an alternation has collapsed onto a plane that holds more than half of the rows.

        The half of the rows closest to the collapsed fit then lies on the plane, or will after
        some concentration.
        """
        with suppress(SingularFitError):
            distances = collapsed.mahalanobis(self.values)
            near = distances <= weighted_quantiles(distances, self.mass, (0.5,))
            self.concentrate(self.mass * near, self.mass)

    def grow(self, weights: FloatArray) -> tuple[FloatArray, Measured]:
        """Take in all rows that lie as close to a fit as those it was fitted to, again and again.

        Returns the weights of these rows, and a fit to them, or to all but a few of them.

        Both are measured from the fit without the row. Cube roots of squared distances are close
        to Gaussian (Wilson and Hilferty). Their spread is that of the nearer half at first, and
        then that of all rows taken in.
        """
        farthest = float(ndtri(1 - _LEFT_OUT))
        for step in range(_GROWTH_STEPS if self.values.shape[1] <= WIDE else _FEW_GROWTH_STEPS):
            measured = Measured(self.fit(weights), self.values)
            roots = np.cbrt(self._leave_out(measured, weights))
            if step == 0:
                low, middle = weighted_quantiles(roots, weights, (0.25, 0.5))
                spread = (middle - low) / float(ndtri(0.75))
            else:
                moments = weighted_moments(roots[:, None], weights, diagonal=True)
                middle, spread = moments.mean[0], np.sqrt(moments.scatter[0])
            before, weights = weights, self.mass * (roots <= middle + farthest * spread)
            if self.mass @ (weights != before) <= _SETTLED * self.mass.sum():
                return weights, measured
        return weights, Measured(self.fit(weights), self.values)

    def fit(self, weights: FloatArray) -> Normal:
        """Return the fit to weighted rows, in their precision."""
        if self.values.dtype == np.float32:
            return self.model.solve(rough_moments(self.values, weights)).astype(np.float32)
        return self.model.solve(self.model.statistics(self.values, weights))

    def _leave_out(self, measured: Measured, weights: FloatArray) -> FloatArray:
        """Return the squared distances of rows from the fit to weighted rows.

        A row that has a part of a shrunk covariance to itself is measured from the fit without it.
        With many rows per column that makes no difference.
        """
        if self.model.amount == 0.0:
            return measured.distances
        # All rows that count have equal weights here: c = 0.
        taken = weights > 0
        pull = SelfPull(
            0.0, 1 / weights.sum(), 1 - self.model.amount, part_in_span(self.model, measured.fit)
        )
        left_out = measured.distances.copy()
        left_out[taken] = pull.leave_out(left_out[taken])
        return left_out

    def end(
        self, alpha: float, start: Normal, *, tol: float = 1e-5, max_iter: int = 60
    ) -> Candidate | None:
        """Alternate from a start; None if it collapses."""
        rows = MemoryRows(self.values, self.prior)
        start = start.astype(np.float64)
        result = alternate(self.model, rows, alpha, start, tol=tol, max_iter=max_iter)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # a search cut short has no answer
        if result.status is Status.COLLAPSED:
            self._look_for_plane(result.last)
            return None
        theta, coupling = result.theta, min(self.model.coupling(alpha), 0.999)
        distances, cut = self._measure(result, coupling)
        inside = distances <= cut
        coverage = float(self.mass @ inside / self.mass.sum())
        belonging = distances <= max(cut, self.cut_of_new_rows(result, coupling, 0.99))
        is_majority = bool(2 * (self.mass @ belonging) >= self.mass.sum())
        log_det = theta.log_det - len(theta.location) * float(np.log(1 - coupling))
        return Candidate(result, coupling, inside, coverage, is_majority, log_det, cut)

    def cut_of_new_rows(self, result: Result[Normal], coupling: float, share: float) -> float:
        """Return the distance within which a share of good rows lie that had no part in the fit.

        Rows with little weight are almost new ones, and a covariance from few rows puts them too
        far out. With less than two rows per column, nothing is known of them.
        """
        rank, size = len(result.theta.location), result.effective_size / self.copies
        if self.model.covariance != "full" or self.model.amount > 0.0 or size < 2 * rank:
            return 0.0
        law = ScaledF.of_fit(rank, size, coupling)
        return float(law.distance_at(np.array(1 - share))) / (1 - coupling)

    def _measure(self, result: Result[Normal], coupling: float) -> tuple[FloatArray, float]:
        """Return the distances of all rows, and that of the 99 % ellipsoid.

        Under the weights, distances of Gaussian rows are χ² with D degrees; without them 1/(1-c)
        times that. Shrinkage changes their law to about a gamma law, known by weighted moments.
        """
        distances = result.theta.mahalanobis(self.values)
        shape, scale = len(result.theta.location) / 2, 2.0
        tilt = coupling * scale / 2
        if self.model.amount > 0:
            weights = self.mass * np.exp(-coupling * (distances - distances.min()) / 2)
            pull = self.model.pull(result, float(self.mass.sum()), -np.inf)
            distances = pull.leave_out(distances) / (1 - coupling)
            moments = weighted_moments(distances[:, None], weights, diagonal=True)
            mean, variance = float(moments.mean[0]), float(moments.scatter[0])
            scale = max(variance, 1e-12 * mean**2, 1e-300) / max(mean, 1e-300)
            shape, tilt = mean / scale, 0.0
        return distances, float(scale / max(1 - tilt, 0.05) * gammaincinv(shape, 0.99))


def _order_by_preference(found: list[Candidate]) -> Iterator[Candidate]:
    """Yield ends in order of determinant; of nearly equal ones the lowest objective first.

    A solution that hides a small cluster loses as many rows elsewhere, and so its determinant is
    much like that of the solution without the cluster, or smaller; its objective is higher.
    """
    remaining = sorted(found, key=lambda candidate: candidate.result.last.log_det)
    while remaining:
        smallest = remaining[0].result.last
        bound = smallest.log_det + _EQUAL_LOG_DET * len(smallest.location)
        level = [candidate for candidate in remaining if candidate.result.last.log_det <= bound]
        yield from sorted(level, key=lambda candidate: candidate.result.objective)
        remaining = remaining[len(level) :]
