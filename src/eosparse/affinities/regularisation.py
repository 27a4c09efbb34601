"""How α is found: for a perplexity, row by row, or given."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from eosparse.core import (
    FloatArray,
    RowwiseWeights,
    rowwise_weights,
    rowwise_weights_for_perplexity,
)

_DEFAULT_PERPLEXITY = 30.0


@dataclass(frozen=True)
class Perplexity:
    """Every row has its own α, at which its weights have this perplexity."""

    value: float

    def weights(self, errors: FloatArray) -> RowwiseWeights:
        """Solve the closed form for rows of errors."""
        return rowwise_weights_for_perplexity(errors, self.value)

    def check_reachable(self, n_others: int) -> None:
        """Refuse what the number of rows that each row is compared with does not allow."""
        if not self.value < n_others:
            raise ValueError(
                f"perplexity={self.value!r} must be less than {n_others}, the number of rows "
                "that each row is compared with. Lower it, raise n_neighbors, or bring more rows."
            )


@dataclass(frozen=True)
class Alpha:
    """All rows have the same α."""

    value: float

    def weights(self, errors: FloatArray) -> RowwiseWeights:
        """Solve the closed form for rows of errors."""
        return rowwise_weights(errors, self.value)

    def check_reachable(self, n_others: int) -> None:
        """Any number of rows will do."""


def regularisation(perplexity: float | None, alpha: float | None) -> Perplexity | Alpha:
    """Check the two parameters of which one is given, or none."""
    if perplexity is not None and alpha is not None:
        raise ValueError("give a perplexity or an alpha, not both.")
    if alpha is not None:
        if not _is_above(alpha, 0):
            raise ValueError(f"alpha must be a positive number, got {alpha!r}.")
        return Alpha(float(alpha))
    wanted = _DEFAULT_PERPLEXITY if perplexity is None else perplexity
    if not _is_above(wanted, 1):
        raise ValueError(f"perplexity must be a number greater than 1, got {wanted!r}.")
    return Perplexity(float(wanted))


def _is_above(value: object, bound: float) -> bool:
    is_truth = isinstance(value, (bool, np.bool_))
    return not is_truth and isinstance(value, Real) and float(value) > bound
