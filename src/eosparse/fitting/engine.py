"""From rows to a fit, step by step, for every model: sample, view, α and start, alternation.

Whatever the user leaves open is decided on a sample of the rows: by the model, if it knows better
(`TableModel.propose`), otherwise by the general `Search`. The engine then fits all rows, from the
first proposal that does not collapse.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.optimize import brentq

from eosparse.core import (
    BoolArray,
    Callback,
    CollapseError,
    DegenerateDataWarning,
    Iteration,
    Result,
    State,
    Status,
    alternate,
    has_gaps,
    warn_caller,
)
from eosparse.fitting.checkpoint import Checkpoint, fingerprint
from eosparse.fitting.first_passes import pass_over_part, pass_roughly, take_part
from eosparse.fitting.last_distances import LastDistances
from eosparse.fitting.notices import refuse_equal_weights
from eosparse.fitting.options import FitOptions
from eosparse.fitting.search import MODEL_EFFICIENCY, Search, find_rounding
from eosparse.models import (
    Attempt,
    ClusterModel,
    Fit,
    GaussianModel,
    LinearModel,
    MixtureModel,
    Normal,
    Request,
    SubspaceModel,
    TableModel,
    draw_gaps,
    guess_law,
)
from eosparse.rows import (
    Coordinates,
    MemoryRows,
    Sample,
    Table,
    TableView,
    choose_coordinates,
    count_copies,
    take_sample,
)

# Rows without gaps, per column, that are enough to choose by.
_WHOLE_ROWS_PER_COLUMN = 20
# The α of a given perplexity is at most this many times the proposed one.
_FARTHEST_ALPHA = 1e5
# A root search that ends farther from the perplexity than this, relatively, ended at a jump.
_PERPLEXITY_TOLERANCE = 1e-4

# Of checkpoints: a file of another format is refused like one of another problem.
_FORMAT = "checkpoint 3"


class _Named(NamedTuple):
    build: Callable[[], TableModel[Any, Any]]
    is_scaled: bool


# Named models see the columns centred and robustly scaled; the Gaussian scales them itself.
NAMED_MODELS = {
    "gaussian": _Named(GaussianModel, False),
    "clusters": _Named(ClusterModel, True),
    "subspace": _Named(SubspaceModel, True),
    "mixture": _Named(MixtureModel, True),
    "regression": _Named(LinearModel, True),
}


def find_model(model: Any) -> tuple[TableModel[Any, Any], bool]:
    """Return the model of a name, or a given one, and whether it sees scaled columns."""
    if isinstance(model, TableModel):
        return model, False
    if isinstance(model, str) and model in NAMED_MODELS:
        return NAMED_MODELS[model].build(), NAMED_MODELS[model].is_scaled
    if isinstance(model, type):
        raise ValueError(f"model={model!r} is a class: pass an instance of it.")
    raise ValueError(
        f"model={model!r} must be one of {tuple(NAMED_MODELS)} or an instance of a subclass of "
        "eosparse.models.TableModel."
    )


def takes_gaps(model: Any) -> bool:
    """Whether a model, or the one of a name, takes missing values; every rung does."""
    if isinstance(model, TableModel):
        return model.takes_gaps
    named = NAMED_MODELS.get(model) if isinstance(model, str) else None
    return named is None or named.build().takes_gaps


def fit_model(
    table: Table,
    model: TableModel[Any, Any],
    options: FitOptions,
    *,
    is_scaled: bool = False,
    seen_as: TableView | None = None,
    last: LastDistances | None = None,
) -> Fit[Any]:
    """Choose what is left open on a sample of the rows, and fit all of them.

    The model sees rows as stored, scaled columns, or the coordinates of a given view. What the last
    pass measures is left in `last`.
    """
    copies = count_copies(table)
    sample = replace(take_sample(table, model.sample_size(table)), copies=copies)
    coordinates = _scale_columns(sample) if is_scaled else seen_as
    view = coordinates or model.view
    seen = sample.look_through(view, None if seen_as is None else seen_as.places)
    is_missing = np.isnan(seen.values).mean(axis=1)
    law, share = None, float(np.average(is_missing, weights=seen.mass))
    if has_gaps(seen.values) or (table.has_gaps and model.takes_gaps):
        law = guess_law(seen.values, seen.mass)
        seen = _close_gaps(seen, law)
    completed = model.complete(seen)
    if law is not None:
        completed = completed.accept_gaps(law, share)
    rounding = find_rounding(seen) if completed.is_squared else -np.inf
    rows, checkpoint = seen.table, None
    if options.checkpoint is not None:
        checkpoint = _open_checkpoint(options.checkpoint, model, sample, options)
    part = take_part(rows, len(sample.mass)) if completed.warms_up else None
    problem = _FitProblem(rows, seen, options, rounding, checkpoint, part, last)
    attempt, result = problem.fit(completed)
    if completed.is_squared:
        _warn_if_determined(result, attempt.model.n_determining(seen.values.shape[1]))
    judging = attempt.model.conclude(result)
    return Fit(judging, result, sample.n_rows, coordinates, rounding, copies)


def _scale_columns(sample: Sample) -> Coordinates:
    if has_gaps(sample.values):
        sample = _close_gaps(sample, guess_law(sample.values, sample.mass))
    return choose_coordinates(sample)


def _close_gaps(seen: Sample, law: Normal) -> Sample:
    """Return a sample without gaps, on which open choices are made.

    The rows without any if they are enough, since they keep relations between columns as they are.
    Otherwise gaps are drawn, but for rows of gaps only: their draws would all be the same.
    """
    has_values = np.asarray(~np.isnan(seen.values).all(axis=1))
    share = float(np.average(has_values, weights=seen.mass))
    seen = replace(_take(seen, has_values), n_rows=share * seen.n_rows)
    is_whole = np.asarray(~np.isnan(seen.values).any(axis=1))
    mass, n_columns = seen.mass, seen.values.shape[1]
    is_enough = 2 * mass[is_whole].sum() > mass.sum()
    if is_enough and mass[is_whole].sum() >= _WHOLE_ROWS_PER_COLUMN * seen.copies * n_columns:
        return _take(seen, is_whole)
    return replace(seen, values=draw_gaps(law, seen.values))


def _take(seen: Sample, rows: BoolArray) -> Sample:
    if rows.all():
        return seen
    stored = None if seen.stored is None else seen.stored[rows]
    numbers = None if seen.numbers is None else seen.numbers[rows]
    values, mass = seen.values[rows], seen.mass[rows]
    return replace(seen, values=values, mass=mass, stored=stored, numbers=numbers)


@dataclass(frozen=True)
class _FitProblem:
    """All rows, a sample of them, and what was asked for."""

    rows: Table
    sample: Sample
    options: FitOptions
    rounding: float
    checkpoint: Checkpoint | None
    part: MemoryRows | None
    last: LastDistances | None

    def fit(self, model: TableModel[Any, Any]) -> tuple[Attempt[Any], Result[Any]]:
        """Try the proposals of the model, or of the general search, until one leads somewhere."""
        options, failure = self.options, None
        request = Request(
            alpha=options.alpha,
            efficiency=options.efficiency,
            searches=isinstance(options.start, str) and options.start == "deterministic",
            is_alpha_open=(
                options.alpha == "auto" and options.efficiency is options.perplexity is None
            ),
        )
        proposals = model.propose(self.sample, request)
        if proposals is None:
            efficiency = MODEL_EFFICIENCY if options.efficiency is None else options.efficiency
            search = Search(model, self.sample, self.rounding, efficiency)
            proposals = iter([search.propose(request)])
        for attempt in proposals:
            try:
                if options.perplexity is not None:
                    return self.fit_perplexity(attempt, options.perplexity)
                result = self.fit_rows(attempt)
            except CollapseError as error:
                failure = error
            else:
                is_cut_short = result.status is Status.INTERRUPTED
                if is_cut_short or attempt.accepts is None or attempt.accepts(result.theta):
                    return attempt, result
        raise failure or CollapseError("the model proposed no way to fit the rows.")

    def fit_rows(self, attempt: Attempt[Any]) -> Result[Any]:
        """Alternate on all rows from the start of an attempt; raise if the weights collapse."""
        model, alpha, options = attempt.model, attempt.alpha, self.options
        callbacks: tuple[Callback, ...] = options.callbacks
        if self.last is not None:
            callbacks = (self.last, *callbacks)
        state, guard = None, cast(AbstractContextManager[None], nullcontext())
        if self.checkpoint is not None:
            name = self.checkpoint.begin_attempt(alpha)
            callbacks = (self.checkpoint.save_to(name), *callbacks)
            template, find_errors = self.begin(attempt), partial(model.errors, self.sample.values)
            state = self.checkpoint.load(name, template, find_errors)
            guard = guard if state is None else self.checkpoint.name_changed_rows()
        if state is None:
            state = self.start(attempt)
        with guard:
            result = alternate(
                model,
                self.rows,
                alpha,
                state,
                tol=options.tol,
                max_iter=options.max_iter,
                callback=_call_all(callbacks) if callbacks else None,
                keep_distances=self.last is not None and self.rows.is_in_memory,
            )
        _ = result.theta  # raises, with the reason and the remedy, if it collapsed
        if options.alpha != "auto":
            refuse_equal_weights(result, self.rows.mass)
        return result

    def weigh_start(self) -> Table:
        """Return the rows with the weights from which to start: equal, random or given ones."""
        start = self.options.start
        if isinstance(start, str) and start != "random":
            return self.rows
        return self.rows.reweight(start, self.options.random_state)

    def start(self, attempt: Attempt[Any]) -> State[Any]:
        """Return where exact passes start: close to the end, after passes that are not."""
        if self.part is not None:
            attempt = replace(
                attempt, theta=pass_over_part(attempt, self.begin(attempt), self.part)
            )
        elif attempt.begin is None:
            attempt = replace(attempt, theta=self.begin(attempt))
        state = pass_roughly(attempt, self.rows, self.options)
        return State(self.begin(attempt)) if state is None else state

    def begin(self, attempt: Attempt[Any]) -> Any:
        """Return the θ at which an attempt starts."""
        if attempt.theta is not None:
            return attempt.theta
        if attempt.begin is not None:
            return attempt.begin(self.rows if self.part is None else self.part)
        return attempt.model.start_from(self.weigh_start())

    def fit_perplexity(
        self, attempt: Attempt[Any], perplexity: float
    ) -> tuple[Attempt[Any], Result[Any]]:
        """Fit with the α at which the solution itself has a given perplexity."""
        quiet = replace(self, options=replace(self.options, callbacks=()), checkpoint=None)

        def excess(log_alpha: float) -> float:
            try:
                result = quiet.fit_rows(replace(attempt, alpha=float(np.exp(log_alpha))))
            except CollapseError:
                return -1.0  # too few rows keep their weight
            if result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            return float(np.log(result.perplexity / perplexity))

        low = np.log(attempt.model.path_range(attempt.alpha, self.rows.n_features)[1])
        high = np.log(attempt.alpha * _FARTHEST_ALPHA)
        if excess(high) > 0 > excess(low):
            alpha = float(np.exp(brentq(excess, low, high, xtol=1e-12)))
            chosen = replace(attempt, alpha=alpha)
            result = self.fit_rows(chosen)
            if abs(result.perplexity / perplexity - 1) < _PERPLEXITY_TOLERANCE:
                return chosen, result
        raise ValueError(
            f"perplexity={perplexity:g} cannot be reached with {self.rows.mass:g} rows: the "
            "solution jumps over it, or would need more rows. Try a value between half of the rows "
            "and all."
        )


def _open_checkpoint(
    path: Path | str, model: TableModel[Any, Any], sample: Sample, options: FitOptions
) -> Checkpoint:
    # A fit may be resumed with another tolerance or more passes.
    start = (
        options.start if isinstance(options.start, str) else fingerprint(np.array(options.start))
    )
    asked = replace(options, callbacks=(), checkpoint=None, tol=0.0, max_iter=1, start="uniform")
    sizes = f"{sample.table.n_present} {sample.n_rows!r}"
    # Addresses of functions, and of models without a repr, differ from process to process.
    described = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(model))
    problem = fingerprint(sample.values, sample.mass, _FORMAT, sizes, repr(asked), start, described)
    return Checkpoint(Path(path), problem)


def _call_all(callbacks: tuple[Callback, ...]) -> Callback:
    """Return a callback that calls all; any of them may stop the alternation."""

    def callback(iteration: Iteration[Any]) -> bool:
        stops = [one(iteration) for one in callbacks]
        return any(stops)

    return callback


def _warn_if_determined(result: Result[Any], n_determining: int) -> None:
    """Warn if the fit is flexible enough to pass through all rows that have weight."""
    if result.effective_size <= n_determining:
        warn_caller(
            f"the fit is free to pass through {n_determining} rows exactly, and only "
            f"{result.effective_size:.0f} have weight: their errors say nothing about them. Use "
            "fewer columns, clusters or components, or more rows.",
            DegenerateDataWarning,
        )
