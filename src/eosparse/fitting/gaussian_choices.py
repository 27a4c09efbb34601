"""From rows to a Gaussian fit, step by step: coordinates, shrinkage, alpha, start, alternation.

Each choice that the user leaves open is made by one function here.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from eosparse.core import (
    Callback,
    CollapseError,
    FloatArray,
    Iteration,
    Rows,
    State,
    Status,
    alternate,
    solve_from_prior,
    weighted_moments,
    weighted_quantiles,
)
from eosparse.fitting.checkpoint import Checkpoint, changed_rows_named, fingerprint
from eosparse.fitting.gaussian_fit import GaussianFit
from eosparse.fitting.notices import DegenerateDataWarning, MaskingWarning, warn_caller
from eosparse.models import (
    Candidate,
    GaussianModel,
    Normal,
    StartSearch,
    Structure,
    coupling_for_efficiency,
    covariance_parameters,
    effective_dimension,
    largest_stable_coupling,
    largest_uncaptured_coupling,
    oas_shrinkage,
)
from eosparse.models.raw_gaussian import RawGaussian
from eosparse.rows import (
    Coordinates,
    MemoryRows,
    Table,
    choose_coordinates,
    each,
    spanned,
    spread_out,
)

# With fewer rows per column than this, "auto" shrinks the covariance.
ROWS_PER_COLUMN = 5.0
# "auto" shrinkage of data whose bulk satisfies an exact relation, so that no other fit exists.
FALLBACK_SHRINKAGE = 0.1
# Efficiency of the location behind alpha="auto"; the lower one that looks for masked groups; and
# those tried in turn where only a minority holds together. The usable window may be narrow.
AUTO_EFFICIENCY = 0.7
BOLD_EFFICIENCY = 0.4
_BOLDER_EFFICIENCIES = (0.55, 0.4, 0.2)
# How often "auto" may double alpha to escape a collapse.
_MOST_RELAXATIONS = 5
# A part of all rows on which the alternation runs first, how many times the sample that finds the
# start that part must have to be worth it, and how many numbers (32 MB) it may hold at most.
_WARMING_SHARE = 1 / 16
_LEAST_WARMING = 2
_MOST_WARMING_NUMBERS = 2**22
# Up to this many numbers, a search for a start is mostly Python, which threads would only hinder.
_SMALL_SAMPLE = 2**16


@dataclass(frozen=True)
class FitOptions:
    """What the user asked for; see `EOSDetector`."""

    structure: Structure = "full"
    shrinkage: float | Literal["auto"] = "auto"
    alpha: float | Literal["auto"] = "auto"
    efficiency: float | None = None
    perplexity: float | None = None
    start: str | FloatArray = "deterministic"
    tol: float = 1e-12
    max_iter: int = 1000
    callbacks: tuple[Callback, ...] = ()
    checkpoint: Path | None = None


def fit_gaussian(
    table: Table,
    options: FitOptions,
    random_state: np.random.RandomState,
    feature_names: list[str],
) -> GaussianFit:
    """Fit the Gaussian error to rows, as the options say."""
    sample = _sample(table, _sample_size(table))
    _check_rows_differ(table, sample)
    coordinates = choose_coordinates(sample.values, sample.mass)
    check_range(coordinates, feature_names)
    if options.structure == "full":
        coordinates = _span(coordinates, table, sample)
    checkpoint = _checkpoint(table, sample, options)
    problem = _Problem(table, sample, coordinates, options, random_state, checkpoint)
    try:
        return problem.fit()
    except CollapseError:
        may_shrink = options.structure == "full" and options.shrinkage == "auto"
        if not may_shrink or not problem.is_alpha_free or problem.shrinkage > 0.0:
            raise
    columns = _most_dependent(coordinates, sample.values, feature_names)
    warn_caller(
        "every fit of the covariance collapses onto a few rows. The bulk of the rows may be tied, "
        f"or satisfy an almost exact linear relation between columns (most of all {columns}), or "
        "a tight group of rows may lie apart. The covariance is shrunk by "
        f"{FALLBACK_SHRINKAGE} and the start is uniform; p-values are approximate. Leave out "
        "one of the columns, or set shrinkage yourself.",
        DegenerateDataWarning,
    )
    # A robust start would look for the exact relation again.
    milder = replace(options, shrinkage=FALLBACK_SHRINKAGE, start="uniform")
    return replace(problem, options=milder).fit()


@dataclass(frozen=True)
class _Sample:
    """Some rows that count, and their prior weights."""

    values: FloatArray
    mass: FloatArray

    @property
    def prior(self) -> FloatArray | None:
        """The weights as rows in memory have them: None where all are one."""
        return None if (self.mass == 1.0).all() else self.mass


@dataclass(frozen=True)
class _Problem:
    """The rows and the options, with the choices that follow from them."""

    table: Table
    sample: _Sample
    coordinates: Coordinates
    options: FitOptions
    random_state: np.random.RandomState
    checkpoint: Checkpoint | None

    @property
    def n_rows(self) -> float:
        return self.table.mass

    @cached_property
    def rows(self) -> Table:
        """The rows as they are stored; `RawGaussian` knows about coordinates."""
        return self.table.prepared(np.asarray)

    @cached_property
    def shrinkage(self) -> float:
        """The user's shrinkage, or the one that the number of rows asks for."""
        if self.options.structure != "full":
            return 0.0
        if self.options.shrinkage != "auto":
            return self.options.shrinkage
        if self.n_rows >= ROWS_PER_COLUMN * self.coordinates.rank:
            return 0.0
        scatter, size = self._bounded_scatter
        return min(oas_shrinkage(scatter, self.coordinates.n_features, size), 0.99)

    @cached_property
    def _bounded_scatter(self) -> tuple[FloatArray, float]:
        """Scatter in which no row weighs more than the median one, and its effective size."""
        mass = self.sample.mass
        working = self.coordinates(self.sample.values)
        centred = working - weighted_quantiles(working, mass, (0.5,))
        squares = np.einsum("ij,ij->i", centred, centred)
        # Rows equal to the centre, which may be most of them, say nothing about a typical distance.
        apart = squares > 0
        typical = weighted_quantiles(squares[apart], mass[apart], (0.5,)).item()
        bound = 1 / np.maximum(1.0, squares / typical)
        weights = mass * bound
        size = weights.sum() ** 2 / float(weights @ bound)
        return weighted_moments(working, weights, diagonal=False).scatter, size

    def fit(self) -> GaussianFit:
        (model, dimension), options = self._model(), self.options
        if options.perplexity is not None:
            return self._fit_perplexity(model, dimension, options.perplexity)
        coupling = self._coupling(model, dimension)
        # A collapse without shrinkage is met by shrinkage; one in spite of it by a larger alpha.
        may_relax = self.is_alpha_free and (model.shrinkage > 0 or options.structure != "full")
        for attempt in range(_MOST_RELAXATIONS if may_relax else 0):
            with suppress(CollapseError):
                return self._fit_from_start(model, coupling / 2**attempt, dimension)
        smallest = coupling / 2**_MOST_RELAXATIONS if may_relax else coupling
        return self._fit_from_start(model, smallest, dimension)

    def _fit_from_start(
        self, model: GaussianModel, coupling: float, dimension: float
    ) -> GaussianFit:
        *bolder, efficient = self._starts(model, coupling, dimension)
        for start in bolder:
            # What holds together on the sample may still collapse on all rows.
            with suppress(CollapseError):
                return self._fit_at(model, *start)
        return self._fit_at(model, *efficient)

    @property
    def is_alpha_free(self) -> bool:
        """Whether the user left alpha open altogether."""
        options = self.options
        return options.alpha == "auto" and options.efficiency is options.perplexity is None

    def _model(self) -> tuple[GaussianModel, float]:
        """Return the error model, and the number of dimensions that it effectively fits."""
        rank, n_features = self.coordinates.rank, self.coordinates.n_features
        smallest = min(1.5 * (rank + 1), self.n_rows / 4)
        crowding = covariance_parameters(self.options.structure, rank) / self.n_rows
        model = GaussianModel(
            n_features, self.options.structure, smallest_size=smallest, crowding=crowding
        )
        shrinkage = self.shrinkage
        if shrinkage == 0.0:
            return model, float(rank)
        scatter, _ = self._bounded_scatter
        target = float(np.trace(scatter)) / n_features
        dimension = float(rank)
        if self.n_rows < ROWS_PER_COLUMN * rank:
            dimension = effective_dimension(scatter, n_features, shrinkage)
        return replace(model, shrinkage=shrinkage, target=target), dimension

    def _coupling(self, model: GaussianModel, dimension: float) -> float:
        if self.options.alpha != "auto":
            if self.options.alpha <= model.alpha(1.0):
                raise CollapseError(
                    f"alpha={self.options.alpha:.6g} is too small: at or below "
                    f"{model.alpha(1.0):.6g} the covariance collapses onto a point. Use a larger "
                    "alpha."
                )
            return model.coupling(self.options.alpha)
        if self.options.efficiency is not None:
            return coupling_for_efficiency(self.options.efficiency, dimension)
        wanted = coupling_for_efficiency(AUTO_EFFICIENCY, dimension)
        return min(wanted, self._stable(dimension, self.n_rows))

    def _stable(self, dimension: float, n_rows: float, safety: float = 2.0) -> float:
        """Largest safe c; up to half of the rows may turn out not to belong."""
        structure = self.options.structure
        parameters = covariance_parameters(structure, dimension)
        stable = largest_stable_coupling(parameters, n_rows / 2, safety)
        if structure != "full":
            return stable
        return min(stable, largest_uncaptured_coupling(dimension, n_rows / 2, safety))

    def _fit_at(self, model: GaussianModel, coupling: float, start: Normal) -> GaussianFit:
        options, alpha = self.options, self.options.alpha
        if alpha == "auto":
            alpha = model.alpha(coupling)
        raw, callbacks = RawGaussian(model, self.coordinates), options.callbacks
        state: State[Normal] | None = None
        if self.checkpoint is not None:
            attempt = self.checkpoint.next_attempt(alpha)
            state = self.checkpoint.resumed(attempt)
            callbacks = (self.checkpoint.saving(attempt), *callbacks)
        begin = state or self._warmed(model, alpha, start)
        with changed_rows_named(self.checkpoint if state else None):
            result = alternate(
                raw,
                self.rows,
                alpha,
                begin,
                tol=options.tol,
                max_iter=options.max_iter,
                callback=all_of(callbacks),
            )
        if result.status is Status.COLLAPSED:
            _ = result.theta  # raises, with the reason and the remedy
        return GaussianFit(self.coordinates, model, result, self.n_rows)

    def _warmed(self, model: GaussianModel, alpha: float, start: Normal) -> Normal:
        """Bring a start close to the end of its way, on a part of the rows."""
        if self._warming_rows is None:
            return start
        raw = RawGaussian(model, self.coordinates)
        # All rows lead elsewhere by more than this.
        result = alternate(raw, self._warming_rows, alpha, start, tol=1e-6, max_iter=60)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        return start if result.status is Status.COLLAPSED else result.theta

    @cached_property
    def _warming_rows(self) -> MemoryRows | None:
        most = _MOST_WARMING_NUMBERS // self.coordinates.n_features
        size = min(int(self.table.n_present * _WARMING_SHARE), most)
        if size < _LEAST_WARMING * len(self.sample.mass):
            return None
        part = _sample(self.table, size)
        return MemoryRows(part.values, part.prior, np.asarray)

    def _fit_perplexity(
        self, model: GaussianModel, dimension: float, perplexity: float
    ) -> GaussianFit:
        """Fit with the alpha at which the solution itself has the wanted perplexity."""
        quiet = replace(self, options=replace(self.options, callbacks=()), checkpoint=None)
        safe, start = self._starts(model, self._coupling(model, dimension), dimension)[-1]

        def excess(log_coupling: float) -> float:
            try:
                result = quiet._fit_at(model, float(np.exp(log_coupling)), start).result
            except CollapseError:
                return -1.0  # too few rows keep their weight
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            return float(np.log(result.perplexity / perplexity))

        low, high = np.log(safe * 1e-5), np.log(0.95)
        if excess(low) > 0 > excess(high):
            coupling = float(np.exp(brentq(excess, low, high, xtol=1e-12)))
            fit = self._fit_at(model, coupling, start)
            if abs(fit.result.perplexity / perplexity - 1) < 1e-4:
                return fit
        raise ValueError(
            f"perplexity={perplexity!r} cannot be reached with {self.n_rows:g} rows: the solution "
            "jumps over it, or would need more rows. Try a value between half of the rows and all."
        )

    def _starts(
        self, model: GaussianModel, coupling: float, dimension: float
    ) -> list[tuple[float, Normal]]:
        """Return values of c, of which the last is the one given, and where to start with each."""
        start = self.options.start
        if isinstance(start, str) and start == "deterministic":
            return self._searched(model, coupling, dimension)
        rows: Rows[FloatArray] = self.rows
        if not (isinstance(start, str) and start == "uniform"):
            rows = self._reweighted(start)
        raw = RawGaussian(model, self.coordinates)
        return [(coupling, solve_from_prior(raw, rows))]

    def _reweighted(self, start: str | FloatArray) -> MemoryRows:
        """Return the rows with random or given weights in addition to their own."""
        if not isinstance(self.rows, MemoryRows):
            raise ValueError(
                "start: random or given weights need the rows in memory. Use 'deterministic' or "
                "'uniform'."
            )
        weights = start
        if isinstance(weights, str):
            weights = self.random_state.uniform(size=len(self.rows.values))
        own = self.rows.prior
        return replace(self.rows, prior=weights if own is None else weights * own)

    def _searched(
        self, model: GaussianModel, coupling: float, dimension: float
    ) -> list[tuple[float, Normal]]:
        """Return the best of several robust starts, found on the sample, bolder ones first."""
        values, mass = self.coordinates(self.sample.values), self.sample.mass
        how = each if values.size > _SMALL_SAMPLE else map
        model = replace(model, crowding=model.crowding * self.n_rows / self._sample_size)
        search = StartSearch(model, values, mass, MemoryRows(values, self.sample.prior), how)
        best = search.best(model.alpha(self._on_sample(coupling, dimension)))
        bolder = self._bolder(search, best, dimension)
        if best is bolder is None:
            raise CollapseError(
                f"every start collapsed at alpha={model.alpha(coupling):.6g}: too few rows keep "
                "their weight. Use a larger alpha, more shrinkage, or fewer columns."
            )
        _warn_of_minority(bolder or best)
        starts = [] if bolder is None else [(bolder.coupling, bolder.result.theta)]
        if best is not None:
            # What was found on the sample is scaled to the c used on all rows.
            theta, factor = best.result.theta, (1 - coupling) / (1 - best.coupling)
            starts.append((coupling, Normal(theta.location, theta.covariance * factor)))
        return starts

    def _on_sample(self, coupling: float, dimension: float) -> float:
        """Return c as the rows of the sample, if fewer than all, can bear it."""
        if len(self.sample.mass) == self.table.n_present:
            return coupling
        return min(coupling, self._stable(dimension, self._sample_size))

    @property
    def _sample_size(self) -> float:
        return float(self.sample.mass.sum())

    def _bolder(
        self, search: StartSearch, found: Candidate | None, dimension: float
    ) -> Candidate | None:
        """Look with a smaller alpha, if that is free, for what a larger one cannot separate.

        If only a minority was found, a majority that holds together at a smaller alpha is better.
        If a majority was found, a group may hide in it; with enough rows one can tell.
        """
        if not self.is_alpha_free or search.model.shrinkage > 0.0:
            return None
        if found is not None and found.is_majority:
            enough = self._sample_size >= max(20 * self.coordinates.rank, 200)
            bold = self._bold_coupling(BOLD_EFFICIENCY, dimension)
            return self._unmasked(search, found, bold) if enough else None
        bolder = {self._bold_coupling(efficiency, dimension) for efficiency in _BOLDER_EFFICIENCIES}
        for bold in sorted(bolder):
            best = search.best(search.model.alpha(bold))
            if best is not None and best.is_majority:
                return best
        return None

    def _bold_coupling(self, efficiency: float, dimension: float) -> float:
        stable = self._stable(dimension, self._sample_size, safety=1.3)
        return min(coupling_for_efficiency(efficiency, dimension), stable)

    def _unmasked(self, search: StartSearch, found: Candidate, coupling: float) -> Candidate | None:
        """Return a solution without a group that `found` keeps, None if there is none.

        On clean rows `found` hardly changes when continued at the bold alpha. A mixture of two
        groups falls apart there; or another solution, with a tenth of the rows fewer, has a
        significantly smaller determinant. In both cases that one is the better answer.
        """
        alpha = search.model.alpha(coupling)
        ends = [end for end in search.ends(alpha) if end.is_majority]
        if not ends:
            return None
        other = min(ends, key=lambda end: end.result.theta.log_det)
        continued = search.end(alpha, found.result.theta)
        if continued is None or continued.coverage < found.coverage - 0.1:
            return other
        gain = _corrected_log_det(found) - _corrected_log_det(other)
        size = other.result.effective_size * (1 - coupling**2) ** 2
        is_smaller = gain > 4 * np.sqrt(2 * self.coordinates.rank / size)
        return other if is_smaller and other.coverage < found.coverage - 0.1 else None


