"""A sample as a fit whitens it: what several questions about groups and tails look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eosparse.core import BoolArray, FloatArray
from eosparse.models import Fit
from eosparse.rows import MemoryRows, Sample

# Products with fewer columns take no time worth keeping their results.
_MANY_COLUMNS = 64


@dataclass(frozen=True)
class WhiteSample:
    """A sample, and a fit by which its rows are whitened; those of many columns only once."""

    fit: Fit[Any]
    sample: Sample

    @cached_property
    def _all(self) -> FloatArray:
        return MemoryRows(self.sample.values).map(self.fit.whiten).values

    def take(self, chosen: BoolArray) -> FloatArray:
        """Return the chosen rows, whitened."""
        if self.sample.values.shape[1] < _MANY_COLUMNS:
            return self.fit.whiten(self.sample.values[chosen])
        return self._all[chosen]
