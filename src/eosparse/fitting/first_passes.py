"""First passes, which need not be exact: over a part of the rows, or in single precision.

What they find is a better start. The passes that follow decide when the alternation ends, over all
rows and in double precision.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from eosparse.core import Iteration, State, Status, alternate
from eosparse.fitting.options import FitOptions
from eosparse.models import Attempt
from eosparse.rows import MemoryRows, Table, take_sample

# The alternation first runs on this part of the rows, whose passes are cheap.
_PART = 1 / 16
# With fewer rows than this many samples, it would learn little more than the sample told.
_LEAST_SAMPLES = 2
# 32 MB.
_MOST_NUMBERS = 2**22
# The solution for all rows differs by more than this tolerance, so more passes would be wasted.
_TOL, _MOST_PASSES = 1e-6, 60
# Passes over less than so many products, half a second or so for ten of them, are left as they are.
_MANY_PRODUCTS = 10**9
# Part of a fall that the next one is, at most, before two falls are known.
_FIRST_PACE = 0.1
# Falls are rounded too; an exact pass that is not the last takes twice as long as one more.
_RESERVE = 1.5
# Falls that fall no faster are rounding.
_LEAST_PACE = 0.5


def take_part(rows: Table, sample_size: int) -> MemoryRows | None:
    """Return a part of very many rows, in memory, on which the alternation runs first."""
    size = int(rows.n_present * _PART)
    if size < _LEAST_SAMPLES * sample_size:
        return None
    part = take_sample(rows, min(size, _MOST_NUMBERS // rows.n_features))
    prior = None if (part.mass == 1.0).all() else part.mass
    return MemoryRows(part.values, prior, rows.prepare)


def pass_over_part(attempt: Attempt[Any], theta: Any, part: MemoryRows) -> Any:
    """Bring a start close to its end on a part of the rows."""
    model, alpha = attempt.model, attempt.alpha
    result = alternate(model, part, alpha, theta, tol=_TOL, max_iter=_MOST_PASSES)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return theta if result.status is Status.COLLAPSED else result.theta


def pass_roughly(attempt: Attempt[Any], rows: Table, options: FitOptions) -> State[Any] | None:
    """Bring a start closer to its end in single precision, until one exact pass may be enough.

    Returns the state from which to go on in double precision, without objectives to compare with;
    or the last state, if a callback or Ctrl-C ended the alternation. None if such passes would save
    no time, or collapse.
    """
    is_long = rows.n_present * rows.n_features**2 >= _MANY_PRODUCTS
    if not (rows.is_in_memory and is_long and options.max_iter > 1):
        return None
    theta, begin = attempt.theta, attempt.begin
    roughly = attempt.model.in_single_precision(begin if theta is None else theta)
    if roughly is None:
        return None
    brought = rows if roughly.bring is None else rows.keep(roughly.bring, np.float32)
    if theta is None and begin is not None:
        if roughly.bring is None:
            theta = begin(rows)
        else:
            theta, brought = begin.begin_roughly(brought, roughly.model)
    watch = _Watch(State(theta), options)
    result = alternate(
        roughly.model,
        brought,
        attempt.alpha,
        theta,
        tol=options.tol,
        max_iter=options.max_iter - 1,  # the last pass is exact
        callback=watch,
    )
    if result.status is Status.COLLAPSED:
        return None
    if result.status is Status.INTERRUPTED and not watch.is_enough:
        return replace(watch.state, status=Status.INTERRUPTED)
    return replace(watch.state, n_iter=result.n_iter, objective_history=())


class _Watch:
    """A callback that ends first passes when the next step hardly gains anything."""

    def __init__(self, state: State[Any], options: FitOptions) -> None:
        self.state, self.is_enough = state, False
        self._callbacks, self._fall = options.callbacks, float("nan")

    def __call__(self, iteration: Iteration[Any]) -> bool:
        if iteration.resume is None:  # the last pass that was allowed, or that gains nothing
            self.state = State(iteration.theta)
            return False
        self.state, before, fall = iteration.resume, self._fall, iteration.fall
        self._fall = fall
        stops = [callback(iteration) for callback in self._callbacks]  # all of them are told
        if any(stops):
            return True
        pace = fall / before if before > 0 else _FIRST_PACE
        self.is_enough = _RESERVE * fall * pace <= iteration.target or pace > _LEAST_PACE
        return self.is_enough