def _checkpoint(table: Table, sample: _Sample, options: FitOptions) -> Checkpoint | None:
    if options.checkpoint is None:
        return None
    # A fit may go on with another tolerance or more passes.
    said = replace(options, callbacks=(), checkpoint=None, tol=0.0, max_iter=0)
    sizes = f"{table.n_present} {table.mass!r}"
    return Checkpoint(
        options.checkpoint, fingerprint(sample.values, sample.mass, sizes, repr(said))
    )


def all_of(callbacks: tuple[Callback, ...]) -> Callback:
    """Call one callback after the other; any of them may stop the alternation."""

    def callback(iteration: Iteration[Normal]) -> bool:
        stops = [one(iteration) for one in callbacks]
        return any(stops)

    return callback


def _warn_of_minority(found: Candidate | None) -> None:
    if found is not None and not found.is_majority:
        warn_caller(
            "no solution holds half of the rows; the one that holds most, "
            f"{found.coverage:.0%}, is reported. The rows may form several groups, or be far "
            "from Gaussian.",
            MaskingWarning,
        )


def _corrected_log_det(found: Candidate) -> float:
    theta = found.result.theta
    return theta.log_det - len(theta.location) * float(np.log(1 - found.coupling))


def _sample_size(table: Table) -> int:
    """Rows that are enough to choose coordinates and a start."""
    columns = min(table.n_features, table.n_present)
    # Twenty rows per column; of many columns fewer, as every fit to the sample costs their cube.
    size = max(1000, min(20 * columns, 2000 + 4 * columns))
    return size if table.n_present > 2 * size else table.n_present


