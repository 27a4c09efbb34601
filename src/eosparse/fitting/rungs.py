"""What each rung of the ladder leaves open, learned from a sample of the rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, cast

import numpy as np

from eosparse.core import BoolArray, CollapseError, FloatArray, has_gaps
from eosparse.fitting.engine import fit_model
from eosparse.fitting.judge import Judge, Rule, find_judge
from eosparse.fitting.options import FitOptions
from eosparse.fitting.white_sample import WhiteSample
from eosparse.inference import MixtureLaw, TailCheck
from eosparse.models import (
    GaussianModel,
    Metric,
    MixtureModel,
    NeighbourModel,
    TableModel,
    close_gaps,
    shows_groups,
)
from eosparse.rows import (
    ColumnKind,
    Kind,
    Margins,
    MemoryRows,
    Sample,
    Table,
    TableView,
    check_rows_differ,
    count_copies,
    learn_view,
    spread_out,
    take_sample,
)

# Rows on which kinds, margins and the number of groups are learned.
_SAMPLE_ROWS = 4000
# Margins and believed rows are learned in turns: so many settle.
_TURNS = 4
# The misfit of a column grows by so much only if other rows are believed than those of its law.
_WORSE = 5.0
# Rows with smaller p-values are not believed when margins are learned.
_BELIEVED = 0.002
# The central rows that a first guess of the margins looks at.
_LEFT_OUT = 0.1
# Bending a column takes some milliseconds; thousands are only scaled.
_MOST_BENT = 500
# From so many columns on, their scale comes from three quantiles of so many rows.
_MANY_COLUMNS, _ROWS_OF_SCALE = 64, 1000
# More groups than this are better described by local distances, and so are those that this many
# rows do not show.
_MOST_GROUPS, _GROUP_SAMPLE = 5, 1000
# One group more must bring the law closer by this factor, or more groups are no answer.
_CLOSER = 0.7
# Rows are drawn in to this many deviations where a valley between groups is looked for.
_REACH = 4.0
# Rows belong to one group with at least this chance, all but this share of them.
_CLEAR, _MOST_UNCLEAR = 0.9, 0.02
# A group with less than this part of the rows of the largest one is small, if all that are hold no
# more than this share of the rows beside two others.
_SMALL, _MOST_SMALL, _FEWEST_GROUPS = 1 / 3, 0.25, 2
# A group needs this many rows per column.
_GROUP_ROWS_PER_COLUMN = 10
_SAMPLE_OPTIONS = FitOptions(tol=1e-6, max_iter=200)


def sample_once(table: Table) -> Sample:
    """Take a sample in which a table that was pasted several times counts once.

    Then every row occurs a multiple of some number of times; in a table of a few levels, all
    combinations may occur often, but not so.
    """
    copies = count_copies(table)
    if copies <= 1.0:
        return take_sample(table, _SAMPLE_ROWS)
    whole = take_sample(table, table.n_present)
    marked = np.where(np.isnan(whole.values), np.inf, whole.values)
    _, first, numbers = np.unique(marked, axis=0, return_index=True, return_inverse=True)
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
    sample: Sample
    check: TailCheck
    believed: BoolArray
    judge: Judge

    @property
    def margins(self) -> Margins:
        assert self.prepared.view is not None
        return self.prepared.view.margins

    def is_worse_than(self, other: _Seen) -> bool:
        """Whether a law that held does so no more, or a column fits much worse."""
        columns = zip(self.margins.columns, other.margins.columns, strict=True)
        is_bent_worse = any(after.misfit > before.misfit + _WORSE for after, before in columns)
        return is_bent_worse or (other.check.passes and not self.check.passes)


def check_law(judge: Judge, sample: Sample, fitted: FloatArray) -> TailCheck:
    """Compare the p-values of a sample, by the distances of its rows, with those of good rows."""
    p_values, flagged = judge.training_p_values(fitted), judge.is_outlier(fitted)
    return TailCheck.of(p_values, sample.mass, float(p_values.max(where=flagged, initial=0.0)))


@dataclass(frozen=True)
class Preparation:
    """A sample of the rows, what its columns hold, and what rungs make of both."""

    sample: Sample
    columns: tuple[ColumnKind, ...]
    groups_are_outliers: bool = True

    @property
    def _is_plain(self) -> bool:
        """Whether all columns are numbers, so that one Gaussian may read rows as stored."""
        return all(column.kind in (Kind.NUMBER, Kind.DATE, Kind.IGNORED) for column in self.columns)

    def prepare_gaussian(self) -> Prepared:
        view = None if self._is_plain else self._learn()
        return Prepared(GaussianModel(), view)

    def prepare_margins(self) -> Prepared | None:
        found = self._margins
        if found is None or found.view is None or found.view.margins.are_lines:
            return None
        return found

    def prepare_groups(self) -> Prepared | None:
        """Return the smallest number of groups whose law the sample follows."""
        views = [self._learn()]
        bent = self._margins
        if bent is not None and bent.view is not None and not bent.view.margins.are_lines:
            views.append(bent.view)
        values, mass = self.sample.values, self.sample.mass
        views = [view for view in views if self._show_groups(view(values), mass)]
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
                if self._holds_most(seen) and self._are_apart(seen):
                    return self._leave_small(seen) if self.groups_are_outliers else prepared
                before = seen.check.excess
        return None

    def insist_on_groups(self) -> Prepared:
        """Return two groups, which were asked for, although the rows show none."""
        return Prepared(MixtureModel(2), self._learn(), 2)

    def prepare_local(self) -> Prepared:
        believed = self._believe_one_group() if self.groups_are_outliers else None
        view = self._learn(believed, bends=len(self.columns) <= _MOST_BENT, is_local=True)
        rows, mass = view(self.sample.values), self.sample.mass
        if believed is not None:
            rows, mass = rows[believed], mass[believed]
        metric = Metric.of_rows(*close_gaps(rows, mass))
        return Prepared(NeighbourModel(has_middle=self.groups_are_outliers, metric=metric), view)

    def _believe_one_group(self) -> BoolArray | None:
        """Return the rows that one Gaussian believes, if they tell the scale of every column."""
        if self._plain is None:
            return None
        believed, values = self._plain.believed, self.sample.values
        if not believed.any():
            return None
        is_lost = (np.ptp(values[believed], axis=0) == 0) & (np.ptp(values, axis=0) > 0)
        return None if is_lost.any() else believed

    def _learn(self, believed: BoolArray | None = None, **given: Any) -> TableView:
        values, mass = self.sample.values, self.sample.mass
        if believed is not None and believed.any():
            values, mass = values[believed], mass[believed]
        view = learn_view(values, mass, self.columns, **given)
        if not len(view.places):
            self._refuse_columns(is_local=given.get("is_local", False))
        return view

    def _refuse_columns(self, *, is_local: bool) -> NoReturn:
        """Raise, since no column is a coordinate; local distances also take levels as such."""
        check_rows_differ(self.sample)
        kinds = ", ".join(f"{column.name!r} ({column.why})" for column in self.columns[:8])
        kind, other = ("levels", "") if is_local else ("number", ", or use model='local'")
        raise ValueError(
            f"X has no column of numbers: {kinds}. Add one, or say which column holds numbers "
            f"with kinds={{'name': {kind!r}}}{other}."
        )

    @staticmethod
    def _holds_most(seen: _Seen) -> bool:
        """Whether rows follow the law of groups, all but a few small groups."""
        return seen.check.passes and seen.check.far <= _MOST_SMALL * seen.check.total

    def _are_apart(self, seen: _Seen) -> bool:
        """Whether groups are separate, and none shows groups itself: no ring or square in parts.

        A group that is an outlier may be in parts; kinds are all there are.
        """
        view, counts = seen.prepared.view, seen.believed | (not self.groups_are_outliers)
        assert view is not None
        rows, mass = view(seen.sample.values[counts]), seen.sample.mass[counts]
        chances = seen.judge.fit.result.theta.responsibilities(rows)
        if mass @ (chances.max(axis=1) < _CLEAR) > _MOST_UNCLEAR * mass.sum():
            return False
        chosen = chances.argmax(axis=1)
        return not any(
            self._show_groups(rows[chosen == k], mass[chosen == k])
            for k in range(seen.prepared.n_groups)
        )

    @staticmethod
    def _leave_small(seen: _Seen) -> Prepared:
        """Return the groups of which none is small beside the largest: small ones are outliers."""
        shares = cast(MixtureLaw, seen.judge.law).shares
        kept = shares >= _SMALL * shares.max()
        # Many small groups are what the table consists of.
        if kept.all() or kept.sum() < _FEWEST_GROUPS or shares[~kept].sum() > _MOST_SMALL:
            return seen.prepared
        begin, n_groups = seen.judge.fit.result.theta.restrict(kept), int(kept.sum())
        return Prepared(MixtureModel(n_groups, begin=begin), seen.prepared.view, n_groups)

    def shows_groups(self, held: BoolArray, rows: WhiteSample) -> bool:
        """Whether some rows that a fit of one cloud holds show groups.

        With their columns as they are; rows with many columns need not be whitened a second time.
        """
        values, mass = self.sample.values[held], self.sample.mass[held]
        white = None
        if len(self.columns) >= _MANY_COLUMNS and rows.fit.model.spans_columns:
            white = None if has_gaps(values) else rows.take(held)
        if white is not None:
            np.clip(white, -_REACH, _REACH, out=white)
        return self._show_groups(self._scale(values), mass, white)

    def _scale(self, values: FloatArray) -> FloatArray:
        """Return the columns of numbers, shifted and scaled.

        Lines through the quantiles of hundreds of columns take longer than a fit to all rows.
        """
        if not self._is_plain or len(self.columns) < _MANY_COLUMNS:
            return self._learn()(values)
        numbers = [column.kind is not Kind.IGNORED for column in self.columns]
        some = spread_out(len(self.sample.mass), _ROWS_OF_SCALE)
        table, mass = self.sample.values[some], self.sample.mass[some]
        if not all(numbers):
            table, values = table[:, numbers], values[:, numbers]
        table, mass = close_gaps(table, mass)
        centre, spread = replace(self.sample, values=table, mass=mass).centre_and_spread
        scaled = np.empty(values.shape, np.float32)  # enough to see a valley
        np.subtract(values, centre, out=scaled, casting="same_kind")
        scaled /= np.where(spread > 0, spread, 1.0).astype(np.float32)
        return scaled

    @staticmethod
    def _show_groups(rows: FloatArray, mass: FloatArray, white: FloatArray | None = None) -> bool:
        """Whether some direction shows a valley between two peaks, outliers drawn in."""
        rows, mass = close_gaps(rows, mass)
        return shows_groups(np.clip(rows, -_REACH, _REACH), mass, white)

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
        return min(ends, key=lambda end: (not end.check.passes, end.margins.misfit)).prepared

    def _follow_turns(self) -> Iterator[_Seen | None]:
        central = self._learn(bends=True, left_out=_LEFT_OUT)
        for start in (self._fit_sample(Prepared(GaussianModel(), central)), self._plain):
            if start is not None:
                yield self._take_turns(start.believed)

    @cached_property
    def _plain(self) -> _Seen | None:
        """One Gaussian of the columns of numbers, as they are, if there are any."""
        if not any(column.kind in (Kind.NUMBER, Kind.DATE) for column in self.columns):
            return None
        return self._fit_sample(Prepared(GaussianModel(), self._learn()))

    def _take_turns(self, believed: BoolArray) -> _Seen | None:
        """Learn margins from believed rows and believed rows from margins, while that does good.

        Rows of a group of outliers may be believed one after the other until all are, as a tail.
        """
        seen: _Seen | None = None
        for _ in range(_TURNS):
            view = self._learn(believed, bends=True)
            after = self._fit_sample(Prepared(GaussianModel(), view))
            if after is None or (seen is not None and after.is_worse_than(seen)):
                return seen
            seen, believed = after, after.believed
        return seen

    def _fit_sample(self, prepared: Prepared, size: int = _SAMPLE_ROWS) -> _Seen | None:
        """Fit the sample or a part of it, quietly; None if that collapses."""
        part = spread_out(len(self.sample.mass), size)
        sample = replace(self.sample, values=self.sample.values[part], mass=self.sample.mass[part])
        rows = MemoryRows(sample.values, sample.mass, names=self.sample.table.columns)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = fit_model(rows, prepared.model, _SAMPLE_OPTIONS, seen_as=prepared.view)
        except CollapseError:
            return None
        judge = find_judge(fit, rows.map(fit.measure), Rule("fdr", 0.01))
        fitted = fit.measure(sample.values)
        is_believed = judge.training_p_values(fitted) > _BELIEVED
        return _Seen(prepared, sample, check_law(judge, sample, fitted), is_believed, judge)
