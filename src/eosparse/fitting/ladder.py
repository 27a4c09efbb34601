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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from eosparse.core import (
    BoolArray,
    CollapseError,
    FloatArray,
    MaskingWarning,
    Status,
    warn_caller,
)
from eosparse.fitting.climb import Climb
from eosparse.fitting.column_rules import add_rules
from eosparse.fitting.doubts import (
    doubt_exact_fit,
    doubt_independence,
    doubt_law,
    doubt_writing,
    has_bad_bends,
    is_exact_fit,
    measure_bends,
)
from eosparse.fitting.engine import find_model, fit_model
from eosparse.fitting.judge import Judge, Rule, find_judge
from eosparse.fitting.last_distances import LastDistances
from eosparse.fitting.notices import warn_of_minority, warn_of_unclear_rows
from eosparse.fitting.options import FitOptions
from eosparse.fitting.reasons import (
    LARGE_SHARE,
    MOST_BEYOND,
    NAMES,
    NOT_FOUND,
    decide,
    doubt_bends,
    doubt_flags,
    flags_groups,
    flags_many_near,
    flags_slope,
    flags_tail,
    give_reason,
    has_known_tail,
    may_flag_tail,
)
from eosparse.fitting.row_groups import (
    describe_components,
    find_flagged_groups,
    find_groups_beyond,
)
from eosparse.fitting.rungs import Preparation, Prepared, check_law, sample_once
from eosparse.fitting.white_sample import WhiteSample
from eosparse.inference import Group, Promise, TailCheck
from eosparse.models import Fit, Surprise, TableModel
from eosparse.rows import (
    ColumnKind,
    Kind,
    Sample,
    Table,
    find_rare_writing,
    fit_threads,
    recognise_kinds,
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


# With fewer rows per column, margins and groups cannot be learned: one Gaussian, or no shape.
_ROWS_PER_COLUMN = 5
# Where one group holds more than this share of the rows, the others count as outliers, unless you
# say that groups are kinds.
_MAJORITY = 0.53
# Where more rows are flagged, and the others form groups, one cloud describes neither.
_MOST_BESIDE_GROUPS = 1 / 3
# By how much a share of a half varies, times the root of the rows: more in one of a hundred.
_CHANCE = 2.33 / 2
# Expectation-maximisation creeps where groups touch.
_TOL_OF_GROUPS = 1e-11


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
        sample = sample_once(table)
        columns = recognise_kinds(sample.values, sample.mass, table.columns, kinds)
        return cls(table, options, rule, sample, columns)

    def climb(self, rungs: tuple[str, ...] = RUNGS) -> Climb:
        """Return the first rung whose law the rows follow, or the last."""
        found = self._climb(rungs)
        if found.rows is None:
            return found
        promise = doubt_flags(found.promise, found.check)
        promise = doubt_independence(promise, found.rows, self._find_held(found))
        return replace(found, promise=promise)

    def _climb(self, rungs: tuple[str, ...]) -> Climb:
        failed: list[str] = []
        plain: TailCheck | None = None
        if self._is_wide and len(rungs) > 1:
            rungs = (rungs[0], rungs[-1])
        for rung in rungs:
            is_last = rung == rungs[-1]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = self._try(rung, failed, is_last=is_last)
            if found is None:
                continue
            if rung == "gaussian":
                plain = found.check
            elif rung == "margins" and plain is not None:
                found = replace(found, promise=doubt_bends(found.promise, found.check, plain))
            if found.fit.result.status is not Status.CONVERGED:  # no evidence against the rung
                found = replace(found, promise=Promise(False, "the alternation ended early"))
            elif not (is_last or self._accepts(found) or self._is_masked_wide(caught)):
                continue
            elif not is_last:
                if (bent := self._look_for_margins(rungs, found)) is not None:
                    return bent
                is_masked = any(issubclass(w.category, MaskingWarning) for w in caught)
                # Wide tables have no rung of groups: to look for them would be in vain.
                looks_for_groups = "groups" in rungs
                hides_groups = looks_for_groups and self._hides_groups(found)
                if looks_for_groups and (is_masked or hides_groups):
                    grouped = self._look_for_groups(failed)
                    if grouped is not None:
                        return grouped
                    if self._leaves_out_half(found.check, hides_groups):
                        failed.append(f"{NAMES[rung]} leaves out too many rows beside groups")
                        continue
                if is_masked:
                    found = replace(found, promise=Promise(False, "a group of rows may be masked"))
            for warning in caught:
                warn_caller(str(warning.message), warning.category)
            return found
        raise CollapseError("no model of the bulk fits these rows: " + "; ".join(failed) + ".")

    def _is_masked_wide(self, caught: list[warnings.WarningMessage]) -> bool:
        """Whether one Gaussian has few rows per column, and warns: local distances see no more."""
        return self._is_wide and any(issubclass(w.category, MaskingWarning) for w in caught)

    def _hides_groups(self, found: Climb) -> bool:
        """Whether the rows that one cloud holds show a valley between groups."""
        if not found.fit.model.is_one_cloud or found.rows is None:
            return False
        return self._preparation.shows_groups(self._find_held(found), found.rows)

    def _find_held(self, found: Climb) -> BoolArray:
        """Return which rows of the sample are not flagged."""
        return ~np.asarray(found.judge.is_outlier(self._measure_sample(found.fit, found.distances)))

    def _look_for_margins(self, rungs: tuple[str, ...], found: Climb) -> Climb | None:
        """Return bent columns, if they explain most of the rows that one Gaussian flags.

        The tail of a skewed column is flagged there, and what is left may look like a Gaussian.
        """
        check = found.check
        if found.rung != "gaussian" or "margins" not in rungs or not may_flag_tail(check):
            return None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            failed = ["one Gaussian would flag rows that belong to a tail"]
            bent = self._try("margins", failed, is_last=False)
        if bent is None or not self._accepts(bent) or bent.check.flagged > check.flagged / 2:
            return None
        for warning in caught:
            warn_caller(str(warning.message), warning.category)
        return bent

    @staticmethod
    def _leaves_out_half(check: TailCheck, hides_groups: bool) -> bool:
        """Whether so many rows are flagged that one cloud is no majority, or describes none.

        Half of them, but for chance; fewer if the others form groups, or go on where flags begin.
        """
        half = 0.5 - _CHANCE / np.sqrt(check.total)
        is_part = hides_groups or flags_slope(check)
        return check.flagged > (_MOST_BESIDE_GROUPS if is_part else half) * check.total

    def _look_for_groups(self, failed: list[str]) -> Climb | None:
        """Return groups that one cloud may have masked."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._try("groups", failed, is_last=False)
        return found if found is not None and self._accepts(found) else None

    def _accepts(self, found: Climb) -> bool:
        """Whether groups are what they should be: outliers beside a majority, or kinds."""
        if not found.check.passes or self._is_doubtful(found):
            return False
        if self.groups_are_outliers:
            largest = max((group.share for group in found.groups), default=0.0)
            return found.rung != "groups" or largest <= _MAJORITY
        return not any(group.is_outlier for group in found.groups)

    def _is_doubtful(self, found: Climb) -> bool:
        """Whether many rows would be flagged without a promise, and not because of a group.

        Margins that leave out so many rows are margins of a part of the table, and margins that
        describe a column badly are margins of nothing. Bent columns whose flags lie just beyond the
        other rows may have been bent too little.
        """
        check = found.check
        share = check.far / check.total
        is_bad = share > MOST_BEYOND or has_bad_bends(found.misfits, check.total)
        is_close = flags_many_near(check) and not check.convinces
        if found.rung == "margins" and (is_bad or is_close):
            return True
        # Which rows are off an exact relation is no question.
        if share <= LARGE_SHARE or is_exact_fit(found.fit):
            return False
        few = not self._is_wide and not has_known_tail(check)
        if few and flags_tail(check, found.groups):
            return True
        is_tail = bool(found.promise) and not doubt_flags(found.promise, check)
        if is_tail and has_known_tail(check):
            is_tail = self._is_wide or flags_slope(check)
        is_doubted = is_tail or not found.promise
        return is_doubted and (self._is_wide or not flags_groups(check, found.groups))

    def fit(self, model: TableModel[Any, Any], is_scaled: bool) -> Climb:
        """Fit a model that was asked for, to all columns as numbers."""
        last = LastDistances()
        fit = fit_model(self.table, model, self.options, is_scaled=is_scaled, last=last)
        judge, distances = self._judge(fit, last)
        warn_of_minority(judge, distances, self.table.n_features)
        fitted = self._measure_sample(fit, distances)
        check = check_law(judge, self.sample, fitted)
        groups: tuple[Group, ...] = ()
        if fit.model.is_one_cloud:
            rows = WhiteSample(fit, self.sample)
            groups = find_flagged_groups(judge, rows, fitted, self.columns)
        promise = doubt_exact_fit(decide("gaussian", check, groups), fit)
        reason = f"The model was asked for: {type(model).__name__}."
        return Climb(fit, judge, distances, None, reason, promise, self.columns, check, groups)

    def _try(self, rung: str, failed: list[str], *, is_last: bool) -> Climb | None:
        """Return the fit of a rung; None, with a reason added, if it does not apply."""
        obstacle = self._find_obstacle(rung)
        if obstacle is not None and not is_last:
            failed.append(obstacle)
            return None
        prepare: dict[str, Callable[[], Prepared | None]] = {
            "gaussian": self._preparation.prepare_gaussian,
            "margins": self._preparation.prepare_margins,
            "groups": self._preparation.prepare_groups,
            "local": self._preparation.prepare_local,
        }
        try:
            prepared = prepare[rung]()
            if prepared is None and is_last and rung == "groups":  # asked for by name
                prepared = self._preparation.insist_on_groups()
            if prepared is None:
                failed.append(NOT_FOUND[rung])
                return None
            found = self._fit(rung, prepared, failed)
        except CollapseError as error:
            if self._is_alpha_given or (is_last and rung != "groups"):
                raise
            failed.append(f"{NAMES[rung]} finds no solution ({error})")
            return None
        if not found.check.passes:
            failed.append(f"{NAMES[rung]} does not describe the rows: {found.check.why_not}")
        elif self._is_doubtful(found):
            failed.append(f"it is not clear that {NAMES[rung]} describes the rows")
        return found

    def _find_obstacle(self, rung: str) -> str | None:
        """Say why a rung cannot describe these columns, if it cannot."""
        if rung == "local":
            return None
        heap = next((column for column in self.columns if column.kind is Kind.HEAP), None)
        if heap is not None:
            return f"{NAMES[rung]} cannot describe {heap.name!r}, which is {heap.why}"
        if not any(column.kind in (Kind.NUMBER, Kind.DATE) for column in self.columns):
            return f"{NAMES[rung]} needs a column of numbers with many values"
        return None

    def _fit(self, rung: str, prepared: Prepared, failed: list[str]) -> Climb:
        """Fit all rows with a prepared model, and check its law."""
        options = self.options
        if options.checkpoint is not None and rung != RUNGS[0]:  # a problem of its own
            options = replace(options, checkpoint=f"{options.checkpoint}.{rung}")
        if rung == "groups":
            options = replace(options, tol=max(options.tol, _TOL_OF_GROUPS))
        last = LastDistances()
        fit = fit_model(self.table, prepared.model, options, seen_as=prepared.view, last=last)
        are_outliers = self.groups_are_outliers
        fit = add_rules(fit, rung, self.sample, self.columns, groups_are_outliers=are_outliers)
        judge, distances = self._judge(fit, last)
        fitted = self._measure_sample(fit, distances)
        check = check_law(judge, self.sample, fitted)
        rows = WhiteSample(fit, self.sample)
        groups = self._find_groups(rung, judge, rows, fitted)
        reason = give_reason(rung, prepared, failed)
        promise = decide(rung, check, groups)
        is_good = ~judge.is_outlier(fitted)
        misfits = measure_bends(fit, self.sample, is_good, self.columns)
        promise = doubt_law(promise, rows, groups, is_good, misfits, self.columns)
        said = (rung, reason, promise, self.columns, check, groups, misfits, rows)
        return self._add_surprise(Climb(fit, judge, distances, *said), fitted)

    def _add_surprise(self, found: Climb, fitted: FloatArray) -> Climb:
        """Return a fit that also judges how numbers are written, given distances without that.

        The law is checked, and groups are found, by the distances alone.
        """
        judge, sample = found.judge, self.sample
        kinds = (Kind.NUMBER, Kind.HEAP)
        places = tuple(i for i, column in enumerate(self.columns) if column.kind in kinds)
        is_usual = judge.training_p_values(fitted) > 0.5
        writing = find_rare_writing(sample.values, sample.mass, is_usual, places)
        if writing is None:
            return found
        fit = replace(found.fit, surprise=Surprise(writing, judge.law, judge.pull))
        judge, distances = self._judge(fit, LastDistances())
        flagged = judge.is_outlier(self._measure_sample(fit, distances))
        n_more = int(np.count_nonzero(flagged & ~found.judge.is_outlier(fitted)))
        promise = doubt_writing(found.promise, n_more)
        return replace(found, fit=fit, judge=judge, distances=distances, promise=promise)

    def _judge(self, fit: Fit[Any], last: LastDistances) -> tuple[Judge, Table]:
        """Find law and cut-off of a fit to all rows, and the distance of each."""
        distances = last.measure(fit, self.table)
        judge = find_judge(fit, distances, self.rule)
        if fit.has_own_rules or self.table.has_gaps:
            judge = judge.spread_weight(distances)
        if self.rule.kind == "fdr":
            warn_of_unclear_rows(judge, self.rule.value)
        return judge, distances

    def _measure_sample(self, fit: Fit[Any], distances: Table) -> FloatArray:
        """Return the distances of the rows of the sample; those of all rows may hold them."""
        if self.sample.numbers is not None and distances.is_in_memory:
            return distances.take(self.sample.numbers)[0]
        return fit.measure(self.sample.values)

    def _find_groups(
        self, rung: str, judge: Judge, rows: WhiteSample, fitted: FloatArray
    ) -> tuple[Group, ...]:
        if rung == "local":
            return find_groups_beyond(judge, self.sample, self.columns)
        apart = find_flagged_groups(judge, rows, fitted, self.columns)
        if rung == "groups":
            return describe_components(judge, self.table.mass, self.columns, apart)
        return apart

    @cached_property
    def _preparation(self) -> Preparation:
        return Preparation(self.sample, self.columns, self.groups_are_outliers)

    @property
    def _is_wide(self) -> bool:
        return self.sample.n_rows < _ROWS_PER_COLUMN * self.table.n_features

    @property
    def _is_alpha_given(self) -> bool:
        """Whether a collapse is due to what was asked for, and not to the rows."""
        asked = self.options
        return asked.alpha != "auto" or (asked.efficiency or asked.perplexity) is not None


def fit_table(
    table: Table,
    model: Any,
    options: FitOptions,
    rule: Rule,
    *,
    kinds: Mapping[str, Kind | str] | None,
    typed: Mapping[str, Kind | str],
    groups: str,
) -> Climb:
    """Fit the first rung that describes the rows, or the model that was asked for.

    Given are kinds that were asked for, those that follow from the types of a data frame, and what
    groups count as.
    """
    if groups not in ("outliers", "kinds"):
        raise ValueError(f"groups={groups!r} must be 'outliers' or 'kinds'.")
    rungs = find_rungs(model)
    named = None if rungs else find_model(model)
    if named is not None:
        _check_plain(model, kinds, typed)
    ladder = Ladder.stand(table, options, rule, {**typed, **(kinds or {})})
    ladder = replace(ladder, groups_are_outliers=groups == "outliers")
    with fit_threads(table.n_features):
        return ladder.climb(rungs) if named is None else ladder.fit(*named)


def _check_plain(
    model: Any, kinds: Mapping[str, Kind | str] | None, typed: Mapping[str, Kind | str]
) -> None:
    """Raise unless all columns are numbers: models off the ladder take nothing else."""
    if typed:
        names = ", ".join(repr(name) for name in typed)
        raise ValueError(
            f"model={model!r} takes columns of numbers; {names} hold something else. Use "
            "model='auto', or leave them out."
        )
    if kinds:
        raise ValueError(f"kinds applies to model='auto' and its rungs, not to {model!r}.")
