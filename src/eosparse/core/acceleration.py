"""Extrapolation: take a step further than the plain one, where the error model knows how far.

The alternation keeps the plain step at hand and takes it instead whenever the extrapolated one
does not descend, so the objective falls as it would without.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

Theta = TypeVar("Theta")


@runtime_checkable
class Extrapolates(Protocol[Theta]):
    """An error model that can guess where a plain step leads in the end."""

    def extrapolate(self, before: Theta, after: Theta, alpha: float, /) -> Theta | None:
        """Return a θ beyond `after`, or None where there is none."""
        ...


def extrapolated(model: object, before: Theta, after: Theta, alpha: float) -> Theta | None:
    """Extrapolate a step of any model; None if it cannot."""
    if not isinstance(model, Extrapolates):
        return None
    further: Theta | None = model.extrapolate(before, after, alpha)
    return further
