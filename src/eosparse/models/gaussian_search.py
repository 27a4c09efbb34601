"""Where the Gaussian starts, and with which α.

`gaussian_ends` finds solutions on a sample of the rows, and compares them. No single α separates
every group of outliers, so bolder ones are tried as well, and a solution that holds two groups is
split. What is chosen in the end is as good as everything found before, by the one criterion
`StartSearch.choose`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import (
    BoolArray,
    CollapseError,
    DegenerateDataWarning,
    FloatArray,
    MaskingWarning,
    warn_caller,
)
from eosparse.models.base import Attempt, Request
from eosparse.models.directions import WIDE
from eosparse.models.efficiency import (
    coupling_for_efficiency,
    covariance_parameters,
    largest_stable_coupling,
    largest_uncaptured_coupling,
)
from eosparse.models.exact_fit import ExactFitError, name_dependent_columns, restrict
from eosparse.models.gaussian_ends import Candidate, Measured, StartSearch
from eosparse.models.normal import Normal
from eosparse.models.recapture import MOST_WEIGHT, leaves_out, lie_far, stay_out
from eosparse.models.shrinkage import choose_shrinkage
from eosparse.models.sketch import Members, choose_sketch, narrow_model
from eosparse.rows import Sample, single_threaded_blas

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
# Groups that are split off one after the other.
_MOST_SPLITS = 3
# With fewer rows, a solution of clean ones may hold little more than half of them by chance.
_ENOUGH_FOR_SHARES = 100
# A solution that holds other rows, by this share, is another one; at another c some always change.
_OTHER_ROWS = 0.08
# Fewer rows are no group.
_FEWEST_APART = 5
# With few rows per column: up to twice c, p-values of good rows hardly changed in trials.
_BOLDER_IN_A_CROWD = (1.5, 2.0)
# Directions that few rows choose put some of these up to 1.4 times as far by chance.
_FARTHER = 2.0
# With fewer rows for each direction of a sketch, a search in it would not be a robust one. Where
# rows are few for the columns, what columns have in common may take many directions.
_ROWS_PER_DIRECTION, _FEW_ROWS_PER_DIRECTION = 20, 12


def propose_attempts(
    model: GaussianModel, sample: Sample, request: Request
) -> Iterator[Attempt[Normal]]:
    """Yield ways to fit all rows, best first; each is tried if those before collapse."""
    try:
        yield from _propose(model, sample, request)
    except ExactFitError as exact:
        assert model.coordinates is not None
        inner = restrict(model, model.coordinates, sample, exact.rows)
        yield from propose_attempts(inner, sample, request)


def _propose(model: GaussianModel, sample: Sample, request: Request) -> Iterator[Attempt[Normal]]:
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
            f"{name_dependent_columns(model, sample)}), or a tight group of rows may lie apart. "
            f"The covariance is shrunk by {_FALLBACK_SHRINKAGE} and the start is uniform; p-values "
            "are approximate. Leave out one of the columns, or set shrinkage yourself.",
            DegenerateDataWarning,
        )
        # A robust start would look for the exact relation again.
        milder = choose_shrinkage(replace(model, shrinkage=_FALLBACK_SHRINKAGE), sample)
        yield from _propose(milder, sample, replace(request, searches=False))


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
        # Rows scatter in all directions of a shrunk covariance, however few it fits.
        dimension = model.dimension if model.amount == 0.0 else model.n_features
        if self.request.efficiency is not None:
            return coupling_for_efficiency(self.request.efficiency, dimension)
        asked = coupling_for_efficiency(AUTO_EFFICIENCY, dimension)
        return min(asked, self._largest_stable(self.sample.n_rows / self.sample.copies))

    def _largest_stable(self, n_rows: float, safety: float = 2.0) -> float:
        """Return the largest safe c; up to half of the rows may turn out not to belong."""
        structure, dimension = self.model.covariance, self.model.dimension
        parameters = covariance_parameters(structure, dimension)
        stable = largest_stable_coupling(parameters, n_rows / 2, safety) / self.model.feedback
        if structure != "full" or self.model.amount > 0.0:
            return stable
        return min(stable, largest_uncaptured_coupling(dimension, n_rows / 2, safety))

    def attempt(self, coupling: float) -> Iterator[Attempt[Normal]]:
        """Yield the attempts at a value of c: the best solution first."""
        model, asked = self.model, self.request.alpha
        alpha = model.alpha(coupling) if asked == "auto" else asked
        assert model.coordinates is not None
        if model.coordinates.rank == 0:
            yield Attempt(model, alpha, Normal(np.zeros(0), np.zeros((0, 0))))
            return
        if not self.request.searches or coupling == 0.0:  # equal weights need no start
            yield Attempt(model, alpha)
            return
        if model.covariance == "full" and model.coordinates.rank > WIDE:
            yield from self._attempt_wide(coupling, alpha)
            return
        bearable = self._bear(coupling)
        best, found = self.find_solution(bearable)
        if found is None:
            raise CollapseError(
                f"every start collapsed at alpha={model.alpha(coupling):.6g}: too few rows keep "
                "their weight. Use a larger alpha, more shrinkage, or fewer columns."
            )
        refused: list[float] = []
        attempts = []
        for end in (found,) if best is None or found is best else (found, best):
            # At the first c, the solution is scaled to the c used on all rows.
            is_first = end.result.alpha == model.alpha(bearable)
            c = coupling if is_first else end.coupling
            attempt = self._follow(end, c, refused)
            attempts.append(replace(attempt, alpha=alpha if is_first else end.result.alpha))
        yield from attempts
        if not refused:  # all of them collapsed
            return
        bolder = self._bolder_couplings(float(self.sample.n_rows) / self.sample.copies)
        for c in sorted(c for c in set(bolder.values()) if c > model.coupling(attempts[0].alpha)):
            yield self._follow(found, c, refused)
        self._warn_of_near(1 - found.coverage)
        yield replace(attempts[0], accepts=None)

    def _follow(self, end: Candidate, coupling: float, refused: list[float]) -> Attempt[Normal]:
        """Return the attempt that starts from a solution on the sample, at some c.

        On all rows it may still collapse, or take in what the solution leaves out.
        """
        model = self.model
        factor = (1 - coupling) / (1 - end.coupling) if coupling != end.coupling else 1.0
        theta = Normal(end.theta.location, end.theta.covariance * factor)
        is_told = end.is_majority and model.covariance == "full" and model.amount == 0.0
        accepts = partial(self._leaves_out_far, end, coupling, refused) if is_told else None
        return Attempt(model, model.alpha(coupling), theta, accepts=accepts)

    def _leaves_out_far(
        self, end: Candidate, coupling: float, refused: list[float], theta: Normal
    ) -> bool:
        """Whether a fit to all rows leaves out what lies far beyond a solution on the sample."""
        search = self.search()
        far = lie_far(end, search, 1.0) & (search.mass > 0)
        most = MOST_WEIGHT * float(search.mass.sum())
        stays = leaves_out(theta, coupling, search.values[far], search.mass[far], most)
        refused += [] if stays else [coupling]
        return stays

    def _bear(self, coupling: float) -> float:
        """Return the c that the sample bears."""
        if self.sample.is_whole:
            return coupling
        size = float(self.sample.mass.sum()) / self.sample.copies
        return min(coupling, self._largest_stable(size))

    def find_solution(self, coupling: float) -> tuple[Candidate | None, Candidate | None]:
        """Return the best solution at a value of c, and the best of all."""
        search = self.search()
        best = search.best(search.model.alpha(coupling))
        return best, self._improve(search, best)

    def search(self) -> StartSearch:
        """Return the search on the sample, in working coordinates."""
        model, sample = self.model, self.sample
        crowding = model.crowding * sample.n_rows / float(sample.mass.sum())
        working = replace(model, coordinates=None, crowding=crowding, is_exact_fit=False)
        values, mass = sample.values, sample.mass
        if model.coordinates is not None:
            values = model.coordinates(sample.values)
        if model.is_exact_fit:
            assert model.coordinates is not None
            mass = mass * (model.coordinates.off_span(sample.values) == 0)
        prior, total = None if (mass == 1.0).all() else mass, float(sample.mass.sum())
        return StartSearch(working, values, mass, prior, sample.copies, total)

    def _search_roughly(self) -> StartSearch:
        """Return the search in single precision: which rows belong is no question of digits."""
        search = self.search()
        return replace(search, values=search.values.astype(np.float32))

    def _improve(self, search: StartSearch, best: Candidate | None) -> Candidate | None:
        """Return the best solution at any c; warn if rows that it holds may be outliers."""
        found = self._find_bolder(search, best) or best
        if found is None:
            return None
        if not found.is_majority:
            warn_caller(
                "no solution holds half of the rows; the one that holds most, "
                f"{found.coverage:.0%}, is reported. The rows may form several groups, or be far "
                "from Gaussian.",
                MaskingWarning,
            )
            return found
        found, holds_groups = self._split_groups(search, found)
        # Two standard errors of the share of the rows; a 99 % ellipsoid holds half of 99 %.
        size = float(search.mass.sum()) / search.copies
        if size >= _ENOUGH_FOR_SHARES and found.coverage < 0.495 + 1 / np.sqrt(size):
            warn_caller(
                f"the solution holds {found.coverage:.0%} of the rows, hardly more than half: the "
                "others may be another group as large, which counts as outliers here.",
                MaskingWarning,
            )
        elif holds_groups:
            warn_caller(
                f"the {found.coverage:.0%} of the rows that belong together form groups that no "
                "solution tells apart: outliers may be among them, and p-values are those of "
                "one Gaussian. Look at the rows, or try model='mixture' or model='clusters'.",
                MaskingWarning,
            )
        return found

    def _attempt_wide(self, coupling: float, alpha: float) -> Iterator[Attempt[Normal]]:
        """Search in a few directions only, and start from the rows that belong there."""
        model, sample = self.model, self.sample
        assert model.coordinates is not None
        working, size = model.coordinates(sample.values), float(sample.mass.sum()) / sample.copies
        per_direction = _FEW_ROWS_PER_DIRECTION if model.amount > 0.0 else _ROWS_PER_DIRECTION
        n_directions = max(2, int(size / per_direction))
        sketch = choose_sketch(model.coordinates, sample, working, n_directions)
        seen = replace(sample, values=working @ sketch.directions, n_rows=float(sample.mass.sum()))
        narrow = _Choice(narrow_model(model, seen), seen, Request())
        with single_threaded_blas():  # matrices are small
            found = narrow.find_solution(narrow.first_coupling())[1]
        if found is None:
            yield Attempt(model, alpha)
            return
        is_held = found.inside & (sample.mass > 0)
        centre = sample.mass[is_held] @ working[is_held] / sample.mass[is_held].sum()
        members = Members(model, sketch, found.theta, found.cut, coupling, centre)
        far = lie_far(found, narrow.search(), _FARTHER if model.amount > 0.0 else 1.0)
        if model.amount > 0.0:
            start = members.weigh(working, sample.mass)
            yield self._attempt_crowded(start, far, coupling, alpha)
            return
        refused: list[float] = []
        tried: list[float] = []
        apart = seen.values[far], seen.mass[far], MOST_WEIGHT * float(seen.mass.sum())

        def accept(c: float, theta: Normal) -> bool:
            stays = members.leaves_out(*apart, c, theta)
            refused.extend([] if stays else [c])
            return stays

        for c in self._hold(narrow.search(), found, far, coupling):
            tried.append(c)
            begin, accepts = replace(members, coupling=c), partial(accept, c)
            yield Attempt(model, alpha if c == coupling else model.alpha(c), None, begin, accepts)
        if tried and not refused:  # all of them collapsed
            return
        self._warn_of_near(1 - found.coverage)
        yield Attempt(model, alpha, begin=members)

    def _attempt_crowded(
        self, start: FloatArray, far: BoolArray, coupling: float, alpha: float
    ) -> Attempt[Normal]:
        """Start from the rows that lie as close as some do, and let these choose the shrinkage.

        Outliers make a table look structured, and a covariance that follows them takes them in. So
        it may take in rows that lie far away in the sketch, which is said.
        """
        search = self._search_roughly()
        weights, grown = search.grow(search.concentrate_weights(start, self.sample.mass))
        if not self.request.is_alpha_open or self.model.shrinkage != "auto":
            return Attempt(self.model, alpha, grown.fit.astype(np.float64))
        taken = weights > 0
        if (weights == self.sample.mass).all():  # they have chosen it before
            self._warn_if_near(grown, coupling, taken & ~far)
            return Attempt(self.model, alpha, grown.fit.astype(np.float64))
        share = float(weights.sum() / self.sample.mass.sum())
        rows = replace(
            self.sample,
            values=self.sample.values[taken],
            mass=weights[taken],
            n_rows=share * self.sample.n_rows,
        )
        inner = replace(self, model=choose_shrinkage(self.model, rows))
        weights, grown = inner._search_roughly().grow(weights)
        relaxed = inner.first_coupling() * coupling / self.first_coupling()
        taken = weights > 0
        if not self._warn_if_near(grown, relaxed, taken & ~far) and not (far & taken).any():
            relaxed = inner._keep_out(grown, relaxed, taken)
        return Attempt(inner.model, inner.model.alpha(relaxed), grown.fit.astype(np.float64))

    def _warn_if_near(self, grown: Measured, coupling: float, taken: BoolArray) -> bool:
        """Warn, and return True, if rows that should be left out have weight, taken in or not."""
        mass = self.sample.mass
        left_out = 1 - float(mass @ taken / mass.sum())
        weights = mass * np.exp(-coupling / 2 * grown.distances)
        n_left = float(mass @ ~taken) / self.sample.copies
        is_group = left_out > MOST_WEIGHT and n_left >= _FEWEST_APART
        is_near = is_group and bool(weights @ ~taken > MOST_WEIGHT * weights.sum())
        if is_near:
            self._warn_of_near(left_out)
        return is_near

    def _keep_out(self, grown: Measured, coupling: float, taken: BoolArray) -> float:
        """Return the first c at which rows that were left out stay out; warn if there is none."""
        mass = self.sample.mass
        left_out = 1 - float(mass @ taken / mass.sum())
        if left_out <= MOST_WEIGHT:
            return coupling
        rows = (grown.fit, grown.values, grown.distances, mass, ~taken)
        for c in (coupling, *(factor * coupling for factor in _BOLDER_IN_A_CROWD)):
            if stay_out(*rows, c) or self._ends_without(grown, ~taken, c):
                return c
        self._warn_of_near(left_out)
        return coupling

    def _ends_without(self, grown: Measured, left: BoolArray, coupling: float) -> bool:
        """Whether the alternation from a fit ends without rows that were left out of it."""
        search = self.search()
        end = search.end(search.model.alpha(coupling), grown.fit, tol=1e-9, max_iter=100)
        if end is None:
            return False
        there = end.theta.mahalanobis(search.values[left])
        return bool(search.mass[left] @ there >= search.mass[left] @ grown.distances[left] / 2)

    def _hold(
        self, narrow: StartSearch, found: Candidate, far: BoolArray, coupling: float
    ) -> Iterator[float]:
        """Yield values of c for all columns at which rows left out in a sketch stay out of it.

        In all columns they may be taken in all the same, where they vary less than other rows do.
        Rows near the boundary always change sides at another c; those far beyond it do only if a
        group of them is taken in.
        """
        bolder = self._bolder_couplings(float(self.sample.n_rows) / self.sample.copies)
        total = float(narrow.mass.sum())
        for c in (coupling, *sorted(c for c in set(bolder.values()) if c > coupling)):
            end = narrow.end(narrow.model.alpha(c), found.theta, tol=1e-12, max_iter=500)
            if end is None or narrow.mass @ (end.inside & far) > MOST_WEIGHT * total:
                continue
            if narrow.mass @ (end.inside ^ found.inside) < _OTHER_ROWS * total:
                yield c

    def _warn_of_near(self, share: float) -> None:
        warn_caller(
            f"{share:.0%} of the rows lie apart in a few directions, but too near to "
            f"be told from the others in all {self.model.n_features} columns: they may be outliers "
            "that are not flagged. Leave out columns that say nothing about them.",
            MaskingWarning,
        )

    def _find_bolder(self, search: StartSearch, found: Candidate | None) -> Candidate | None:
        """Look for groups that only a smaller alpha separates, if alpha is open.

        If only a minority was found, a majority that holds together at a smaller alpha is better.
        If a majority was found, a group may hide in it; with enough rows one can tell.
        """
        size, rank = float(search.mass.sum()) / search.copies, search.values.shape[1]
        bolder = self._bolder_couplings(size)
        if found is not None and found.is_majority:
            if _BOLD_EFFICIENCY not in bolder or size < max(20 * rank, 200):
                return None
            bold = search.ends(search.model.alpha(bolder[_BOLD_EFFICIENCY]))
            settled = search.settle(end for end in bold if search.is_better(end, found))
            return search.pick([end for end in settled if search.is_better(end, found)])
        couplings = set(bolder.values())
        if found is not None and couplings:  # the window may lie in between
            couplings.add((found.coupling + min(couplings)) / 2)
        for coupling in sorted(couplings):
            best = search.best(search.model.alpha(coupling), found)
            if best is not None and best.is_majority:
                return best
        return None

    def _bolder_couplings(self, size: float) -> dict[float, float]:
        """Return larger values of c by their efficiency; none unless alpha is open."""
        if not self.request.is_alpha_open or self.model.amount > 0.0:
            return {}
        # Closer to the bound than usual: if it collapses, the first solution remains.
        stable = self._largest_stable(size, safety=1.3)
        return {
            efficiency: min(coupling_for_efficiency(efficiency, self.model.dimension), stable)
            for efficiency in _BOLDER_EFFICIENCIES
        }

    def _split_groups(self, search: StartSearch, found: Candidate) -> tuple[Candidate, bool]:
        """Return a solution without the groups that `found` holds, and whether it holds one."""
        size = float(search.mass.sum()) / search.copies
        couplings = {found.coupling, *self._bolder_couplings(size).values()}
        alphas = [search.model.alpha(coupling) for coupling in sorted(couplings)]
        for _ in range(_MOST_SPLITS):
            before, left = found, search.leave_group(found, alphas)
            if left is None:
                break
            if left is before:
                return found, False
            found = left
        return found, True
