"""Ways to rank rows by how much their label is doubted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from eosparse.comparison.peers.registry import Task, register
from eosparse.core import FloatArray
from eosparse.estimators import find_label_issues

Labels = NDArray[np.int_]
MakeClassifier = Callable[[], Any]


@register("find_label_issues", Task.RANK_LABELS, needs="eosparse")
def _rank_by_eos(X: FloatArray, y: Labels, make: MakeClassifier) -> FloatArray:
    table = find_label_issues(X, y, make()).table
    suspicion = np.empty(len(y))
    # The table is sorted by suspicion: its order is the ranking.
    suspicion[table["row"]] = -np.arange(len(y))
    return suspicion


@register("cleanlab", Task.RANK_LABELS, needs="cleanlab")
def _rank_by_cleanlab(X: FloatArray, y: Labels, make: MakeClassifier) -> FloatArray:
    from cleanlab.classification import CleanLearning

    learning = CleanLearning(make(), seed=0, find_label_issues_kwargs={"n_jobs": 1})
    return -np.asarray(learning.find_label_issues(X, y)["label_quality"], dtype=np.float64)


@register("nearest rows", Task.RANK_LABELS, needs="sklearn")
def _rank_by_neighbours(X: FloatArray, y: Labels, make: MakeClassifier) -> FloatArray:  # noqa: ARG001  # no learner
    """Rank as SimiFeat does, on standardised columns: by the votes of the ten nearest rows."""
    values = StandardScaler().fit_transform(X)
    # A row that was not given to kneighbors is not its own neighbour.
    nearest = NearestNeighbors(n_neighbors=10).fit(values).kneighbors(return_distance=False)
    votes = np.stack([(y[nearest] == label).sum(axis=1) for label in range(y.max() + 1)], axis=1)
    own = votes[np.arange(len(y)), y]
    votes[np.arange(len(y)), y] = -1
    return np.asarray(votes.max(axis=1) - own, dtype=np.float64)


@register("self-confidence", Task.RANK_LABELS, needs="sklearn")
def _rank_by_confidence(X: FloatArray, y: Labels, make: MakeClassifier) -> FloatArray:
    probabilities = cross_val_predict(make(), X, y, cv=5, method="predict_proba")
    return -np.asarray(probabilities)[np.arange(len(y)), y]
