"""Where the Gaussian starts, and with which α.

The objective has several local minima, and one of them is worthless (all weight on a few rows), so
the answer is decided by where the alternation starts and which of its ends is believed:

1. *Guess* subsets of rows that may be clean: the half closest to the centre in several robust
   metrics, the larger side of a split along directions of extreme kurtosis, and all rows.
2. *Concentrate* each: refit on the half closest to the fit, a few times. Keep the fit to all rows
   as well.
3. *Alternate* from each distinct one.
4. *Admit* an end only if its ellipsoid holds at least half of the rows: otherwise a tight minority
   would win by its small determinant. Among those admitted, the smallest determinant decides,
   and between nearly equal ones the lowest objective.
5. *Peel*: rows held by a minority solution leave the guesses (not the data), and 1-4 are repeated.

No single α separates every group of outliers, so the search looks at bolder ones as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaincinv

from eosparse.core import (
    BoolArray,
    CollapseError,
    DegenerateDataWarning,
    FloatArray,
    MaskingWarning,
    Result,
    Status,
    alternate,
    warn_caller,
    weighted_moments,
    weighted_quantiles,
)
from eosparse.models.base import Attempt, Request
from eosparse.models.efficiency import (
    coupling_for_efficiency,
    covariance_parameters,
    largest_stable_coupling,
    largest_uncaptured_coupling,
)
from eosparse.models.gaussian_guesses import guess_clean_rows
from eosparse.models.normal import Normal, SingularFitError
from eosparse.models.shrinkage import choose_shrinkage
from eosparse.rows import MemoryRows, Sample, map_parallel

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel

# Efficiency of the location behind alpha="auto"; the lower one that looks for masked groups; and
# those tried in turn where only a minority holds together. The usable window may be narrow.
AUTO_EFFICIENCY = 0.7
_BOLD_EFFICIENCY = 0.4
_BOLDER_EFFICIENCIES = (0.55, _BOLD_EFFICIENCY, 0.2)
# How often "auto" may double alpha to escape a collapse: up to 32 times the first value.
_MOST_RELAXATIONS = 5
# "auto" shrinkage of data whose bulk satisfies an exact relation, so that no other fit exists.
_FALLBACK_SHRINKAGE = 0.1
# Up to this many numbers, a search for a start is mostly Python, which threads would only hinder.
_SMALL_SAMPLE = 2**16
# Refits after which concentrating hardly changes a fit.
_CONCENTRATION_STEPS = 3
# Distinct starts that are followed, and rounds of peeling: each costs alternations on the sample.
_MOST_ENDS = 6
_MOST_PEELINGS = 3
# Peeling ends when less than this part of the rows is left: too few for a majority.
_LEAST_POOL = 0.4
# Determinants that differ by less than this per column do not decide between two ends.
_EQUAL_LOG_DET = 0.02
# A group that hides is at least this part of the rows.
_LEAST_GROUP = 0.1


def propose_attempts(
    model: GaussianModel, sample: Sample, request: Request
) -> Iterator[Attempt[Normal]]:
    """Yield ways to fit all rows, best first; each is tried if those before collapse."""
    choice = _Choice(model, sample, request)
    coupling = choice.first_coupling()
    # Shrinkage is the remedy for a collapse without it, a larger alpha for one in spite of it.
    may_relax = request.is_alpha_open and (model.amount > 0 or model.covariance != "full")
    for relaxation in range(_MOST_RELAXATIONS if may_relax else 0):
        with suppress(CollapseError):
            yield from choice.attempt(coupling / 2**relaxation)
    is_open = request.is_alpha_open and model.covariance == "full" and model.amount == 0.0
    is_open &= model.shrinkage == "auto"
    try:
        yield from choice.attempt(coupling / 2 ** (_MOST_RELAXATIONS if may_relax else 0))
    except CollapseError:
        if not is_open:
            raise
    if is_open:
        warn_caller(
            "every fit of the covariance collapses onto a few rows. Most rows may be tied, or "
            "satisfy an almost exact linear relation between columns (most of all "
            f"{_name_dependent_columns(model, sample)}), or a tight group of rows may lie apart. "
            f"The covariance is shrunk by {_FALLBACK_SHRINKAGE} and the start is uniform; p-values "
            "are approximate. Leave out one of the columns, or set shrinkage yourself.",
            DegenerateDataWarning,
        )
        # A robust start would look for the exact relation again.
        milder = choose_shrinkage(replace(model, shrinkage=_FALLBACK_SHRINKAGE), sample)
        yield from propose_attempts(milder, sample, replace(request, searches=False))


@dataclass(frozen=True)
class _Choice:
    """The values of c, and the starts, that a model may have on a sample."""

    model: GaussianModel
    sample: Sample
    request: Request

    def first_coupling(self) -> float:
        """Return the c that was asked for, or the one that "auto" begins with."""
        model, alpha = self.model, self.request.alpha
        if alpha != "auto":
            if alpha <= model.alpha(1.0):
                raise CollapseError(
                    f"alpha={alpha:.6g} is too small: at or below {model.alpha(1.0):.6g} the "
                    "covariance collapses onto a point. Use a larger alpha."
                )
            return model.coupling(alpha)
        if self.request.efficiency is not None:
            return coupling_for_efficiency(self.request.efficiency, model.dimension)
        asked = coupling_for_efficiency(AUTO_EFFICIENCY, model.dimension)
        return min(asked, self._largest_stable(self.sample.n_rows))

    def _largest_stable(self, n_rows: float, safety: float = 2.0) -> float:
        """Return the largest safe c; up to half of the rows may turn out not to belong."""
        structure, dimension = self.model.covariance, self.model.dimension
        parameters = covariance_parameters(structure, dimension)
        stable = largest_stable_coupling(parameters, n_rows / 2, safety)
        if structure != "full":
            return stable
        return min(stable, largest_uncaptured_coupling(dimension, n_rows / 2, safety))

    def attempt(self, coupling: float) -> Iterator[Attempt[Normal]]:
        """Yield the attempts at a value of c: bolder ones first, if there are any."""
        model, asked = self.model, self.request.alpha
        alpha = model.alpha(coupling) if asked == "auto" else asked
        if not self.request.searches:
            yield Attempt(model, alpha)
            return
        assert model.coordinates is not None
        size = float(self.sample.mass.sum())
        crowding = model.crowding * self.sample.n_rows / size
        working = replace(model, coordinates=None, crowding=crowding)
        values = model.coordinates(self.sample.values)
        mass = self.sample.mass
        search = StartSearch(working, values, mass, None if (mass == 1.0).all() else mass)
        bearable = coupling
        if not self.sample.is_whole:  # as much as fewer rows can bear
            bearable = min(coupling, self._largest_stable(size))
        best = search.best(model.alpha(bearable))
        bolder = self._find_bolder(search, best)
        if best is bolder is None:
            raise CollapseError(
                f"every start collapsed at alpha={model.alpha(coupling):.6g}: too few rows keep "
                "their weight. Use a larger alpha, more shrinkage, or fewer columns."
            )
        found = bolder or best
        if found is not None and not found.is_majority:
            warn_caller(
                "no solution holds half of the rows; the one that holds most, "
                f"{found.coverage:.0%}, is reported. The rows may form several groups, or be far "
                "from Gaussian.",
                MaskingWarning,
            )
        if bolder is not None:
            # What holds together on the sample may still collapse on all rows.
            yield Attempt(model, model.alpha(bolder.coupling), bolder.result.theta)
        if best is not None:
            # What was found on the sample is scaled to the c used on all rows.
            theta, factor = best.result.theta, (1 - coupling) / (1 - best.coupling)
            yield Attempt(model, alpha, Normal(theta.location, theta.covariance * factor))

    def _find_bolder(self, search: StartSearch, found: Candidate | None) -> Candidate | None:
        """Look for groups that only a smaller alpha separates, if alpha is open.

        If only a minority was found, a majority that holds together at a smaller alpha is better.
        If a majority was found, a group may hide in it; with enough rows one can tell.
        """
        if not self.request.is_alpha_open or self.model.amount > 0.0:
            return None
        size, rank = float(search.mass.sum()), search.values.shape[1]
        # Closer to the bound than usual: if it collapses, the first solution remains.
        stable = self._largest_stable(size, safety=1.3)
        bolder = {
            efficiency: min(coupling_for_efficiency(efficiency, self.model.dimension), stable)
            for efficiency in _BOLDER_EFFICIENCIES
        }
        if found is not None and found.is_majority:
            has_enough = size >= max(20 * rank, 200)
            return search.unmask(found, bolder[_BOLD_EFFICIENCY]) if has_enough else None
        for coupling in sorted(set(bolder.values())):
            best = search.best(search.model.alpha(coupling))
            if best is not None and best.is_majority:
                return best
        return None


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
        Whether that is at least half.
    corrected_log_det : float
        Log-determinant of the consistent covariance.
    """

    result: Result[Normal]
    coupling: float
    inside: BoolArray
    coverage: float
    is_majority: bool
    corrected_log_det: float


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
    """

    model: GaussianModel
    values: FloatArray
    mass: FloatArray
    prior: FloatArray | None = None

    def best(self, alpha: float) -> Candidate | None:
        """Return the best admitted end, else the one that holds most rows, else None."""
        found = self.ends(alpha)
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
                # Slow progress may look like an end: continue, and see whether it holds.
                end = self.end(alpha, candidate.result.theta, tol=1e-12, max_iter=500)
                if end is not None and end.is_majority:
                    return end
                minority += [] if end is None else [end]
        return max(minority, key=lambda c: c.coverage, default=None)

    def ends(self, alpha: float, starts: list[Normal] | None = None) -> list[Candidate]:
        """Return where the alternation leads from each start, roughly."""
        chosen = self._starts_from_all if starts is None else starts
        is_small = self.values.size <= _SMALL_SAMPLE
        ends = (map if is_small else map_parallel)(lambda start: self.end(alpha, start), chosen)
        return [end for end in ends if end is not None]

    def unmask(self, found: Candidate, coupling: float) -> Candidate | None:
        """Return a solution without a group that `found` keeps, None if there is none.

        On clean rows `found` hardly changes when continued at the bold alpha. A mixture of two
        groups falls apart there; or another solution, with a tenth of the rows fewer, has a
        significantly smaller determinant. In both cases that one is the better answer.
        """
        alpha = self.model.alpha(coupling)
        ends = [end for end in self.ends(alpha) if end.is_majority]
        if not ends:
            return None
        other = min(ends, key=lambda end: end.result.theta.log_det)
        continued = self.end(alpha, found.result.theta)
        if continued is None or continued.coverage < found.coverage - _LEAST_GROUP:
            return other
        gain = found.corrected_log_det - other.corrected_log_det
        size = other.result.effective_size * (1 - coupling**2) ** 2
        # Four standard errors of the log-determinant.
        is_smaller = gain > 4 * np.sqrt(2 * self.values.shape[1] / size)
        is_smaller = is_smaller and other.coverage < found.coverage - _LEAST_GROUP
        return other if is_smaller else None

    @cached_property
    def _starts_from_all(self) -> list[Normal]:
        return self._find_starts(self.mass)

    def _find_starts(self, pool: FloatArray) -> list[Normal]:
        """Return distinct fits from every guess; they do not depend on alpha."""
        guesses = guess_clean_rows(self.values, pool)
        is_small = self.values.size <= _SMALL_SAMPLE
        refined = (map if is_small else map_parallel)(
            lambda guess: self._concentrate(guess, pool), guesses
        )
        fits = [fit for fit in refined if fit is not None]
        # The classical fit too, unconcentrated: ties may make every half of the rows singular.
        distinct = [self.model.solve(self.model.statistics(self.values, pool))]
        for fit in sorted(fits, key=lambda fit: fit.log_det):
            if not any(fit.is_like(other) for other in distinct[1:]):
                distinct.append(fit)
        return distinct[:_MOST_ENDS]

    def _concentrate(self, guess: FloatArray, pool: FloatArray) -> Normal | None:
        """Refit a guess on the half of all rows that is closest to it.

        The fit to that half is too narrow for a clean table and about right for one that is half
        wrong. It is left so: the alternation widens a narrow start, but outliers that a wide one
        lets in may stay.
        """
        # Without shrinkage a fit needs more rows than columns. This size breaks down last.
        spare = self.values.shape[1] + 1 if self.model.amount == 0 else 1
        half = 0.5 * (self.mass.sum() + spare)
        share = min(half / pool.sum(), 1.0)
        model, weights = self.model, guess
        try:
            for _ in range(_CONCENTRATION_STEPS):
                fit = model.solve(model.statistics(self.values, weights))
                distances = fit.mahalanobis(self.values)
                weights = pool * (distances <= weighted_quantiles(distances, pool, (share,)))
            fit = model.solve(model.statistics(self.values, weights))
            _ = fit.factor  # raises here if the fit is singular
        except SingularFitError:
            return None
        return fit

    def end(
        self, alpha: float, start: Normal, *, tol: float = 1e-5, max_iter: int = 60
    ) -> Candidate | None:
        """Alternate from a start; None if it collapses."""
        rows = MemoryRows(self.values, self.prior)
        result = alternate(self.model, rows, alpha, start, tol=tol, max_iter=max_iter)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # a search cut short has no answer
        if result.status is Status.COLLAPSED:
            return None
        theta, coupling = result.theta, min(self.model.coupling(alpha), 0.999)
        inside = self._is_inside(theta, coupling)
        coverage = float(self.mass @ inside / self.mass.sum())
        log_det = theta.log_det - len(theta.location) * float(np.log(1 - coupling))
        return Candidate(result, coupling, inside, coverage, coverage >= 0.5, log_det)

    def _is_inside(self, theta: Normal, coupling: float) -> BoolArray:
        """Return which rows lie within the 99 % ellipsoid of a fit.

        Under the weights, distances of Gaussian rows are χ² with D degrees; without them 1/(1-c)
        times that. Shrinkage changes their law to about a gamma law, known by weighted moments.
        """
        distances = theta.mahalanobis(self.values)
        shape, scale = len(theta.location) / 2, 2.0
        if self.model.amount > 0:
            weights = self.mass * np.exp(-coupling * (distances - distances.min()) / 2)
            moments = weighted_moments(distances[:, None], weights, diagonal=True)
            mean, variance = float(moments.mean[0]), float(moments.scatter[0])
            scale = max(variance, 1e-12 * mean**2, 1e-300) / max(mean, 1e-300)
            shape = mean / scale
        untilted = scale / max(1 - coupling * scale / 2, 0.05)
        inside: BoolArray = distances <= untilted * gammaincinv(shape, 0.99)
        return inside


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


def _name_dependent_columns(model: GaussianModel, sample: Sample) -> str:
    """Name the columns that vary least in the central half of the rows, given the others."""
    assert model.coordinates is not None
    scaled = model.coordinates.standardise(sample.values)
    near = np.square(scaled).sum(axis=1)
    centre = scaled[near <= np.median(near)]
    _, vectors = np.linalg.eigh(np.cov(centre, rowvar=False).reshape(scaled.shape[1], -1))
    order = np.argsort(-np.abs(vectors[:, 0]), kind="stable")[:3]
    involved = [i for i in order if abs(vectors[i, 0]) > 0.1]
    return ", ".join(repr(sample.table.columns[i]) for i in involved)
