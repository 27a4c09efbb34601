"""What a table offers to a fit, wherever its rows are stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from eosparse.core import BoolArray, FloatArray, IntArray, Mergeable

Part = TypeVar("Part", bound=Mergeable)


def as_stored(values: FloatArray) -> FloatArray:
    """Return a block unchanged."""
    return values


as_float64: Callable[[FloatArray], FloatArray] = partial(np.asarray, dtype=np.float64)
"""Return a block in double precision."""


def weigh_empty(values: FloatArray, prior: FloatArray | None) -> FloatArray | None:
    """Return prior weights that are zero for rows without any value; None if all count alike.

    Examples
    --------
    >>> import numpy as np
    >>> weigh_empty(np.array([[1.0, np.nan], [np.nan, np.nan]]), None).tolist()
    [1.0, 0.0]
    """
    if not np.isnan(values[:, :1]).any():
        return prior
    is_empty = np.isnan(values).all(axis=1)
    return np.where(is_empty, 0.0, 1.0 if prior is None else prior) if is_empty.any() else prior


@dataclass(frozen=True)
class Chain:
    """One function after another; unlike a lambda it can be pickled."""

    first: Callable[[FloatArray], FloatArray]
    then: Callable[[FloatArray], FloatArray]

    def __call__(self, values: FloatArray) -> FloatArray:
        """Apply both."""
        return self.then(self.first(values))


class Table(ABC):
    """Rows of numbers in one kind of storage; each storage is a subclass in a file of its own.

    Rows with a prior weight of zero do not count, and are not numbered.
    """

    columns: tuple[str, ...]
    """Names of the columns."""

    prepare: Callable[[FloatArray], FloatArray]
    """Applied to each block before it is used."""

    is_in_memory = False
    """Whether the rows, and one number per row, are available as arrays."""

    is_kept = True
    """Whether a fitted estimator keeps one number per training row."""

    @property
    def dtype(self) -> Any:
        """Type of the numbers that users get back."""
        return np.dtype(np.float64)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def has_gaps(self) -> bool:
        """Whether values are, or may be, missing."""
        return False

    def allow_gaps(self) -> Self:
        """Return the same rows, of which missing values are NaN and no error.

        Rows without any value then have no prior weight.
        """
        return self

    @property
    def n_empty(self) -> int:
        """Number of rows that do not count because they have no value."""
        return 0

    @property
    @abstractmethod
    def n_present(self) -> int:
        """Number of rows that count."""

    @property
    @abstractmethod
    def mass(self) -> float:
        """Sum of the prior weights."""

    @abstractmethod
    def fold(self, kernel: Callable[[FloatArray, FloatArray | None], Part]) -> Part:
        """Apply a kernel to every block and its prior weights, and merge the results by ``+``."""

    @abstractmethod
    def take(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return some rows that count, as stored, and their prior weights; `numbers` must rise."""

    @abstractmethod
    def prepare_with(self, prepare: Callable[[FloatArray], FloatArray]) -> Self:
        """Return the same rows with a function applied to each block, such as coordinates."""

    @abstractmethod
    def map(self, function: Callable[[FloatArray], FloatArray]) -> Self:
        """Return rows of one number each: a function of the prepared blocks."""

    def keep(self, function: Callable[[FloatArray], FloatArray], dtype: Any) -> Self:  # noqa: ARG002  # for subclasses
        """Return the rows in other coordinates.

        By default they are computed in every pass; rows in memory may keep them.
        """
        return self.prepare_with(Chain(self.prepare, function))

    def select(self, chosen: BoolArray) -> Self:  # noqa: ARG002  # for subclasses
        """Return some of the rows, if that takes little memory; all of them by default."""
        return self

    def gather(self, blocks: Sequence[FloatArray]) -> Self | None:  # noqa: ARG002  # for subclasses
        """Return rows of one number each, given block by block; None if they are not all rows."""
        return None

    def map_falling(self, function: Callable[[FloatArray], FloatArray]) -> Self:
        """Like `map`, for a function that should fall as numbers rise; enforced where possible."""
        return self.map(function)

    @abstractmethod
    def to_column(self, dtype: Any) -> Any:
        """Return rows of one number each in the form users get: an array, eager or lazy."""

    def times_prior(self, column: Any) -> Any:
        """Return a column multiplied by the prior weights."""
        return column

    def reweight(self, weights: Any, random_state: np.random.RandomState) -> Self:  # noqa: ARG002  # for subclasses
        """Return the rows with additional weights: given ones, or "random"."""
        raise ValueError(
            "start: random or given weights need the rows in memory. Use 'deterministic' or "
            "'uniform'."
        )

    def keep_for_pickle(self) -> Self | None:
        """Return what a pickled estimator keeps; None for nothing."""
        return self

    def write_columns(
        self,
        output: str | Path,  # noqa: ARG002  # for subclasses
        functions: Mapping[str, Callable[[FloatArray], Any]],  # noqa: ARG002  # for subclasses
        keys: Sequence[str] = (),  # noqa: ARG002  # for subclasses
        *,
        overwrite: bool = False,  # noqa: ARG002  # for subclasses
    ) -> Path:
        """Write functions of each row to a file, next to its keys."""
        raise TypeError(
            "write_scores() streams rows from disk; use score_samples() and p_values() for rows in "
            "memory or on a cluster."
        )

    def write_lines(
        self,
        output: str | Path,  # noqa: ARG002  # for subclasses
        find: Callable[[FloatArray], dict[str, Any]],  # noqa: ARG002  # for subclasses
        *,
        overwrite: bool = False,  # noqa: ARG002  # for subclasses
    ) -> Path:
        """Write the lines that are found in every block of rows to a file."""
        raise TypeError(
            "write_wrong() streams rows from disk; use list_wrong() for rows in memory, or collect "
            "the rows of interest."
        )
