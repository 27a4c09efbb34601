"""Folds that depend on the values of the rows, not on their order.

Equal rows always share a fold: a copy of a held-out row among the training rows would give its
label away. A row of weight k is treated like k equal rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from eosparse.core import FloatArray, IntArray

# Rows outside the folds: without prior weight, or the only ones of their class.
ABSENT, ALWAYS_TRAINED = -1, -2


def assign_folds(
    X: Any,
    classes: IntArray,
    prior: FloatArray,
    n_folds: int,
    random_state: int | np.random.RandomState | None,
) -> IntArray:
    """Assign each row to a fold, evenly within each class.

    Rows without prior weight are in no fold. Neither is the only distinct row of a class: every
    learner needs it. In tables that are not numeric, every row counts as distinct.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The rows.
    classes : array of shape (n_samples,)
        Class of each row, as a number from 0.
    prior : array of shape (n_samples,)
        Prior weights.
    n_folds : int
        Number of folds.
    random_state : int, RandomState or None
        For shuffling.

    Returns
    -------
    array of shape (n_samples,)
        Number of the fold of each row; negative if it is in none.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [2.0], [1.0], [3.0]])
    >>> folds = assign_folds(X, np.zeros(4, dtype=int), np.ones(4), 2, 0)
    >>> bool(folds[0] == folds[2])  # equal rows
    True
    """
    present = np.flatnonzero(prior > 0)
    kinds = _number_distinct_rows(X, present)
    n_kinds = int(kinds.max()) + 1
    class_of_kind = np.full(n_kinds, -1)
    np.maximum.at(class_of_kind, kinds, classes[present])
    shuffled = check_random_state(random_state).permutation(n_kinds)
    # Sorted by class, then dealt out in turn: every class is spread over all folds.
    dealt = shuffled[np.argsort(class_of_kind[shuffled], kind="stable")]
    dealt = dealt[~np.isin(dealt, _find_only_kinds(kinds, classes[present]))]
    fold_of_kind = np.full(n_kinds, ALWAYS_TRAINED)
    fold_of_kind[dealt] = np.arange(len(dealt)) % n_folds
    folds = np.full(len(classes), ABSENT)
    folds[present] = fold_of_kind[kinds]
    return folds


def split_by_fold(folds: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the training and the held-out rows of each fold; absent rows are in neither.

    Examples
    --------
    >>> import numpy as np
    >>> for train, held_out in split_by_fold(np.array([0, 1, 0, -1])):
    ...     print(train.tolist(), held_out.tolist())
    [1] [0, 2]
    [0, 2] [1]
    """
    for fold in range(int(folds.max()) + 1):
        yield np.flatnonzero((folds != fold) & (folds != ABSENT)), np.flatnonzero(folds == fold)


def _number_distinct_rows(X: Any, present: IntArray) -> IntArray:
    """Number the distinct rows among those present, in the order of their values."""
    try:
        values = np.asarray(X, dtype=np.float64)[present]
        values = values.reshape(len(present), -1)
    except (TypeError, ValueError, IndexError):
        return np.arange(len(present))
    _, kinds = np.unique(values, axis=0, return_inverse=True)
    return kinds.reshape(-1).astype(np.intp)


def _find_only_kinds(kinds: IntArray, classes: IntArray) -> list[int]:
    """Return the distinct rows that are the only ones of some class."""
    of_class = (np.unique(kinds[classes == label]) for label in np.unique(classes))
    return [int(mine[0]) for mine in of_class if len(mine) == 1]
