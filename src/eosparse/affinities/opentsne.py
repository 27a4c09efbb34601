"""Affinities in the form that openTSNE expects; openTSNE is imported on first use."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from eosparse.affinities.entropic import EntropicAffinities


def convert_to_opentsne(source: EntropicAffinities) -> Any:
    """Wrap affinities for ``openTSNE.TSNE().fit(affinities=...)``."""
    return _define_adapter()(source)


@cache
def _define_adapter() -> Any:
    try:
        from openTSNE.affinity import Affinities
    except ImportError as error:
        raise ImportError("as_opentsne needs openTSNE: pip install 'eosparse[tsne]'.") from error

    class OpenTSNEAffinities(Affinities):  # type: ignore[misc] # openTSNE ships no types
        """Entropic affinities with the members that openTSNE uses: P, n_samples and to_new."""

        def __init__(self, source: EntropicAffinities) -> None:
            super().__init__()
            self.source = source
            # openTSNE expects the probabilities of all pairs to sum to one, and writes to them.
            P = source.P if source.symmetric else source.P / source.n_rows
            self.P = csr_matrix(P, copy=True)

        @property
        def n_samples(self) -> int:
            return self.source.n_rows

        def to_new(
            self, data: Any, perplexity: float | None = None, return_distances: bool = False
        ) -> Any:
            """Return the probabilities of new rows; optionally neighbours and errors as well."""
            new = self.source.find_neighbours(data, perplexity=perplexity)
            P = csr_matrix(new.to_matrix(self.n_samples))
            return (P, new.indices, new.errors) if return_distances else P

        def __reduce__(self) -> tuple[Any, ...]:
            # Pickle cannot import a class that is defined inside a function.
            return convert_to_opentsne, (self.source,)

    return OpenTSNEAffinities
