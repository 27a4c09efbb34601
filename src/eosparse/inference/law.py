"""What a law of distances answers; one law per file."""

from __future__ import annotations

from typing import Protocol

from eosparse.core import FloatArray


class Law(Protocol):
    """Law of the corrected distance of a new, good row."""

    def p_values(self, distances: FloatArray, /) -> FloatArray:
        """Return the probability of a distance at least as large."""
        ...

    def distance_at(self, levels: FloatArray, /) -> FloatArray:
        """Return the distances with given p-values."""
        ...
