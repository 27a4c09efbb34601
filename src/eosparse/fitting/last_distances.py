"""What the last pass of a fit measured, so that a verdict needs no further pass over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from eosparse.core import FloatArray, Iteration
from eosparse.models import Fit
from eosparse.rows import MemoryRows, Table


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
        n_known = sum(map(len, self.blocks))  # rows without prior weight were not visited
        if not isinstance(table, MemoryRows) or len(table.values) != n_known or fit.has_own_rules:
            return table.map(fit.measure)
        return MemoryRows(fit.drop_rounding(np.concatenate(self.blocks)), table.prior)
