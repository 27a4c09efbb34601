"""Rows with labels, in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from eosparse.core import FloatArray, IntArray, Mergeable, Rows, Strata, counts
from eosparse.errors import Labelled
from eosparse.rows.memory import block_slices
from eosparse.rows.side_by_side import folded

Block = TypeVar("Block")
Part = TypeVar("Part", bound=Mergeable)


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
    """

    values: FloatArray
    classes: IntArray
    prior: FloatArray

    def fold(self, kernel: Callable[[Labelled, FloatArray | None], Part]) -> Part:
        """Apply a kernel to every block, side by side, and merge the results in order."""

        def one(part: slice) -> Part | None:
            prior = self.prior[part]
            block = Labelled(self.values[part], self.classes[part])
            return kernel(block, prior) if counts(prior) else None

        return folded(block_slices(self.values.shape), one)

    def by_class(self) -> Strata[Labelled]:
        """Return the same rows with one simplex per class."""
        return by_class(self._some, self.classes, self.prior)

    def _some(self, rows: IntArray) -> LabelledRows:
        return LabelledRows(self.values[rows], self.classes[rows], self.prior[rows])


def by_class(
    some: Callable[[IntArray], Rows[Block]], classes: IntArray, prior: FloatArray
) -> Strata[Block]:
    """Group rows by class; each class keeps its share of the prior weight."""
    present = np.unique(classes[prior > 0])
    chosen = [np.flatnonzero((classes == label) & (prior > 0)) for label in present]
    shares = tuple(float(prior[rows].sum() / prior.sum()) for rows in chosen)
    return Strata(tuple(some(rows) for rows in chosen), shares)
