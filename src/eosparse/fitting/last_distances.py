"""What the last pass of a fit measured, so that a verdict needs no further pass over the rows."""

from __future__ import annotations

from typing import Any

from eosparse.core import FloatArray, Iteration
from eosparse.models import Fit
from eosparse.rows import Table


class LastDistances:
    """A callback that remembers the distances of the last pass.

    Attributes
    ----------
    blocks : tuple of arrays
        The distances, block by block; empty if the model or the rows do not tell.
    """

    blocks: tuple[FloatArray, ...] = ()

    def __call__(self, iteration: Iteration[Any]) -> None:
        """Remember those of a pass."""
        self.blocks = iteration.distances

    def measure(self, fit: Fit[Any], table: Table) -> Table:
        """Return the distances of all rows from the fit that ended with the last pass."""
        known = None if fit.has_own_rules else table.gather(self.blocks)
        return table.map(fit.measure) if known is None else known.map(fit.drop_rounding)
