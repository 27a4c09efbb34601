"""What the loop asks of rows: visit every block once, and merge what each visit returns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from eosparse.core.arrays import FloatArray

Block = TypeVar("Block")
BlockOut = TypeVar("BlockOut", covariant=True)


class Mergeable(Protocol):
    """A summary of some rows; summaries of disjoint rows merge by ``+``, in any order."""

    def __add__(self, other: Self, /) -> Self: ...


Part = TypeVar("Part", bound=Mergeable)


class Rows(Protocol[BlockOut]):
    """Rows in blocks, each with its prior weights, wherever they are stored."""

    def fold(self, kernel: Callable[[BlockOut, FloatArray | None], Part], /) -> Part:
        """Apply a kernel to every block once, and merge the results by ``+``.

        Prior weights of None stand for ones. Blocks whose prior weights are all zero are skipped.
        """
        ...


@dataclass(frozen=True)
class Strata(Generic[BlockOut]):
    """Rows in groups, such as classes, each of which keeps its share of the weight.

    The weights minimise the same objective under that constraint: one simplex per group.

    Attributes
    ----------
    parts : tuple of Rows
        The groups.
    shares : tuple of float
        Share of the weight of each group, summing to one.
    """

    parts: tuple[Rows[BlockOut], ...]
    shares: tuple[float, ...]

    def fold(self, kernel: Callable[[BlockOut, FloatArray | None], Any]) -> Any:
        """Visit every group, and mix the visits by the shares of the groups."""
        visits = [part.fold(kernel) for part in self.parts]
        return visits[0].mix(visits, self.shares)


def fold_blocks(
    blocks: Iterable[tuple[Block, FloatArray | None]],
    kernel: Callable[[Block, FloatArray | None], Part],
) -> Part:
    """Fold blocks one after the other: the simplest way to implement `Rows.fold`.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = [(np.array([1.0, 2.0]), None), (np.array([3.0]), np.zeros(1))]
    >>> fold_blocks(blocks, lambda block, prior: block.sum())
    np.float64(3.0)
    """
    return reduce(operator.add, (kernel(b, prior) for b, prior in blocks if has_mass(prior)))


def has_gaps(block: FloatArray) -> bool:
    """Whether any value is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import has_gaps
    >>> has_gaps(np.array([[1.0, np.nan]])), has_gaps(np.ones((2, 2)))
    (True, False)
    """
    # A sum is not a number if one of its terms is not, and takes no memory.
    return bool(np.isnan(block.sum()) and np.isnan(block).any())


def has_mass(prior: FloatArray | None) -> bool:
    """Whether any row of a block has a positive prior weight."""
    return prior is None or bool(np.any(prior > 0))
