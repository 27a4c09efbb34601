"""Algorithm 1 of the paper: alternate the closed form and a weighted fit until nothing changes.

This is the only loop of the library. It knows neither what an error is (that is the model's
subject) nor where the rows are stored: each step visits every row once and keeps one `Visit`, whose
parts merge, so rows may come in blocks, in any order, from anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, TypeVar

import numpy as np

from eosparse.core.arrays import FloatArray
from eosparse.core.model import CollapseError, ErrorModel, Stats, Trail, Visit
from eosparse.core.rows import Rows, Strata
from eosparse.core.weights import WeightSummary

Theta = TypeVar("Theta")
Block = TypeVar("Block")


class Status(StrEnum):
    """How an alternation ended.

    Attributes
    ----------
    CONVERGED
        "converged": the objective no longer falls by more than `tol`.
    MAX_ITER
        "max_iter": the maximum number of passes was reached.
    COLLAPSED
        "collapsed": the weights concentrate on too few rows.
    INTERRUPTED
        "interrupted": by Ctrl-C or a callback; the best state so far is kept.
    """

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    COLLAPSED = "collapsed"
    INTERRUPTED = "interrupted"


class DescentError(RuntimeError):
    """The objective rose: the weighted fit of the error model does not minimise its error."""


@dataclass(frozen=True)
class State(Generic[Theta]):
    """An alternation between two passes: everything needed to resume it.

    Attributes
    ----------
    theta : Theta
        The θ to visit next.
    plain : Theta or None
        The θ to visit instead, if the objective does not fall at `theta`.
    objective_history : tuple of float
        The objective after each accepted pass.
    n_iter : int
        Passes over the rows so far, rejected ones included.
    reached : Theta or None
        The θ of the last accepted pass; None before the first.
    summary : WeightSummary or None
        Its weights.
    fall : float
        Approximate fall of the objective in the next step; NaN if unknown.
    target : float
        The fall at which the alternation ends.
    status : Status or None
        How the alternation ended; None while it goes on.
    distances : tuple of arrays
        Those of all rows in the last accepted pass, block by block, if they are kept.
    """

    theta: Theta
    plain: Theta | None = None
    objective_history: tuple[float, ...] = ()
    n_iter: int = 0
    reached: Theta | None = None
    summary: WeightSummary | None = None
    fall: float = float("nan")
    target: float = 0.0
    status: Status | None = None
    distances: tuple[FloatArray, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Iteration(Generic[Theta]):
    """What a callback receives after each accepted pass; it returns True to stop.

    Attributes
    ----------
    number : int
        Passes over the rows so far.
    alpha, objective, effective_size, theta
        Regularisation, objective, Kish's effective size and θ of this pass.
    fall : float
        Approximate fall of the objective in the next step; NaN if the model cannot tell.
    target : float
        The fall at which the alternation ends.
    resume : State or None
        Pass it to `alternate` to resume from here; None after the last pass.
    distances : tuple of arrays
        Those of all rows, block by block, if they are kept and the model measures them.
    """

    number: int
    alpha: float
    objective: float
    effective_size: float
    theta: Theta
    fall: float = float("nan")
    target: float = 0.0
    resume: State[Theta] | None = field(default=None, repr=False)
    distances: tuple[FloatArray, ...] = field(default=(), repr=False)


Callback = Callable[[Iteration[Any]], bool | None]


@dataclass(frozen=True)
class Result(Generic[Theta]):
    """The outcome of an alternation.

    Attributes
    ----------
    status : Status
        How it ended.
    alpha : float
        Regularisation.
    objective_history : tuple of float
        The objective after each accepted pass, never rising.
    n_iter : int
        Passes over the rows, rejected ones included.
    effective_size : float
        Kish's effective number of rows at the last θ; NaN if that θ has no errors.
    perplexity : float
        The effective number of rows by entropy.
    last : Theta
        The last θ visited, whatever the status. Use `theta` for an answer.
    """

    status: Status
    alpha: float
    objective_history: tuple[float, ...]
    n_iter: int
    effective_size: float
    perplexity: float
    last: Theta

    @property
    def theta(self) -> Theta:
        """The parameters found; raises a `CollapseError` if the alternation collapsed."""
        if self.status is Status.COLLAPSED:
            what = f"the weights gathered on {self.effective_size:.3g} effective rows"
            if np.isnan(self.effective_size):
                what = "the weighted rows determine no fit (ties, or dependent columns)"
            raise CollapseError(
                f"{what} at alpha={self.alpha:.6g}. Use a larger alpha. For a covariance, a higher "
                "efficiency, more shrinkage or fewer columns help too."
            )
        return self.last

    @property
    def objective(self) -> float:
        """The objective at the last θ."""
        return self.objective_history[-1]


def alternate(
    model: ErrorModel[Block, Theta, Stats],
    rows: Rows[Block] | Strata[Block],
    alpha: float,
    start: Theta | State[Theta],
    *,
    tol: float = 1e-12,
    max_iter: int = 1000,
    callback: Callback | None = None,
    accelerate: bool = True,
    keep_distances: bool = False,
) -> Result[Theta]:
    """Minimise the entropic objective from a starting θ.

    Parameters
    ----------
    model : ErrorModel
        The error function and its weighted fit.
    rows : Rows or Strata
        The data, in blocks; with strata, each group keeps its share of the weight.
    alpha : float
        Regularisation; infinity is ordinary, unweighted learning.
    start : Theta or State
        Where to start; `solve_from_prior` turns weights into a θ. Pass a `State` to resume.
    tol : float, default=1e-12
        Stop when the objective falls by no more than ``tol * max(unit, |objective|)``, or is
        predicted to do so in the next step. The unit is 1, or α where errors are squared distances.
    max_iter : int, default=1000
        Maximum number of passes over the rows.
    callback : callable, optional
        Called with an `Iteration` after each accepted pass. Return True to stop.
    accelerate : bool, default=True
        Extrapolate the steps of models that can; a step that does not descend is undone.
    keep_distances : bool, default=False
        Show the distances of all rows to the callback, if the model measures them in a pass.

    Returns
    -------
    Result
        After an interrupt (Ctrl-C) or a callback's True, the state reached so far.

    Raises
    ------
    DescentError
        If the objective rises by more than rounding, and the model is not proven to descend.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate
    >>> from eosparse.models import ClusterModel
    >>> from eosparse.rows import MemoryRows
    >>> rows = MemoryRows(np.array([[0.0], [1.0], [2.0], [90.0]]))
    >>> alternate(ClusterModel(1), rows, alpha=5.0, start=np.array([[3.0]])).theta.round(6)
    array([[1.]])
    """
    state = start if isinstance(start, State) else State(start)
    n_resumed = len(state.objective_history)
    loop = _Alternation(model, rows, alpha, tol, max_iter, accelerate, keep_distances, n_resumed)
    try:
        while state.status is None:
            before, state = state, loop.step(state)
            is_accepted = len(state.objective_history) > len(before.objective_history)
            if callback is None or not is_accepted or state.status is Status.COLLAPSED:
                continue
            if callback(loop.describe(state)) and state.status is not Status.CONVERGED:
                state = replace(state, status=Status.INTERRUPTED)
    except KeyboardInterrupt:
        if state.summary is None:
            raise
        state = replace(state, status=Status.INTERRUPTED)
    assert state.status is not None
    summary = state.summary
    return Result(
        status=state.status,
        alpha=alpha,
        objective_history=state.objective_history,
        n_iter=state.n_iter,
        effective_size=np.nan if summary is None else summary.kish_size,
        perplexity=np.nan if summary is None else summary.perplexity,
        last=state.theta if state.reached is None else state.reached,
    )


@dataclass(frozen=True)
class _Alternation(Generic[Block, Theta, Stats]):
    model: ErrorModel[Block, Theta, Stats]
    rows: Rows[Block] | Strata[Block]
    alpha: float
    tol: float
    max_iter: int
    accelerate: bool
    keep_distances: bool
    n_resumed: int  # passes accepted before, perhaps on other rows

    def step(self, state: State[Theta]) -> State[Theta]:
        """Visit all rows at the state's θ; accept it, or undo the step."""
        state = replace(state, n_iter=state.n_iter + 1)
        summary, statistics = None, None
        distances: tuple[FloatArray, ...] = ()
        try:
            keep = self.keep_distances
            passed = visit(self.model, self.rows, state.theta, self.alpha, keep_distances=keep)
            summary, statistics, distances = passed.summary, passed.statistics, passed.distances
        except CollapseError:  # θ has no errors
            pass
        holds = summary is not None and summary.kish_size >= self.model.smallest_size
        if state.objective_history:
            before, now = state.objective_history[-1], summary.objective if summary else np.inf
            slack = self.model.objective_rounding * max(1.0, abs(before))
            if not (holds and now <= before + slack):
                if state.plain is not None:
                    return self._end_at_limit(replace(state, theta=state.plain, plain=None))
                if holds and not self._can_only_be_rounding(state):
                    _check_rise(before, now)
                if holds or not self.model.is_exact:
                    return replace(state, status=Status.CONVERGED)
        earlier = state.reached
        state = replace(state, reached=state.theta, summary=summary, distances=distances)
        if not holds or summary is None or statistics is None:
            return replace(state, status=Status.COLLAPSED)
        history = (*state.objective_history, summary.objective)
        trail = Trail(earlier, summary.kish_size)
        return self._choose_next(replace(state, objective_history=history), statistics, trail)

    def _can_only_be_rounding(self, state: State[Theta]) -> bool:
        """Whether a rise of the objective says nothing about the model or the rows.

        One enormous row with weight leaves few digits for all others, so that no bound would hold.
        """
        is_own = len(state.objective_history) > self.n_resumed
        return not self.model.is_exact or (self.model.is_proven and is_own)

    def _choose_next(
        self, state: State[Theta], statistics: Stats, trail: Trail[Theta]
    ) -> State[Theta]:
        """Choose the θ to visit next, or end."""
        theta, history = state.theta, state.objective_history
        target = self.tol * max(self.model.objective_unit(self.alpha), self._find_size(state))
        state = replace(state, fall=np.nan, target=target)
        tells = not self.model.objective_rounding  # whether the objective does
        if tells and len(history) > 1 and history[-2] - history[-1] <= target:
            return replace(state, status=Status.CONVERGED)
        if state.n_iter >= self.max_iter:  # a further step would never be visited
            return replace(state, status=Status.MAX_ITER)
        try:
            solved = self.model.solve(statistics)
            foresight = self.model.foresee(theta, solved, self.alpha, trail)
        except CollapseError:
            return replace(state, summary=None, status=Status.COLLAPSED)
        if foresight is None:
            return replace(state, theta=solved, plain=None)
        status = Status.CONVERGED if foresight.fall <= target else None
        if foresight.further is None or not self.accelerate:
            return replace(state, theta=solved, plain=None, fall=foresight.fall, status=status)
        return replace(
            state, theta=foresight.further, plain=solved, fall=foresight.fall, status=status
        )

    def _find_size(self, state: State[Theta]) -> float:
        """Return the size of the objective to which falls are compared.

        -α log Σu is part of it whatever θ is. Beside errors of about one, a large α would make that
        part the whole, and any θ good enough.
        """
        objective, summary = state.objective_history[-1], state.summary
        has_unit = self.model.objective_unit(self.alpha) != 1.0
        if has_unit or summary is None or not _LARGE_ALPHA <= self.alpha < np.inf:
            return abs(objective)
        return abs(objective + self.alpha * float(np.log(summary.mass)))

    def _end_at_limit(self, state: State[Theta]) -> State[Theta]:
        is_last = state.n_iter >= self.max_iter
        return replace(state, status=Status.MAX_ITER) if is_last else state

    def describe(self, state: State[Theta]) -> Iteration[Any]:
        """Return what a callback sees of an accepted pass."""
        return Iteration(
            number=state.n_iter,
            alpha=self.alpha,
            objective=state.objective_history[-1],
            effective_size=np.nan if state.summary is None else state.summary.kish_size,
            theta=state.reached,
            fall=state.fall,
            target=state.target,
            resume=state if state.status is None else None,
            distances=state.distances,
        )


