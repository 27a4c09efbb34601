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

# Rows outside the folds: without prior weight, or the only ones of their class.
ABSENT, ALWAYS_TRAINED = -1, -2


def fold_numbers(
    X: Any,
    classes: IntArray,
    prior: FloatArray,
    n_folds: int,
    random_state: int | np.random.RandomState | None,
) -> IntArray:
    """Assign each row a fold, evenly within each class.

    Rows without prior weight are in none. Neither is the only distinct row of a class, which no
    learner could do without. Tables that are not made of numbers have no order of their own: there
    each row stands for itself.
    """
    present = np.flatnonzero(prior > 0)
    kinds = _distinct(X, present)
    n_kinds = int(kinds.max()) + 1
    class_of_kind = np.full(n_kinds, -1)
    np.maximum.at(class_of_kind, kinds, classes[present])
    shuffled = check_random_state(random_state).permutation(n_kinds)
    # In order of class, then shuffled, and dealt out: every class is spread over all folds.
    dealt = shuffled[np.argsort(class_of_kind[shuffled], kind="stable")]
    dealt = dealt[~np.isin(dealt, _only_kinds(kinds, classes[present]))]
    fold_of_kind = np.full(n_kinds, ALWAYS_TRAINED)
    fold_of_kind[dealt] = np.arange(len(dealt)) % n_folds
    folds = np.full(len(classes), ABSENT)
    folds[present] = fold_of_kind[kinds]
    return folds


def _only_kinds(kinds: IntArray, classes: IntArray) -> list[int]:
    """Distinct rows that are the only ones of some class."""
    of_class = (np.unique(kinds[classes == label]) for label in np.unique(classes))
    return [int(mine[0]) for mine in of_class if len(mine) == 1]


def _distinct(X: Any, present: IntArray) -> IntArray:
    """Number the distinct rows among those present, in an order of their own."""
    try:
        values = np.asarray(X, dtype=np.float64)[present]
        values = values.reshape(len(present), -1)
    except (TypeError, ValueError, IndexError):
        return np.arange(len(present))
    _, kinds = np.unique(values, axis=0, return_inverse=True)
    return kinds.reshape(-1).astype(np.intp)


def splits(folds: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield training and held-out rows of each fold; absent rows are in neither."""
    for fold in range(int(folds.max()) + 1):
        yield np.flatnonzero((folds != fold) & (folds != ABSENT)), np.flatnonzero(folds == fold)
