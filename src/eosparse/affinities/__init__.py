"""t-SNE's densities for any error: the closed form, row by row."""

from eosparse.affinities.entropic import (
    EntropicAffinities,
    NewRows,
    UnreachedPerplexityWarning,
    entropic_affinities,
)

__all__ = [
    "EntropicAffinities",
    "NewRows",
    "UnreachedPerplexityWarning",
    "entropic_affinities",
]
