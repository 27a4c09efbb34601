"""Folds that depend on the values of the rows, not on their order.

Equal rows always share a fold: a copy of a held-out row among the training rows would give its
label away. So do rows of the same group, such as those of one patient. A row of weight k is treated
like k equal rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, issparse
from scipy.sparse.csgraph import connected_components
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
    groups: IntArray | None = None,
) -> IntArray:
    """Assign each row to a fold, evenly within each class.

    Rows without prior weight are in no fold. Neither is the only distinct row or group of a class:
    every learner needs it.

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
    groups : array of shape (n_samples,), optional
        Rows with the same number share a fold.

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
    if groups is not None:
        kinds = _join(kinds, groups[present])
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
    keys = _make_keys(X)[present]
    _, kinds = np.unique(keys, axis=0 if keys.ndim == 2 else None, return_inverse=True)
    return kinds.reshape(-1).astype(np.intp)


def _make_keys(X: Any) -> NDArray[Any]:
    """Return one key per row, equal for equal rows: its numbers, or else one text or bytes."""
    if issparse(X):
        return _make_sparse_keys(X)
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        cells = np.asarray(X, dtype=object)
        lines = cells.reshape(len(cells), -1).tolist()
        return np.array(["\x1f".join(map(str, line)) for line in lines], dtype=object)
    # Gaps are equal to each other.
    return np.where(np.isnan(values), np.inf, values).reshape(len(values), -1)


def _make_sparse_keys(X: Any) -> NDArray[Any]:
    """Return the places and values of the entries of each row, as bytes."""
    rows = X.tocsr().copy()
    rows.sum_duplicates()  # which also sorts the places
    rows.eliminate_zeros()
    places, values = rows.indices.astype(np.int64), rows.data.astype(np.float64)
    parts = [slice(*ends) for ends in zip(rows.indptr, rows.indptr[1:], strict=False)]
    keys = np.empty(len(parts), dtype=object)
    keys[:] = [places[part].tobytes() + values[part].tobytes() for part in parts]
    return keys


def _join(kinds: IntArray, groups: IntArray) -> IntArray:
    """Number what equal rows and groups hold together, directly or through other rows."""
    n_kinds = int(kinds.max()) + 1
    _, numbers = np.unique(groups, return_inverse=True)
    n_nodes = n_kinds + int(numbers.max()) + 1
    links = coo_array((np.ones(len(kinds)), (kinds, n_kinds + numbers)), shape=(n_nodes, n_nodes))
    _, joined = connected_components(links, directed=False)
    return joined[kinds].astype(np.intp)


def _find_only_kinds(kinds: IntArray, classes: IntArray) -> list[int]:
    """Return the distinct rows or groups that are the only ones of some class."""
    of_class = (np.unique(kinds[classes == label]) for label in np.unique(classes))
    return [int(mine[0]) for mine in of_class if len(mine) == 1]
