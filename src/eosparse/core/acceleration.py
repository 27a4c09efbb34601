"""Foresight: how far a step will bring the objective, and where the steps after it would lead.

The alternation keeps the plain step at hand and takes it instead whenever the extrapolated one
does not descend, so the objective falls as it would without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

Theta = TypeVar("Theta")


@dataclass(frozen=True)
class Foresight(Generic[Theta]):
    """What can be known of the next step before the rows are visited.

    Attributes
    ----------
    fall : float
        By how much the objective will fall, about; zero only at a solution.
    further : Theta or None
        A θ beyond the plain step, where the alternation is expected to end; None if there is none.
    """

    fall: float
    further: Theta | None


@runtime_checkable
class Foresees(Protocol[Theta]):
    """An error model that can tell what a plain step from `before` to `after` is worth."""

    def foresee(self, before: Theta, after: Theta, alpha: float, /) -> Foresight[Theta]:
        """Return the fall of the objective, and a θ beyond `after`."""
        ...


def foreseen(model: object, before: Theta, after: Theta, alpha: float) -> Foresight[Theta] | None:
    """Foresee a step of any model; None if it cannot."""
    if not isinstance(model, Foresees):
        return None
    foresight: Foresight[Theta] = model.foresee(before, after, alpha)
    return foresight
