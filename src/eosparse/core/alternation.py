"""Algorithm 1 of the paper: alternate the closed form and a weighted fit until nothing changes.

This is the only loop of the library. It knows neither what an error is (that is the error model's
subject) nor where the rows live (that is the storage's): each iteration visits every row once and
keeps one `Visit`, whose parts merge, so that rows may come in blocks, in any order, from anywhere.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from eosparse.core.acceleration import foreseen
from eosparse.core.arrays import FloatArray
from eosparse.core.weights import WeightSummary, mixed, optimal_weights

Theta = TypeVar("Theta")
Block = TypeVar("Block")
BlockIn = TypeVar("BlockIn", contravariant=True)
BlockOut = TypeVar("BlockOut", covariant=True)


class Status(StrEnum):
    """How an alternation ended."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    COLLAPSED = "collapsed"
    INTERRUPTED = "interrupted"


class CollapseError(ValueError):
    """The weights gathered on too few rows: there is no answer at this alpha."""


class DescentError(RuntimeError):
    """The objective rose: the error model's weighted fit does not minimise its own error."""


class Mergeable(Protocol):
    """What some rows leave behind; that of disjoint rows merges by ``+``, in any order."""

    def __add__(self, other: Self, /) -> Self: ...


Part = TypeVar("Part", bound=Mergeable)


class Statistics(Mergeable, Protocol):
    """Sums over rows that a weighted fit needs."""

    def scaled(self, factor: float, /) -> Self:
        """Return the same statistics had every weight been multiplied by `factor`."""
        ...


Stats = TypeVar("Stats", bound=Statistics)


class ErrorModel(Protocol[BlockIn, Theta, Stats]):
    """What one needs to write to use EOS with a new error function.

    `solve` must minimise ``Σ w_t g(x_t, θ)`` over θ, or at least not raise it. Where the weighted
    rows determine no θ, raise a `CollapseError`. A model that cannot promise descent, such as one
    around a penalised or randomised learner, has an attribute `is_exact` that is False: a step
    that does not descend then ends the alternation at the state before it.

    Three methods are optional. ``look(block, theta)`` returns the errors together with a function
    from weights to statistics, where both share work. ``sweep(block, prior, theta, alpha)`` returns
    the `Visit` of a block, made in some faster way, or None. ``foresee`` is `Foresees`.
    """

    @property
    def smallest_size(self) -> float:
        """Effective number of rows below which a solution counts as collapsed."""
        ...

    def errors(self, block: BlockIn, theta: Theta, /) -> FloatArray:
        """Return the error g(x_t, θ) of each row of the block."""
        ...

    def statistics(self, block: BlockIn, weights: FloatArray, theta: Theta, /) -> Stats:
        """Return the weighted sums over the block; θ is the one that the errors belong to."""
        ...

    def solve(self, statistics: Stats, /) -> Theta:
        """Return the θ that fits the weighted rows."""
        ...


class Rows(Protocol[BlockOut]):
    """Where the rows live: something that visits them in blocks, each with its prior weights."""

    def fold(self, kernel: Callable[[BlockOut, FloatArray | None], Part], /) -> Part:
        """Apply a kernel to every block once, and merge what it returns by ``+``.

        Prior weights of None stand for ones. Blocks whose rows all have prior weight zero are
        left out: they count for nothing.
        """
        ...


