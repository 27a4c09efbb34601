"""What the loop asks of an error model g(x, θ), with defaults for everything optional."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Generic, Protocol, Self, TypeVar

from eosparse.core.arrays import FloatArray
from eosparse.core.rows import Mergeable
from eosparse.core.weights import WeightSummary, mix_summaries, optimal_weights

Theta = TypeVar("Theta")
Block = TypeVar("Block")


class CollapseError(ValueError):
    """The weights concentrate on too few rows: there is no solution at this alpha."""


class Statistics(Mergeable, Protocol):
    """Sums over rows that a weighted fit needs."""

    def scale(self, factor: float, /) -> Self:
        """Return the statistics with every weight multiplied by `factor`."""
        ...


Stats = TypeVar("Stats", bound=Statistics)


@dataclass(frozen=True)
class Visit(Generic[Stats]):
    """What one pass over some rows returns; visits of disjoint rows merge by ``+``.

    Attributes
    ----------
    summary : WeightSummary
        Of the optimal weights.
    statistics : Statistics
        Weighted sums over the rows.
    distances : tuple of arrays
        The distances of the rows, block by block, of models that measure them as they go: those
        by which rows are judged.
    """

    summary: WeightSummary
    statistics: Stats
    distances: tuple[FloatArray, ...] = ()

    def __add__(self, other: Visit[Stats]) -> Visit[Stats]:
        mine = self.statistics.scale(self.summary.share_beside(other.summary))
        theirs = other.statistics.scale(other.summary.share_beside(self.summary))
        distances = self.distances + other.distances
        return Visit(self.summary + other.summary, mine + theirs, distances)

    @staticmethod
    def mix(visits: Sequence[Visit[Stats]], shares: Sequence[float]) -> Visit[Stats]:
        """Merge visits of groups of rows that keep given shares of the weight."""
        parts = (v.statistics.scale(share) for v, share in zip(visits, shares, strict=True))
        summary = mix_summaries([visit.summary for visit in visits], shares)
        return Visit(summary, reduce(operator.add, parts))


@dataclass(frozen=True)
class Foresight(Generic[Theta]):
    """What a model knows about the next step before the rows are visited.

    Attributes
    ----------
    fall : float
        Approximate fall of the objective; zero only at a solution.
    further : Theta or None
        A θ beyond the plain step, close to where the alternation is expected to end; None if the
        plain step is the best guess.
    """

    fall: float
    further: Theta | None


@dataclass(frozen=True)
class Trail(Generic[Theta]):
    """What an alternation knows of its way besides the last step.

    Attributes
    ----------
    earlier : Theta or None
        The θ of the pass before the last; None if there was none.
    effective_size : float
        Kish's effective number of rows at the last θ.
    """

    earlier: Theta | None
    effective_size: float


class ErrorModel(ABC, Generic[Block, Theta, Stats]):
    """An error function g(x, θ) and its weighted fit.

    Subclasses implement `errors`, `statistics` and `solve`; everything else has a default.
    `solve` must minimise ``Σ w_t g(x_t, θ)`` over θ, or at least not raise it, and raise a
    `CollapseError` if the weighted rows do not determine θ.

    Attributes
    ----------
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.
    is_exact : bool
        Whether `solve` never raises the weighted error. If it may, as for penalised or randomised
        learners, the alternation stops before the first step that does not descend.
    is_proven: bool
        Whether it is proven, and tested, that `solve` never raises the weighted error. Only
        rounding can then raise the objective, and the alternation ends there. Otherwise a rise is
        a mistake of the model, and a `DescentError` says so.
    objective_rounding : float
        Relative rounding of the objective, if it is more than that of double precision. A rise by
        less is none, and the alternation ends by what the model foresees.
    """

    smallest_size: float = 2.0
    is_exact: bool = True
    is_proven: bool = False
    objective_rounding: float = 0.0

    @abstractmethod
    def errors(self, block: Block, theta: Theta) -> FloatArray:
        """Return the error g(x_t, θ) of each row of the block."""

    @abstractmethod
    def statistics(self, block: Block, weights: FloatArray, theta: Theta) -> Stats:
        """Return the weighted sums over the block; θ is the one at which the errors were taken."""

    @abstractmethod
    def solve(self, statistics: Stats) -> Theta:
        """Return the θ that fits the weighted rows."""

    def visit(
        self, block: Block, prior: FloatArray | None, theta: Theta, alpha: float
    ) -> Visit[Stats]:
        """Return summary and statistics of a block at its optimal weights.

        Override it where errors and statistics share work.
        """
        solution = optimal_weights(self.errors(block, theta), alpha, prior)
        return Visit(solution.summary, self.statistics(block, solution.weights, theta))

    def objective_unit(self, alpha: float) -> float:  # noqa: ARG002  # for subclasses
        """Return the size of an objective below which falls of it are no longer relative to it."""
        return 1.0

    def foresee(
        self,
        before: Theta,  # noqa: ARG002  # for subclasses
        after: Theta,  # noqa: ARG002
        alpha: float,  # noqa: ARG002
        trail: Trail[Theta],  # noqa: ARG002
    ) -> Foresight[Theta] | None:
        """Predict the gain of the plain step from `before` to `after`; None if unknown.

        A model that can saves passes: steps are extrapolated, and the last one needs no visit.
        """
        return None
