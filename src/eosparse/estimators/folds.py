"""Folds that depend on what the rows are, not on where they stand.

Equal rows always fall into the same fold: a copy of a held-out row in the training part would give
its label away. And a row of weight k is treated like k equal rows, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from eosparse.core import FloatArray, IntArray


def fold_numbers(
    X: Any,
    classes: IntArray,
    prior: FloatArray,
    n_folds: int,
    random_state: int | np.random.RandomState | None,
) -> IntArray:
    """Assign each row a fold, evenly within each class; -1 for rows without prior weight.

    Tables that are not made of numbers have no order of their own: there each row stands for
    itself.
    """
    present = np.flatnonzero(prior > 0)
    kinds = _distinct(X, classes, present)
    n_kinds = int(kinds.max()) + 1
    class_of_kind = np.empty(n_kinds, dtype=np.intp)
    class_of_kind[kinds] = classes[present]
    shuffled = check_random_state(random_state).permutation(n_kinds)
    # In order of class, then shuffled, and dealt out: every class is spread over all folds.
    dealt = shuffled[np.argsort(class_of_kind[shuffled], kind="stable")]
    fold_of_kind = np.empty(n_kinds, dtype=np.intp)
    fold_of_kind[dealt] = np.arange(n_kinds) % n_folds
    folds = np.full(len(classes), -1, dtype=np.intp)
    folds[present] = fold_of_kind[kinds]
    return folds


def _distinct(X: Any, classes: IntArray, present: IntArray) -> IntArray:
    """Number the distinct rows among those present, in an order of their own."""
    try:
        values = np.asarray(X, dtype=np.float64)[present]
        values = values.reshape(len(present), -1)
    except (TypeError, ValueError, IndexError):
        return np.arange(len(present))
    table = np.column_stack([classes[present], values])
    _, kinds = np.unique(table, axis=0, return_inverse=True)
    return kinds.reshape(-1).astype(np.intp)


def splits(folds: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield training and held-out rows of each fold; rows outside all folds are in neither."""
    for fold in range(int(folds.max()) + 1):
        yield np.flatnonzero((folds != fold) & (folds >= 0)), np.flatnonzero(folds == fold)
