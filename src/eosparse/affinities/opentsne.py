"""Affinities as openTSNE takes them; openTSNE is imported when they are asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from eosparse.affinities.entropic import EntropicAffinities


def to_opentsne(source: EntropicAffinities) -> Any:
    """Wrap affinities for ``openTSNE.TSNE().fit(affinities=...)``."""
    return _adapter()(source)


@cache
def _adapter() -> Any:
    try:
        from openTSNE.affinity import Affinities
    except ImportError as error:
        raise ImportError("as_opentsne needs openTSNE: pip install 'eosparse[tsne]'.") from error

    class OpenTSNEAffinities(Affinities):  # type: ignore[misc] # openTSNE ships no types
        """Entropic affinities with the members that openTSNE uses: P, n_samples and to_new."""

        def __init__(self, source: EntropicAffinities) -> None:
            super().__init__()
            self.source = source
            # openTSNE wants the probabilities of all pairs to sum to one, and writes to them.
            P = source.P if source.symmetric else source.P / source.n_rows
            self.P = csr_matrix(P, copy=True)

        @property
        def n_samples(self) -> int:
            return self.source.n_rows

        def to_new(
            self, data: Any, perplexity: float | None = None, return_distances: bool = False
        ) -> Any:
            """Probabilities of new rows; with their neighbours, nearest first, and the errors."""
            new = self.source.new_rows(data, perplexity=perplexity)
            P = csr_matrix(new.matrix(self.n_samples))
            return (P, new.indices, new.errors) if return_distances else P

        def __reduce__(self) -> tuple[Any, ...]:
            return to_opentsne, (self.source,)  # a class made in a function has no address

    return OpenTSNEAffinities
