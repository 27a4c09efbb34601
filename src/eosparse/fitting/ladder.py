"""The ladder: models of the bulk, from one Gaussian up, climbed only as far as needed.

    gaussian   one cloud of numbers
    margins    one cloud, after each column is brought to a normal law
    groups     several clouds, as few as possible, with or without margins
    local      no shape at all: how far the nearest rows are

The first rung whose law the believed rows follow is taken (`TailCheck`). What a rung leaves open is
learned from a sample of the rows; then all rows are fitted once. The last rung follows no law, and
promises nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from eosparse.core import BoolArray, CollapseError, FloatArray, MaskingWarning, Status, warn_caller
from eosparse.fitting.engine import fit_model
from eosparse.fitting.judge import Judge, Rule, find_judge
from eosparse.fitting.notices import warn_of_unclear_rows
from eosparse.fitting.options import FitOptions
from eosparse.inference import (
    Combinations,
    Group,
    MixtureLaw,
    Promise,
    TailCheck,
    find_combinations,
    find_groups_apart,
)
from eosparse.models import (
    Fit,
    GaussianModel,
    MixtureModel,
    NeighbourModel,
    TableModel,
    shows_groups,
)
from eosparse.rows import (
    ColumnKind,
    Kind,
    MemoryRows,
    Sample,
    Table,
    TableView,
    bound_levels,
    check_rows_differ,
    count_copies,
    learn_view,
    recognise_kinds,
    spread_out,
    take_sample,
)

RUNGS = ("gaussian", "margins", "groups", "local")
"""The rungs of the ladder, in the order in which they are tried."""


def find_rungs(model: Any) -> tuple[str, ...]:
    """Return the rungs to try for the name of a model; none for models off the ladder.

    "gaussian" by name is the model of the paper, for all columns as numbers.

    Examples
    --------
    >>> find_rungs("auto"), find_rungs("local"), find_rungs("gaussian")
    (('gaussian', 'margins', 'groups', 'local'), ('local',), ())
    """
    if not isinstance(model, str):
        return ()
    return RUNGS if model == "auto" else tuple(r for r in RUNGS[1:] if r == model)


# Rows on which kinds, margins and the number of groups are learned.
_SAMPLE_ROWS = 4000
# With fewer rows per column, p-values are approximate and margins too: one Gaussian has to do.
_ROWS_PER_COLUMN = 5
# Margins and believed rows are learned in turns: so many settle.
_TURNS = 3
# Rows with smaller p-values are not believed when margins are learned.
_BELIEVED = 0.002
# The central rows that a first guess of the margins looks at.
_LEFT_OUT = 0.1
# More groups than this are better described by local distances; so are those that a table of this
# many rows does not show, and those of which one holds more than half of the rows: then the others
# count as outliers, unless you say that groups are kinds.
_MOST_GROUPS, _GROUP_SAMPLE, _MAJORITY = 5, 1000, 0.53
# One group more must bring the law closer by this factor, or more groups are no answer.
_CLOSER = 0.7
# Rows are drawn in to this many deviations where a valley between groups is looked for.
_REACH = 4.0
# A group needs this many rows per column.
_GROUP_ROWS_PER_COLUMN = 10
# Level at which combinations of levels are called impossible: a fit is asked about many.
_COMBINATION_LEVEL = 0.01
# With fewer rows the tails of a bent column are known too badly for p-values of one in a million.
_ROWS_OF_TAILS = 2500
# Columns named in the description of a group.
_MOST_NAMED = 2
# Groups that hold a larger share together are no mere mistakes.
_LARGE_SHARE = 0.05


@dataclass(frozen=True)
class Climb:
    """A fit of the rung that was taken, and what can be said about it.

    Attributes
    ----------
    fit : Fit
        The fit.
    judge : Judge
        Its law and cut-off.
    distances : Table
        Distance of each row.
    rung : str or None
        Name of the rung; None for a model that was asked for.
    reason : str
        Why this rung, in a sentence.
    promise : Promise
        Whether a false-discovery rate can be promised.
    columns : tuple of ColumnKind
        What the columns hold.
    check : TailCheck
        How well the rows follow the law.
    groups : tuple of Group
        Groups of rows that sit apart.
    """

    fit: Fit[Any]
    judge: Judge
    distances: Table
    rung: str | None
    reason: str
    promise: Promise
    columns: tuple[ColumnKind, ...]
    check: TailCheck
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True)
class Ladder:
    """A table with what was asked for, and a sample on which rungs are prepared."""

    table: Table
    options: FitOptions
    rule: Rule
    sample: Sample
    columns: tuple[ColumnKind, ...]
    groups_are_outliers: bool = True

    @classmethod
    def stand(
        cls, table: Table, options: FitOptions, rule: Rule, kinds: Mapping[str, Kind | str]
    ) -> Ladder:
        """Take a sample of the rows, and recognise the kinds of the columns."""
        sample = _sample_once(table)
        columns = recognise_kinds(sample.values, sample.mass, table.columns, kinds)
        return cls(table, options, rule, sample, columns)

    def climb(self, rungs: tuple[str, ...] = RUNGS) -> Climb:
        """Return the first rung whose law the rows follow, or the last."""
        failed: list[str] = []
        for rung in rungs:
            is_last = rung == rungs[-1] or self._is_wide
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = self._try(rung, failed, is_last=is_last)
            if found is None:
                continue
            if found.fit.result.status is not Status.CONVERGED:  # no evidence against the rung
                found = replace(found, promise=Promise(False, "the alternation ended early"))
            elif not (is_last or self._accepts(found)):
                continue
            elif not is_last and any(issubclass(w.category, MaskingWarning) for w in caught):
                grouped = self._look_for_groups(rungs, failed)
                if grouped is not None:
                    return grouped
                found = replace(found, promise=Promise(False, "a group of rows may be masked"))
            for warning in caught:
                warn_caller(str(warning.message), warning.category)
            return found
        raise CollapseError("no model of the bulk fits these rows: " + "; ".join(failed) + ".")

    def _look_for_groups(self, rungs: tuple[str, ...], failed: list[str]) -> Climb | None:
        """Return groups that one cloud may have masked, if the ladder has such a rung."""
        if "groups" not in rungs:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._try("groups", failed, is_last=False)
        return found if found is not None and self._accepts(found) else None

    def _accepts(self, found: Climb) -> bool:
        """Whether groups are what they should be: outliers beside a majority, or kinds."""
        if not found.check.passes:
            return False
        if self.groups_are_outliers:
            largest = max((group.share for group in found.groups), default=0.0)
            return found.rung != "groups" or largest <= _MAJORITY
        return not any(group.is_outlier for group in found.groups)

    def fit(self, model: TableModel[Any, Any], is_scaled: bool) -> Climb:
        """Fit a model that was asked for, to all columns as numbers."""
        fit = fit_model(self.table, model, self.options, is_scaled=is_scaled)
        judge, distances = self._judge(fit)
        check = check_law(judge, self.sample)
        is_gaussian = isinstance(fit.model, GaussianModel)
        groups = self._find_groups("gaussian", judge) if is_gaussian else ()
        promise = _decide("gaussian", check, groups)
        reason = f"The model was asked for: {type(model).__name__}."
        return Climb(fit, judge, distances, None, reason, promise, self.columns, check, groups)

    def _try(self, rung: str, failed: list[str], *, is_last: bool) -> Climb | None:
        """Return the fit of a rung; None, with a reason added, if it does not apply."""
        obstacle = self._find_obstacle(rung)
        if obstacle is not None and not is_last:
            failed.append(obstacle)
            return None
        prepare: dict[str, Callable[[], Prepared | None]] = {
            "gaussian": self._prepare_gaussian,
            "margins": self._prepare_margins,
            "groups": self._prepare_groups,
            "local": self._prepare_local,
        }
        try:
            prepared = prepare[rung]()
            if prepared is None:
                failed.append(_NOT_FOUND[rung])
                return None
            found = self._fit(rung, prepared, failed)
        except CollapseError as error:
            if is_last or self._is_alpha_given:
                raise
            failed.append(f"{_NAMES[rung]} finds no solution ({error})")
            return None
        if not found.check.passes:
            failed.append(f"{_NAMES[rung]} does not describe the rows: {found.check.why_not}")
        return found

    def _find_obstacle(self, rung: str) -> str | None:
        """Say why a rung cannot describe these columns, if it cannot."""
        if rung == "local":
            return None
        heap = next((column for column in self.columns if column.kind is Kind.HEAP), None)
        if heap is not None:
            return f"{_NAMES[rung]} cannot describe {heap.name!r}, which is {heap.why}"
        if not any(column.kind in (Kind.NUMBER, Kind.DATE) for column in self.columns):
            return f"{_NAMES[rung]} needs a column of numbers with many values"
        return None

    def _fit(self, rung: str, prepared: Prepared, failed: list[str]) -> Climb:
        """Fit all rows with a prepared model, and check its law."""
        options = self.options
        if options.checkpoint is not None and rung != RUNGS[0]:  # a problem of its own
            options = replace(options, checkpoint=f"{options.checkpoint}.{rung}")
        fit = fit_model(self.table, prepared.model, options, seen_as=prepared.view)
        fit = self._bound_levels(self._look_for_combinations(fit))
        judge, distances = self._judge(fit)
        check = check_law(judge, self.sample)
        groups = self._find_groups(rung, judge)
        reason = _give_reason(rung, prepared, failed)
        promise = self._doubt_tails(_decide(rung, check, groups), prepared.view)
        return Climb(fit, judge, distances, rung, reason, promise, self.columns, check, groups)

    def _doubt_tails(self, promise: Promise, view: TableView | None) -> Promise:
        """Return no promise if few rows have to tell how heavy the tails of a column are."""
        heavy = () if view is None else view.margins.heavy
        if not promise or not heavy or self.sample.mass.sum() >= _ROWS_OF_TAILS:
            return promise
        assert view is not None
        name = self.columns[int(view.places[heavy[0]])].name
        return Promise(
            False, f"{name!r} has heavy tails, and so few rows do not tell how heavy they are"
        )

    def _judge(self, fit: Fit[Any]) -> tuple[Judge, Table]:
        """Find law and cut-off of a fit to all rows, and the distance of each."""
        distances = self.table.map(fit.measure)
        judge = find_judge(fit, distances, self.rule)
        if self.rule.kind == "fdr":
            warn_of_unclear_rows(judge, self.rule.value)
        return judge, distances

    def _look_for_combinations(self, fit: Fit[Any]) -> Fit[Any]:
        """Return the fit with the combinations of levels that do not occur, if there are any."""
        kinds = (Kind.LEVELS, Kind.CATEGORY)
        levels = tuple(i for i, column in enumerate(self.columns) if column.kind in kinds)
        if len(levels) < 2:
            return fit
        codes = np.asarray(self.sample.values[:, list(levels)], dtype=np.float64)
        is_ordered = [self.columns[i].kind is Kind.LEVELS for i in levels]
        found: Combinations = find_combinations(
            codes, self.sample.mass, _COMBINATION_LEVEL, is_ordered
        )
        return replace(fit, combinations=found, levels=levels)

    def _bound_levels(self, fit: Fit[Any]) -> Fit[Any]:
        """Return the fit with the ranges in which levels lie, where levels are no coordinates."""
        places = tuple(i for i, column in enumerate(self.columns) if column.kind is Kind.LEVELS)
        if not places or isinstance(fit.model, NeighbourModel):
            return fit
        codes = np.asarray(self.sample.values[:, list(places)], dtype=np.float64)
        return replace(fit, ranges=bound_levels(codes, self.sample.mass, places))

    def _find_groups(self, rung: str, judge: Judge) -> tuple[Group, ...]:
        """Find groups among the flagged rows of the sample; the groups of a mixture are its own."""
        if rung == "groups":
            return self._describe_components(judge)
        if rung == "local":
            return ()
        values = self.sample.values
        fitted = judge.fit.measure(values)
        flagged = values[judge.is_outlier(fitted) & (self.sample.mass > 0)]
        if not len(flagged):
            return ()
        deviations = judge.fit.deviations(flagged)
        parts = find_groups_apart(deviations, len(values), deviations.shape[1])
        factor = self.table.mass / len(values)
        return tuple(self._describe(flagged[part], deviations[part], factor) for part in parts)

    def _describe(self, rows: FloatArray, deviations: FloatArray, factor: float) -> Group:
        typical = np.abs(np.median(deviations, axis=0))
        return Group(
            n_rows=round(factor * len(rows)),
            share=factor * len(rows) / self.table.mass,
            centre=np.median(rows, axis=0),
            columns=self._name_columns(typical),
        )

    def _describe_components(self, judge: Judge) -> tuple[Group, ...]:
        """Describe the components of a mixture, largest first."""
        mixture, view = judge.fit.result.theta, judge.fit.coordinates
        shares = cast(MixtureLaw, judge.law).shares
        assert isinstance(view, TableView)
        middle = shares @ mixture.locations
        order = np.argsort(-shares, kind="stable")
        return tuple(
            Group(
                n_rows=round(float(shares[k]) * self.table.mass),
                share=float(shares[k]),
                centre=view.location(mixture.locations[k]),
                columns=self._name_columns(view.expand(np.abs(mixture.locations[[k]] - middle))[0]),
                is_outlier=False,
            )
            for k in order
            if shares[k] > 0
        )

    def _name_columns(self, telling: FloatArray) -> tuple[str, ...]:
        """Name the columns that tell most, up to those with a third of the most telling one."""
        order = np.argsort(-telling, kind="stable")[:_MOST_NAMED]
        return tuple(self.columns[i].name for i in order if telling[i] >= telling[order[0]] / 3)

    # What each rung leaves open

    @property
    def _is_wide(self) -> bool:
        n_rows = min(self.table.n_present, self.sample.n_rows)
        return n_rows < _ROWS_PER_COLUMN * self.table.n_features

    @property
    def _is_alpha_given(self) -> bool:
        """Whether a collapse is due to what was asked for, and not to the rows."""
        asked = self.options
        return asked.alpha != "auto" or (asked.efficiency or asked.perplexity) is not None

    @property
    def _is_plain(self) -> bool:
        """Whether all columns are numbers, so that one Gaussian may read rows as stored."""
        return all(column.kind in (Kind.NUMBER, Kind.DATE, Kind.IGNORED) for column in self.columns)

    def _prepare_gaussian(self) -> Prepared:
        view = None if self._is_plain else self._learn()
        return Prepared(GaussianModel(), view)

    def _prepare_margins(self) -> Prepared | None:
        found = self._margins
        if found is None or found.view is None or found.view.margins.are_lines:
            return None
        return found

    def _prepare_groups(self) -> Prepared | None:
        """Return the smallest number of groups whose law the sample follows."""
        views = [self._learn()]
        bent = self._margins
        if bent is not None and bent.view is not None and not bent.view.margins.are_lines:
            views.append(bent.view)
        views = [view for view in views if self._shows_groups(view)]
        if not views:
            return None
        n_numbers = len(views[0].places)
        most = int(self.sample.n_rows // (_GROUP_ROWS_PER_COLUMN * (n_numbers + 1)))
        for view in views:
            before = np.inf
            for n_groups in range(2, min(most, _MOST_GROUPS) + 1):
                prepared = Prepared(MixtureModel(n_groups), view, n_groups)
                seen = self._fit_sample(prepared, _GROUP_SAMPLE)
                if seen is None or seen.check.excess > max(_CLOSER * before, 1.0):
                    break
                if seen.check.passes:
                    return prepared
                before = seen.check.excess
        return None

    def _prepare_local(self) -> Prepared:
        view = learn_view(
            self.sample.values, self.sample.mass, self.columns, bends=True, is_local=True
        )
        if not len(view.places):
            check_rows_differ(self.sample)
            kinds = ", ".join(f"{column.name!r} ({column.why})" for column in self.columns[:8])
            raise ValueError(
                f"X has no column of numbers: {kinds}. Add one, or say which column holds numbers "
                "with kinds={'name': 'levels'}."
            )
        return Prepared(NeighbourModel(), view)

    def _learn(self, believed: BoolArray | None = None, **given: Any) -> TableView:
        values, mass = self.sample.values, self.sample.mass
        if believed is not None:
            values, mass = values[believed], mass[believed]
        return learn_view(values, mass, self.columns, **given)

    def _shows_groups(self, view: TableView) -> bool:
        """Whether some direction shows a valley between two peaks, outliers drawn in."""
        drawn_in = np.clip(view(self.sample.values), -_REACH, _REACH)
        return shows_groups(drawn_in, self.sample.mass)

    @cached_property
    def _margins(self) -> Prepared | None:
        """Learn margins and believed rows in turns, from two starts; keep the better end.

        Margins of all rows bend to outliers, and margins of the rows that one Gaussian believes may
        miss a tail. The end whose law the rows follow is better, then the one with columns closer
        to normal.
        """
        ends = [end for end in self._follow_turns() if end is not None]
        if not ends:
            return None
        return min(ends, key=lambda end: (not end.check.passes, end.misfit)).prepared

    def _follow_turns(self) -> Iterator[_Seen | None]:
        yield self._take_turns(self._learn(bends=True, left_out=_LEFT_OUT))
        plain = self._fit_sample(Prepared(GaussianModel(), self._learn()))
        if plain is not None:
            yield self._take_turns(self._learn(plain.believed, bends=True))

    def _take_turns(self, view: TableView) -> _Seen | None:
        seen = None
        for _ in range(_TURNS):
            seen = self._fit_sample(Prepared(GaussianModel(), view))
            if seen is None:
                return None
            view = self._learn(seen.believed, bends=True)
        return self._fit_sample(Prepared(GaussianModel(), view))

    def _fit_sample(self, prepared: Prepared, size: int = _SAMPLE_ROWS) -> _Seen | None:
        """Fit the sample or a part of it, quietly; None if that collapses."""
        part = spread_out(len(self.sample.mass), size)
        sample = replace(self.sample, values=self.sample.values[part], mass=self.sample.mass[part])
        rows = MemoryRows(sample.values, sample.mass, names=self.table.columns)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = fit_model(rows, prepared.model, _SAMPLE_OPTIONS, seen_as=prepared.view)
        except CollapseError:
            return None
        judge = find_judge(fit, rows.map(fit.measure), Rule("fdr", 0.01))
        p_values = judge.training_p_values(fit.measure(sample.values))
        return _Seen(prepared, check_law(judge, sample), p_values > _BELIEVED)


def _sample_once(table: Table) -> Sample:
    """Take a sample in which a table that was pasted several times counts once.

    Then every row occurs a multiple of some number of times; in a table of a few levels, all
    combinations may occur often, but not so.
    """
    copies = count_copies(table)
    if copies <= 1.0:
        return take_sample(table, _SAMPLE_ROWS)
    whole = take_sample(table, table.n_present)
    _, first, numbers = np.unique(whole.values, axis=0, return_index=True, return_inverse=True)
    mass = np.bincount(numbers.ravel(), whole.mass) / copies
    if not np.allclose(mass, np.round(mass)):
        return take_sample(table, _SAMPLE_ROWS)
    part = np.argsort(first)[spread_out(len(first), _SAMPLE_ROWS)]
    return Sample(
        whole.values[first[part]], mass[part], table, table.mass / copies, len(part) == len(first)
    )


@dataclass(frozen=True)
class Prepared:
    """A model and the coordinates in which it sees the rows; None for rows as stored."""

    model: TableModel[Any, Any]
    view: TableView | None
    n_groups: int = 1


@dataclass(frozen=True)
class _Seen:
    """How a prepared rung does on the sample."""

    prepared: Prepared
    check: TailCheck
    believed: BoolArray

    @property
    def misfit(self) -> float:
        assert self.prepared.view is not None
        return self.prepared.view.margins.misfit


_SAMPLE_OPTIONS = FitOptions(tol=1e-6, max_iter=200)


def check_law(judge: Judge, sample: Sample) -> TailCheck:
    """Compare the p-values of a sample with those of good rows."""
    p_values = judge.training_p_values(judge.fit.measure(sample.values))
    return TailCheck.of(p_values, sample.mass)


_NAMES = {
    "gaussian": "one Gaussian",
    "margins": "one Gaussian after bending the columns",
    "groups": "a few groups",
    "local": "local distances",
}
_NOT_FOUND = {
    "margins": "no bent column is closer to normal",
    "groups": "no small number of groups describes the rows",
}


def _give_reason(rung: str, prepared: Prepared, failed: list[str]) -> str:
    """Say which rung was taken and why, in a sentence."""
    if rung == "gaussian":
        return "Good rows are described by one Gaussian."
    first = failed[0][0].upper() + failed[0][1:] if failed else ""
    told = {
        "margins": "Good rows are described by one Gaussian after skewed or heavy-tailed columns "
        "are bent to a normal law.",
        "groups": f"Good rows form {prepared.n_groups} groups.",
        "local": "Rows are compared with the rows nearest to them.",
    }[rung]
    return f"{told} {first}." if first else told


def _decide(rung: str, check: TailCheck, groups: tuple[Group, ...]) -> Promise:
    if rung == "local":
        return Promise(False, "the rows follow no simple law")
    if not check.passes:
        return Promise(False, f"the rows do not follow the law of the model: {check.why_not}")
    if not check.convinces:
        return Promise(False, "it is not clear that the rows follow the law of the model")
    apart = [group for group in groups if group.is_outlier]
    if sum(group.share for group in apart) > _LARGE_SHARE:
        return Promise(False, f"{apart[0]}, and only you can tell whether they are wrong")
    return Promise(True, "the p-values of the rows that belong are as the law says")