def _sample(table: Table, size: int) -> _Sample:
    """Rows that count, from all over the table."""
    return _Sample(*table.take(spread_out(table.n_present, size)))


def _check_rows_differ(table: Table, sample: _Sample) -> None:
    """Tell rows that are all equal; all of them are asked only if those of the sample are."""
    first = sample.values[0]
    if (sample.values != first).any():
        return

    def differing(block: FloatArray, prior: FloatArray | None) -> FloatArray:
        counted = block if prior is None else block[prior > 0]
        return np.array([float(np.count_nonzero(counted != first))])

    if table.fold(differing)[0] == 0:
        raise ValueError("all rows of X are equal: there is nothing to tell them apart by.")


def _span(coordinates: Coordinates, table: Table, sample: _Sample) -> Coordinates:
    """Reduce to the span of the rows; all rows are asked only if the sample is deficient."""
    reduced = spanned(coordinates, MemoryRows(sample.values, sample.mass))
    if reduced.basis is not None and len(sample.mass) < table.n_present:
        return spanned(coordinates, table)
    return reduced


def check_range(coordinates: Coordinates, feature_names: list[str]) -> None:
    """Squares of the columns must fit a float."""
    bad = (coordinates.scale > 1e150) | (coordinates.scale < 1e-150)
    if bad.any():
        column = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"column {feature_names[column]!r} has a spread of {coordinates.scale[column]:.3g}, "
            "whose square does not fit a float. Multiply the column by a constant."
        )


def _most_dependent(coordinates: Coordinates, sample: FloatArray, feature_names: list[str]) -> str:
    """Name the columns that vary least in the central half of the rows, given the others."""
    scaled = coordinates.scaled(sample)
    near = np.square(scaled).sum(axis=1)
    centre = scaled[near <= np.median(near)]
    _, vectors = np.linalg.eigh(np.cov(centre, rowvar=False).reshape(scaled.shape[1], -1))
    order = np.argsort(-np.abs(vectors[:, 0]), kind="stable")[:3]
    involved = [i for i in order if abs(vectors[i, 0]) > 0.1]
    return ", ".join(repr(feature_names[i]) for i in involved)
