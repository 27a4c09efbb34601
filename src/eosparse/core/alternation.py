"""Algorithm 1 of the paper: alternate the closed form and a weighted fit until nothing changes.

This is the only loop of the library. It knows neither what an error is (that is the error model's
subject) nor where the rows live (that is the storage's): each iteration visits every row once and
keeps one `Visit`, whose parts merge, so that rows may come in blocks, in any order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from eosparse.core.acceleration import extrapolated
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


class Statistics(Protocol):
    """Sums over rows that a weighted fit needs; statistics of disjoint rows merge by ``+``."""

    def __add__(self, other: Self, /) -> Self: ...

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
    """Where the rows live: something that yields them in blocks, each with its prior weights."""

    def blocks(self) -> Iterator[tuple[BlockOut, FloatArray | None]]:
        """Yield every row once; prior weights of None stand for ones."""
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
class Iteration(Generic[Theta]):
    """What a callback sees after each pass; it returns True to stop the alternation."""

    number: int
    alpha: float
    objective: float
    effective_size: float
    theta: Theta


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

    def one(block: Block, prior: FloatArray | None) -> Visit[Stats]:
        solution = optimal_weights(model.errors(block, theta), alpha, prior)
        return Visit(solution.summary, model.statistics(block, solution.weights, theta))

    return reduce(operator.add, (one(*block) for block in _present(rows.blocks())))


def _mixed(visits: list[Visit[Stats]], shares: tuple[float, ...]) -> Visit[Stats]:
    statistics = (part.statistics.scaled(share) for part, share in zip(visits, shares, strict=True))
    return Visit(mixed([part.summary for part in visits], shares), reduce(operator.add, statistics))


def solve_from_weights(
    model: ErrorModel[Block, Theta, Stats], rows: Rows[Block], weights: FloatArray
) -> Theta:
    """Return the θ-step from given weights, such as random ones: how the paper starts.

    For models whose statistics do not depend on θ.
    """
    parts, seen = [], 0
    for block, prior in rows.blocks():
        size = len(block)  # type: ignore[arg-type]  # a block is a sequence of rows
        share = weights[seen : seen + size]
        weighted = share if prior is None else share * prior
        parts.append(model.statistics(block, weighted, None))  # type: ignore[arg-type]
        seen += size
    return model.solve(reduce(operator.add, parts))


def alternate(
    model: ErrorModel[Block, Theta, Stats],
    rows: Rows[Block] | Strata[Block],
    alpha: float,
    theta: Theta,
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
    theta : Theta
        Start; `solve_from_weights` makes one from weights.
    tol : float, default=1e-12
        Stop when the objective falls by no more than ``tol * max(1, |objective|)``.
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
    history: list[float] = []
    summary: WeightSummary | None = None
    reached, n_passes = theta, 0
    plain: Theta | None = None  # the step to take should an extrapolated one not descend
    is_exact: bool = getattr(model, "is_exact", True)

    def ended(status: Status) -> Result[Theta]:
        size = (summary.kish_size, summary.perplexity) if summary else (np.nan, np.nan)
        return Result(status, alpha, tuple(history), n_passes, *size, reached)

    try:
        for n_passes in range(1, max_iter + 1):
            passed = _visit_or_none(model, rows, theta, alpha)
            if history and not _descends(passed, model.smallest_size, history[-1]):
                if plain is not None:
                    theta, plain = plain, None
                    continue
                if not is_exact:
                    return ended(Status.CONVERGED)
            summary, reached = passed.summary if passed else None, theta
            if passed is None or passed.summary.kish_size < model.smallest_size:
                return ended(Status.COLLAPSED)
            history.append(passed.summary.objective)
            iteration = Iteration(n_passes, alpha, history[-1], passed.summary.kish_size, theta)
            stopped = callback is not None and callback(iteration)
            if _has_settled(history, tol):
                return ended(Status.CONVERGED)
            if stopped:
                return ended(Status.INTERRUPTED)
            if n_passes == max_iter:
                break  # a further step would never be visited
            theta, plain = _next(model, theta, passed.statistics, alpha, accelerate)
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


def _next(
    model: ErrorModel[Block, Theta, Stats],
    theta: Theta,
    statistics: Stats,
    alpha: float,
    accelerate: bool,
) -> tuple[Theta, Theta | None]:
    """Return the θ to visit next, and the plain step if that is an extrapolated one."""
    solved = model.solve(statistics)
    further = extrapolated(model, theta, solved, alpha) if accelerate else None
    return (solved, None) if further is None else (further, solved)


# Rounding in the errors of badly conditioned data, relative to the objective.
_ROUNDING = 1e-8


def _has_settled(history: list[float], tol: float) -> bool:
    """Whether the last fall is within tol; a rise beyond rounding is an error."""
    if len(history) < 2:
        return False
    before, now = history[-2:]
    scale = max(1.0, abs(now))
    if now - before > _ROUNDING * scale:
        raise DescentError(
            f"the objective rose from {before!r} to {now!r} in iteration {len(history)}: the "
            "error model's solve() does not minimise its weighted errors."
        )
    return before - now <= tol * scale


def _present(
    blocks: Iterable[tuple[Block, FloatArray | None]],
) -> Iterator[tuple[Block, FloatArray | None]]:
    """Leave out blocks whose rows all have prior weight zero: they count for nothing."""
    return ((b, prior) for b, prior in blocks if prior is None or np.any(prior > 0))
