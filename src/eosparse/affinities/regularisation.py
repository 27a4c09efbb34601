"""How α is chosen: for a perplexity, row by row, or as one given number."""

from __future__ import annotations

from dataclasses import dataclass

from eosparse.core import (
    FloatArray,
    RowwiseWeights,
    rowwise_weights,
    rowwise_weights_for_perplexity,
)
from eosparse.core.numbers import check_alpha, check_number

# The usual default of t-SNE.
_DEFAULT_PERPLEXITY = 30.0


@dataclass(frozen=True)
class Perplexity:
    """Every row has its own α, at which its weights have this perplexity."""

    value: float

    def compute_weights(self, errors: FloatArray) -> RowwiseWeights:
        """Solve the closed form for rows of errors."""
        return rowwise_weights_for_perplexity(errors, self.value)

    def check_reachable(self, n_others: int) -> None:
        """Raise unless rows that are compared with `n_others` rows can have this perplexity."""
        if not self.value < n_others:
            raise ValueError(
                f"perplexity={self.value!r} must be less than {n_others}, the number of rows "
                "that each row is compared with. Lower it, raise n_neighbors, or add rows."
            )


@dataclass(frozen=True)
class Alpha:
    """All rows have the same α."""

    value: float

    def compute_weights(self, errors: FloatArray) -> RowwiseWeights:
        """Solve the closed form for rows of errors."""
        return rowwise_weights(errors, self.value)

    def check_reachable(self, n_others: int) -> None:
        """Accept any number of rows."""


def choose_regularisation(perplexity: float | None, alpha: float | None) -> Perplexity | Alpha:
    """Check the two parameters, at most one of which is given."""
    if perplexity is not None and alpha is not None:
        raise ValueError("perplexity and alpha exclude each other: pass only one of them.")
    if alpha is not None:
        check_alpha(alpha, words=())
        return Alpha(float(alpha))
    value = _DEFAULT_PERPLEXITY if perplexity is None else perplexity
    check_number("perplexity", value, "(1, inf)")
    return Perplexity(float(value))