@dataclass(frozen=True)
class Strata(Generic[BlockOut]):
    """Rows in groups, such as classes, each of which keeps its share of the weight.

    The weights minimise the same objective under that constraint: one simplex per group.
    """

    parts: tuple[Rows[BlockOut], ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Visit(Generic[Stats]):
    """What one pass over some rows leaves behind; visits of disjoint rows merge by ``+``."""

    summary: WeightSummary
    statistics: Stats

    def __add__(self, other: Visit[Stats]) -> Visit[Stats]:
        mine = self.statistics.scaled(self.summary.share_beside(other.summary))
        theirs = other.statistics.scaled(other.summary.share_beside(self.summary))
        return Visit(self.summary + other.summary, mine + theirs)


@dataclass(frozen=True)
class State(Generic[Theta]):
    """Where an alternation stands between two passes: all that is needed to go on.

    Attributes
    ----------
    theta : Theta
        The θ to visit next.
    plain : Theta or None
        The θ to visit instead, should that one not descend.
    objective_history : tuple of float
        The objective after each pass so far that was not taken back.
    n_iter : int
        Passes over the rows so far.
    """

    theta: Theta
    plain: Theta | None = None
    objective_history: tuple[float, ...] = ()
    n_iter: int = 0


@dataclass(frozen=True)
class Iteration(Generic[Theta]):
    """What a callback sees after each pass; it returns True to stop the alternation.

    Attributes
    ----------
    number : int
        Passes over the rows so far.
    alpha, objective, effective_size, theta
        Regularisation, objective, Kish's size and θ of this pass.
    fall : float
        By how much the next step will lower the objective, about; NaN if the model cannot tell.
    target : float
        The fall at which the alternation ends.
    resume : State or None
        Where to go on; None after the last pass.
    """

    number: int
    alpha: float
    objective: float
    effective_size: float
    theta: Theta
    fall: float = float("nan")
    target: float = 0.0
    resume: State[Theta] | None = field(default=None, repr=False)


Callback = Callable[[Iteration[Any]], bool | None]


@dataclass(frozen=True)
class Result(Generic[Theta]):
    """The outcome of one alternation.

    Attributes
    ----------
    status : Status
        How it ended.
    alpha : float
        Regularisation.
    objective_history : tuple of float
        The objective at each θ, never rising.
    n_iter : int
        Number of passes over the rows, those taken back included.
    effective_size : float
        Kish's effective number of rows at the last θ; NaN where that had no errors.
    perplexity : float
        The same by entropy.
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
        """The parameters found; an error if the alternation collapsed."""
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


def visit(
    model: ErrorModel[Block, Theta, Stats],
    rows: Rows[Block] | Strata[Block],
    theta: Theta,
    alpha: float,
) -> Visit[Stats]:
    """Errors, weights and statistics of all rows at θ, in one pass."""
    if isinstance(rows, Strata):
        return _mixed([visit(model, part, theta, alpha) for part in rows.parts], rows.shares)

    sweep: Callable[..., Visit[Stats] | None] = getattr(model, "sweep", lambda *_: None)

    def one(block: Block, prior: FloatArray | None) -> Visit[Stats]:
        swept = sweep(block, prior, theta, alpha)
        if swept is not None:
            return swept
        errors, statistics = _look(model, block, theta)
        solution = optimal_weights(errors, alpha, prior)
        return Visit(solution.summary, statistics(solution.weights))

    return rows.fold(one)


def _look(
    model: ErrorModel[Block, Theta, Stats], block: Block, theta: Theta
) -> tuple[FloatArray, Callable[[FloatArray], Stats]]:
    """Return the errors of a block, and its statistics as a function of weights."""
    if hasattr(model, "look"):
        looked: tuple[FloatArray, Callable[[FloatArray], Stats]] = model.look(block, theta)
        return looked
    return model.errors(block, theta), lambda weights: model.statistics(block, weights, theta)


def _mixed(visits: list[Visit[Stats]], shares: tuple[float, ...]) -> Visit[Stats]:
    statistics = (part.statistics.scaled(share) for part, share in zip(visits, shares, strict=True))
    return Visit(mixed([part.summary for part in visits], shares), reduce(operator.add, statistics))


def solve_from_prior(model: ErrorModel[Block, Theta, Stats], rows: Rows[Block]) -> Theta:
    """Return the θ-step from the prior weights, such as random ones: how the paper starts.

    For models whose statistics do not depend on θ.
    """

    def one(block: Block, prior: FloatArray | None) -> Stats:
        size = len(block)  # type: ignore[arg-type]  # a block is a sequence of rows
        weights = np.ones(size) if prior is None else prior
        return model.statistics(block, weights, None)  # type: ignore[arg-type]

    return model.solve(rows.fold(one))


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
) -> Result[Theta]:
    """Minimise the entropic objective from a starting θ.

    Parameters
    ----------
    model : ErrorModel
        The error function and its weighted fit.
    rows : Rows or Strata
        The data, in blocks; with strata, each keeps its share of the weight.
    alpha : float
        Regularisation; infinity is ordinary, unweighted learning.
    start : Theta or State
        Start; `solve_from_prior` makes one from weights. A state is gone on from.
    tol : float, default=1e-12
        Stop when the objective falls by no more than ``tol * max(1, |objective|)``, or would do so
        in the next step, where the model can foresee that.
    max_iter : int, default=1000
        Most passes over the rows.
    callback : callable, optional
        Called with an `Iteration` after each pass that is not taken back; returning True stops.
    accelerate : bool, default=True
        Extrapolate the steps of models that can; a step that does not descend is taken back.

    Returns
    -------
    Result
        An interrupt (Ctrl-C) or a callback's True ends with the state reached so far.

    Raises
    ------
    DescentError
        If the objective rises by more than rounding.
    """
    state = start if isinstance(start, State) else State(start)
    history = list(state.objective_history)
    theta, plain, n_passes = state.theta, state.plain, state.n_iter
    reached, summary = theta, None
    is_exact: bool = getattr(model, "is_exact", True)

    def ended(status: Status) -> Result[Theta]:
        size = (summary.kish_size, summary.perplexity) if summary else (np.nan, np.nan)
        return Result(status, alpha, tuple(history), n_passes, *size, reached)

    try:
        for n_passes in range(state.n_iter + 1, max(max_iter, state.n_iter + 1) + 1):
            passed = _visit_or_none(model, rows, theta, alpha)
            if history and not _descends(passed, model.smallest_size, history[-1]):
                if plain is not None:
                    theta, plain = plain, None
                    continue
                if not is_exact or _is_rounding(passed, model.smallest_size, history[-1]):
                    return ended(Status.CONVERGED)
            if passed is None or passed.summary.kish_size < model.smallest_size:
                summary, reached = passed.summary if passed else None, theta
                return ended(Status.COLLAPSED)
            history.append(passed.summary.objective)
            summary, reached = passed.summary, theta
            target = tol * max(1.0, abs(history[-1]))
            has_settled = _has_settled(history, target)
            step: _Step[Theta] | None = None
            if not has_settled and n_passes < max_iter:  # a further step would never be visited
                step = _next(model, theta, passed.statistics, alpha, accelerate)
                has_settled = step.fall <= target
            iteration = Iteration(
                number=n_passes,
                alpha=alpha,
                objective=history[-1],
                effective_size=passed.summary.kish_size,
                theta=theta,
                fall=np.nan if step is None else step.fall,
                target=target,
                resume=None if has_settled else _resumption(step, history, n_passes),
            )
            stopped = callback is not None and callback(iteration)
            if has_settled:
                return ended(Status.CONVERGED)
            if stopped:
                return ended(Status.INTERRUPTED)
            if step is not None:
                theta, plain = step.theta, step.plain
    except CollapseError:
        summary = None
        return ended(Status.COLLAPSED)
    except KeyboardInterrupt:
        if summary is None:
            raise
        return ended(Status.INTERRUPTED)
    return ended(Status.MAX_ITER)


def _visit_or_none(
    model: ErrorModel[Block, Theta, Stats],
    rows: Rows[Block] | Strata[Block],
    theta: Theta,
    alpha: float,
) -> Visit[Stats] | None:
    """Visit the rows; None if θ has no errors."""
    try:
        return visit(model, rows, theta, alpha)
    except CollapseError:
        return None


def _descends(passed: Visit[Stats] | None, smallest_size: float, objective: float) -> bool:
    """Whether a step that may not descend is worth keeping."""
    if passed is None or passed.summary.kish_size < smallest_size:
        return False
    return passed.summary.objective <= objective


@dataclass(frozen=True)
class _Step(Generic[Theta]):
    theta: Theta
    plain: Theta | None
    fall: float


def _next(
    model: ErrorModel[Block, Theta, Stats],
    theta: Theta,
    statistics: Stats,
    alpha: float,
    accelerate: bool,
) -> _Step[Theta]:
    """Return the θ to visit next, the plain step if that is an extrapolated one, and the fall."""
    solved = model.solve(statistics)
    foresight = foreseen(model, theta, solved, alpha)
    if foresight is None:
        return _Step(solved, None, np.nan)
    if foresight.further is None or not accelerate:
        return _Step(solved, None, foresight.fall)
    return _Step(foresight.further, solved, foresight.fall)


def _resumption(
    step: _Step[Theta] | None, history: list[float], n_passes: int
) -> State[Theta] | None:
    if step is None:
        return None
    return State(step.theta, step.plain, tuple(history), n_passes)


# Rounding in the errors of badly conditioned data, relative to the objective.
_ROUNDING = 1e-8


def _is_rounding(passed: Visit[Stats] | None, smallest_size: float, before: float) -> bool:
    """Whether a rise of the objective is one of rounding; a larger one is an error."""
    if passed is None or passed.summary.kish_size < smallest_size:
        return False
    now = passed.summary.objective
    if now - before > _ROUNDING * max(1.0, abs(now)):
        raise DescentError(
            f"the objective rose from {before!r} to {now!r}: the error model's solve() does not "
            "minimise its weighted errors."
        )
    return True


def _has_settled(history: list[float], target: float) -> bool:
    """Whether the last fall is within the target."""
    return len(history) > 1 and history[-2] - history[-1] <= target


def fold_blocks(
    blocks: Iterable[tuple[Block, FloatArray | None]],
    kernel: Callable[[Block, FloatArray | None], Part],
) -> Part:
    """Fold blocks one after the other: the simplest way to implement `Rows.fold`."""
    return reduce(operator.add, (kernel(b, prior) for b, prior in blocks if counts(prior)))


def counts(prior: FloatArray | None) -> bool:
    """Whether any row of a block counts."""
    return prior is None or bool(np.any(prior > 0))
