"""The rows nearest to each row as a second opinion on its label.

A learner and the nearest rows fail in different places. Their probabilities are multiplied, those
of the neighbours with an exponent b between 0 and 1: how much of the learner's power to predict the
given labels they have. Neighbours vote with their weights, which follow from the product again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

from eosparse.core import FloatArray, IntArray
from eosparse.fitting.folds import split_by_fold
from eosparse.fitting.table_learners import list_measuring_steps
from eosparse.inference import compute_mean_auc

# Rows that others look for their neighbours in: more would cost more than the learner.
_MOST_ROWS = 5000
# In tables of at most this many rows, all distances at once take less time than a tree to search.
_FEW_ROWS = 2000
# Votes of no row at all, shared by the classes as they are frequent: ten votes of one class do not
# exclude the others.
_PSEUDO_VOTES = 2.0
# The power of the exponent: neighbours that predict the labels half as well hardly count.
_POWER = 3.0
# One probability of zero must not rule out a class.
_SMALLEST_PROBABILITY = 1e-3
# Rounds of votes and weights; they settle at once.
_ROUNDS = 2


@dataclass(frozen=True)
class Neighbours:
    """For some rows, the rows nearest to them that were not held out with them.

    Attributes
    ----------
    rows : array of shape (n_held_out,)
        The rows.
    nearest : array of shape (n_held_out, n_neighbors)
        Their neighbours, as numbers of rows.

    Examples
    --------
    >>> import numpy as np
    >>> near = Neighbours(np.array([0]), np.array([[1, 2]]))
    >>> near.vote(np.array([0, 1, 1]), np.ones(3), 2).round(2).tolist()  # [..., 2 votes of 4]
    [[0.17, 0.83], [0.33, 0.67], [0.33, 0.67]]
    """

    rows: IntArray
    nearest: IntArray

    def vote(self, classes: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
        """Return class probabilities of all rows: votes of neighbours with their weights."""
        usual = np.bincount(classes, weights, n_classes) / weights.sum()
        votes = np.zeros((len(classes), n_classes))
        mass = weights * (len(weights) / weights.sum())
        for label in range(n_classes):
            given = np.where(classes == label, mass, 0.0)
            votes[self.rows, label] = given[self.nearest].sum(axis=1)
        votes += _PSEUDO_VOTES * usual
        shares: FloatArray = votes / votes.sum(axis=1, keepdims=True)
        return shares


def find_neighbours(X: Any, folds: IntArray, n_neighbors: int) -> Neighbours | None:
    """Find the nearest rows of each row in other folds; None if there are no distances.

    Distances are those of standardised columns; categories count as 0/1 columns, and gaps as the
    median of their column. Texts and sparse matrices have none.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> find_neighbours(X, np.array([0, 1, 0, 1]), 1).nearest.ravel().tolist()
    [1, 3, 0, 2]
    """
    values = None if n_neighbors == 0 or issparse(X) else _measure_rows(X)
    if values is None:
        return None
    rows, nearest = [], []
    for train, held_out in split_by_fold(folds):
        asked = _take_some(train)
        search = _compare_all if len(values) <= _FEW_ROWS else _search_tree
        rows.append(held_out)
        nearest.append(asked[search(values[held_out], values[asked], min(n_neighbors, len(asked)))])
    width = min(part.shape[1] for part in nearest)
    return Neighbours(np.concatenate(rows), np.vstack([part[:, :width] for part in nearest]))


def _measure_rows(X: Any) -> FloatArray | None:
    """Return standardised columns; None if X has more than numbers and categories."""
    if isinstance(X, np.ndarray) and X.dtype == np.float64 and np.isfinite(X).all():
        return _standardise(X)
    try:
        return np.asarray(make_pipeline(*list_measuring_steps(X)).fit_transform(X))
    except (TypeError, ValueError):
        return None


def _standardise(X: FloatArray) -> FloatArray:
    """Do as `StandardScaler` does, without its checks: they take longer on a small table."""
    centred = X - X.mean(axis=0)
    spread = centred.std(axis=0)
    # A constant column has no unit, and rounding is no spread.
    is_constant = spread <= 10 * np.finfo(np.float64).eps * np.abs(X).max(axis=0)
    return np.asarray(centred / np.where(is_constant, 1.0, spread))


def _compare_all(values: FloatArray, others: FloatArray, count: int) -> IntArray:
    """Return the nearest other rows, in any order, from all distances."""
    # The square of the row itself is the same for all others, so it may be left out.
    distances = (others**2).sum(axis=1) - 2 * (values @ others.T)
    return np.asarray(np.argpartition(distances, count - 1, axis=1)[:, :count])


def _search_tree(values: FloatArray, others: FloatArray, count: int) -> IntArray:
    """Do the same in large tables."""
    search = NearestNeighbors(n_neighbors=count).fit(others)
    return np.asarray(search.kneighbors(values, return_distance=False))


def _take_some(rows: IntArray) -> IntArray:
    if len(rows) <= _MOST_ROWS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, _MOST_ROWS, replace=False))


def pool_votes(
    probabilities: FloatArray,
    classes: IntArray,
    prior: FloatArray,
    neighbours: Neighbours,
    weigh: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the probabilities of a learner and of the neighbours, multiplied.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Of the learner, for held-out rows.
    classes : array of shape (n_samples,)
        Given class of each row, as a number from 0.
    prior : array of shape (n_samples,)
        Prior weights.
    neighbours : Neighbours
        The nearest rows.
    weigh : callable
        From class probabilities to the weights of the rows.

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> near = Neighbours(np.arange(4), np.array([[1], [0], [3], [2]]))
    >>> given, unsure = np.array([0, 0, 1, 1]), np.array([[0.6, 0.4]] * 2 + [[0.4, 0.6]] * 2)
    >>> pooled = pool_votes(unsure, given, np.ones(4), near, lambda _: np.full(4, 0.25))
    >>> bool(pooled[0, 0] > 0.6)
    True
    """
    n_classes = probabilities.shape[1]
    logs = np.log(np.maximum(probabilities, _SMALLEST_PROBABILITY))
    votes = neighbours.vote(classes, weigh(probabilities), n_classes)
    exponent = _compare(votes, probabilities, classes, prior)
    for _ in range(_ROUNDS):
        pooled = _normalise(logs + exponent * np.log(votes))
        votes = neighbours.vote(classes, weigh(pooled), n_classes)
    return _normalise(logs + exponent * np.log(votes))


def average_probabilities(one: FloatArray, other: FloatArray, share: float = 0.5) -> FloatArray:
    """Return the geometric mean of two sets of probabilities, with the share of the second.

    Examples
    --------
    >>> import numpy as np
    >>> average_probabilities(np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])).round(2).tolist()
    [[0.75, 0.25]]
    """
    first, second = (np.log(np.maximum(part, _SMALLEST_PROBABILITY)) for part in (one, other))
    return _normalise((1 - share) * first + share * second)


def _compare(
    votes: FloatArray, probabilities: FloatArray, classes: IntArray, prior: FloatArray
) -> float:
    """Return the exponent of the neighbours: from 0, they say nothing, to 1, as the learner."""
    ours, theirs = (compute_mean_auc(p, classes, prior) - 0.5 for p in (votes, probabilities))
    if not ours > 0:
        return 0.0
    return 1.0 if theirs <= ours else float((ours / theirs) ** _POWER)


def _normalise(logs: FloatArray) -> FloatArray:
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: FloatArray = powers / powers.sum(axis=1, keepdims=True)
    return shares