def visit(
    model: ErrorModel[Block, Theta, Stats],
    rows: Rows[Block] | Strata[Block],
    theta: Theta,
    alpha: float,
    *,
    keep_distances: bool = False,
) -> Visit[Stats]:
    """Return summary and statistics of all rows at θ, in one pass.

    Distances, which take memory, are dropped block by block unless they are to be kept.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import visit
    >>> from eosparse.models import ClusterModel
    >>> from eosparse.rows import MemoryRows
    >>> rows = MemoryRows(np.array([[0.0], [2.0]]))
    >>> seen = visit(ClusterModel(1), rows, np.array([[1.0]]), alpha=5.0)
    >>> round(seen.summary.kish_size, 3)
    2.0
    """

    def visit_block(block: Block, prior: FloatArray | None) -> Visit[Stats]:
        seen = model.visit(block, prior, theta, alpha)
        return seen if keep_distances else replace(seen, distances=())

    merged: Visit[Stats] = rows.fold(visit_block)
    return merged


def solve_from_prior(model: ErrorModel[Block, Theta, Stats], rows: Rows[Block]) -> Theta:
    """Return the θ that fits the prior weights, such as random ones: the start of the paper.

    For models whose statistics do not depend on θ.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import solve_from_prior
    >>> from eosparse.models import SubspaceModel
    >>> from eosparse.rows import MemoryRows
    >>> rows = MemoryRows(np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([3.0, 1.0]))
    >>> solve_from_prior(SubspaceModel(1), rows).location.tolist()
    [1.0, 0.0]
    """

    def sum_up(block: Block, prior: FloatArray | None) -> Stats:
        weights = np.ones(len(block)) if prior is None else prior  # type: ignore[arg-type]
        return model.statistics(block, weights, None)  # type: ignore[arg-type]

    return model.solve(rows.fold(sum_up))


# Larger than any that is chosen for errors of about one.
_LARGE_ALPHA = 1e3
# Rounding in the errors of badly conditioned data, relative to the objective.
_ROUNDING = 1e-8


def _check_rise(before: float, now: float) -> None:
    """Raise if the objective rose by more than rounding."""
    if now - before > _ROUNDING * max(1.0, abs(now)):
        raise DescentError(
            f"the objective rose from {before!r} to {now!r}: the error model's solve() does not "
            "minimise its weighted errors."
        )
