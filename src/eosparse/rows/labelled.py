"""Rows with labels, in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from eosparse.core import FloatArray, IntArray, Mergeable, Rows, Strata, has_mass
from eosparse.rows.memory import block_slices
from eosparse.rows.parallel import fold_in_order
from eosparse.rows.table import as_stored

Block = TypeVar("Block")
Part = TypeVar("Part", bound=Mergeable)


@dataclass(frozen=True)
class Labelled:
    """Some rows and the class of each, as a number from 0.

    Examples
    --------
    >>> import numpy as np
    >>> len(Labelled(np.array([[1.0], [2.0]]), np.array([0, 1])))
    2
    """

    values: FloatArray
    classes: IntArray

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class LabelledRows:
    """An array of rows and the class of each, visited in blocks.

    Attributes
    ----------
    values : array of shape (n_samples, n_features)
        The rows.
    classes : array of shape (n_samples,)
        Class of each, as a number from 0.
    prior : array of shape (n_samples,)
        Prior weights.
    prepare : callable
        Applied to the values of each block.
    numbers : array of int or None
        Numbers of the rows to visit; None visits all.

    Examples
    --------
    >>> import numpy as np
    >>> rows = LabelledRows(np.array([[1.0], [2.0]]), np.array([0, 1]), np.array([1.0, 3.0]))
    >>> float(rows.fold(lambda block, prior: prior @ block.values).item())
    7.0
    >>> rows.group_by_class().shares
    (0.25, 0.75)
    """

    values: FloatArray
    classes: IntArray
    prior: FloatArray
    prepare: Callable[[FloatArray], FloatArray] = as_stored
    numbers: IntArray | None = None

    def fold(self, kernel: Callable[[Labelled, FloatArray], Part]) -> Part:
        """Apply a kernel to every block, in parallel, and merge the results in order."""

        def one(part: slice) -> Part | None:
            rows = part if self.numbers is None else self.numbers[part]
            prior = self.prior[rows]
            if not has_mass(prior):
                return None
            return kernel(Labelled(self.prepare(self.values[rows]), self.classes[rows]), prior)

        size = len(self.values) if self.numbers is None else len(self.numbers)
        return fold_in_order(block_slices((size, self.values.shape[1])), one)

    def group_by_class(self) -> Strata[Labelled]:
        """Return the same rows with one simplex per class, which keeps its share of the weight."""
        return group_by_class(lambda rows: replace(self, numbers=rows), self.classes, self.prior)


def group_by_class(
    take: Callable[[IntArray], Rows[Block]], classes: IntArray, prior: FloatArray
) -> Strata[Block]:
    """Group rows by class; each class keeps its share of the prior weight.

    Parameters
    ----------
    take : callable
        Returns the rows with some numbers.
    classes : array of shape (n_samples,)
        Class of each row, as a number from 0.
    prior : array of shape (n_samples,)
        Prior weights; rows without any are left out.

    Returns
    -------
    Strata

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import MemoryRows
    >>> values, classes = np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 1])
    >>> groups = group_by_class(lambda rows: MemoryRows(values[rows]), classes, np.ones(3))
    >>> [part.values.ravel().tolist() for part in groups.parts]
    [[1.0], [2.0, 4.0]]
    """
    present = np.unique(classes[prior > 0])
    members = [np.flatnonzero((classes == label) & (prior > 0)) for label in present]
    shares = tuple(float(prior[rows].sum() / prior.sum()) for rows in members)
    return Strata(tuple(take(rows) for rows in members), shares)
