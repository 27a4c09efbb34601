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
from typing import Any

import numpy as np

from eosparse.core import BoolArray, CollapseError, FloatArray, Result, warn_caller
from eosparse.fitting.engine import fit_model
from eosparse.fitting.judge import Judge, Rule, find_judge
from eosparse.fitting.options import FitOptions
from eosparse.inference import Promise, TailCheck
from eosparse.models import Fit, GaussianModel, MixtureModel, NeighbourModel, TableModel
from eosparse.rows import (
    ColumnKind,
    Kind,
    MemoryRows,
    Sample,
    Table,
    TableView,
    count_copies,
    learn_view,
    recognise_kinds,
    take_sample,
)

RUNGS = ("gaussian", "margins", "groups", "local")
"""The rungs of the ladder, in the order in which they are tried."""

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
# More groups than this are better described by local distances.
_MOST_GROUPS = 6
# A group needs this many rows per column.
_GROUP_ROWS_PER_COLUMN = 10


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
    rung : str
        Name of the rung.
    reason : str
        Why this rung, in a sentence.
    promise : Promise
        Whether a false-discovery rate can be promised.
    columns : tuple of ColumnKind
        What the columns hold.
    check : TailCheck
        How well the rows follow the law.
    """

    fit: Fit[Any]
    judge: Judge
    distances: Table
    rung: str
    reason: str
    promise: Promise
    columns: tuple[ColumnKind, ...]
    check: TailCheck


@dataclass(frozen=True)
class Ladder:
    """A table with what was asked for, and a sample on which rungs are prepared."""

    table: Table
    options: FitOptions
    rule: Rule
    sample: Sample
    columns: tuple[ColumnKind, ...]

    @classmethod
    def stand(
        cls, table: Table, options: FitOptions, rule: Rule, kinds: Mapping[str, Any]
    ) -> Ladder:
        """Take a sample of the rows, and recognise the kinds of the columns."""
        sample = take_sample(table, _SAMPLE_ROWS)
        columns = recognise_kinds(sample.values, sample.mass, table.columns, kinds)
        return cls(table, options, rule, sample, columns)

    def climb(self, rungs: tuple[str, ...] = RUNGS) -> Climb:
        """Return the first rung whose law the rows follow, or the last."""
        failed: list[str] = []
        for rung in rungs:
            is_last = rung == rungs[-1]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = self._try(rung, failed, is_last=is_last)
            if found is not None and (is_last or found.check.passes):
                for warning in caught:
                    warn_caller(str(warning.message), warning.category)
                return found
        raise CollapseError("no model of the bulk fits these rows: " + "; ".join(failed) + ".")

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
            if is_last:
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
        fit = fit_model(self.table, prepared.model, self.options, seen_as=prepared.view)
        distances = self.table.map(fit.measure)
        judge = find_judge(fit, distances, self.rule)
        check = check_law(judge, distances)
        reason = _give_reason(rung, prepared, failed)
        promise = _decide(rung, check)
        return Climb(fit, judge, distances, rung, reason, promise, self.columns, check)

    # What each rung leaves open

    @property
    def _is_plain(self) -> bool:
        """Whether all columns are numbers, so that one Gaussian may read rows as stored."""
        return all(column.kind in (Kind.NUMBER, Kind.DATE, Kind.IGNORED) for column in self.columns)

    def _prepare_gaussian(self) -> Prepared:
        view = None if self._is_plain else self._learn()
        return Prepared(GaussianModel(), view)

    def _prepare_margins(self) -> Prepared | None:
        found = self._learn_margins()
        if found is None or found.view is None or found.view.margins.are_lines:
            return None
        return found

    def _prepare_groups(self) -> Prepared | None:
        """Return the smallest number of groups whose law the sample follows."""
        views = [self._learn()]
        bent = self._learn_margins()
        if bent is not None and bent.view is not None and not bent.view.margins.are_lines:
            views.append(bent.view)
        n_numbers = len(views[0].places)
        most = int(self.sample.n_rows // (_GROUP_ROWS_PER_COLUMN * (n_numbers + 1)))
        for view in views:
            for n_groups in range(2, min(most, _MOST_GROUPS) + 1):
                prepared = Prepared(MixtureModel(n_groups), view, n_groups)
                seen = self._fit_sample(prepared)
                if seen is not None and seen.check.passes:
                    return prepared
        return None

    def _prepare_local(self) -> Prepared:
        view = learn_view(
            self.sample.values, self.sample.mass, self.columns, bends=True, is_local=True
        )
        if not len(view.places):
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

    def _learn_margins(self) -> Prepared | None:
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

    def _fit_sample(self, prepared: Prepared) -> _Seen | None:
        """Fit the sample alone, quietly; None if that collapses."""
        rows = MemoryRows(self.sample.values, self.sample.mass, names=self.table.columns)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = fit_model(rows, prepared.model, _SAMPLE_OPTIONS, seen_as=prepared.view)
        except CollapseError:
            return None
        distances = rows.map(fit.measure)
        judge = find_judge(fit, distances, Rule("fdr", 0.01))
        p_values = judge.training_p_values(distances.to_column(np.float64))
        return _Seen(prepared, check_law(judge, distances), p_values > _BELIEVED)


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


def check_law(judge: Judge, distances: Table) -> TailCheck:
    """Compare the p-values of all rows with those of good rows; copies are no evidence."""

    def count(fitted: FloatArray, prior: FloatArray | None) -> TailCheck:
        mass = np.ones(len(fitted)) if prior is None else prior
        return TailCheck.of(judge.training_p_values(fitted), mass)

    return distances.fold(count).scale(1 / judge.fit.copies)


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


def _decide(rung: str, check: TailCheck) -> Promise:
    if rung == "local":
        return Promise(False, "the rows follow no simple law")
    if not check.passes:
        return Promise(False, f"the rows do not follow the law of the model: {check.why_not}")
    return Promise(True, "the p-values of the rows that belong are as the law says")
