"""Clusterings of rows among which there are outliers.

HDBSCAN needs the size of the smallest cluster instead of their number, and gets a quarter of an
average one. Trimmed k-means is a plain reference of our own: Lloyd's steps on the rows that are
nearest to their centre.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans

from eosparse.comparison.peers.registry import Task, register
from eosparse.core import FloatArray, IntArray
from eosparse.estimators import EOSGaussianMixture, EOSKMeans
from eosparse.models import ClusterModel

# Random starts end in many different minima: the best of a hundred fits counts, each of so many
# steps that centres hardly move any more.
_STARTS = 100
_STEPS = 30


@register("EOSKMeans", Task.CLUSTER, needs="eosparse")
def _cluster_by_eos(X: FloatArray, n_clusters: int, seed: int) -> Any:  # noqa: ARG001
    return EOSKMeans(n_clusters).fit(X).labels_


@register("EOSGaussianMixture", Task.CLUSTER, needs="eosparse")
def _cluster_by_mixture(X: FloatArray, n_clusters: int, seed: int) -> Any:  # noqa: ARG001
    return EOSGaussianMixture(n_clusters).fit(X).labels_


@register("k-means (scikit-learn)", Task.CLUSTER, needs="sklearn", is_random=True)
def _cluster_by_kmeans(X: FloatArray, n_clusters: int, seed: int) -> Any:
    return KMeans(n_clusters, n_init=20, random_state=seed).fit(X).labels_


@register("k-medoids", Task.CLUSTER, needs="kmedoids", is_random=True)
def _cluster_by_medoids(X: FloatArray, n_clusters: int, seed: int) -> Any:
    from kmedoids import KMedoids

    return KMedoids(n_clusters, metric="euclidean", random_state=seed).fit(X).labels_


@register("HDBSCAN (scikit-learn)", Task.CLUSTER, needs="sklearn")
def _cluster_by_hdbscan(X: FloatArray, n_clusters: int, seed: int) -> Any:  # noqa: ARG001
    return HDBSCAN(len(X) // n_clusters // 4, copy=True).fit(X).labels_


@register("trimmed k-means", Task.CLUSTER, needs="eosparse", is_random=True)
def _cluster_by_trimming(X: FloatArray, n_clusters: int, seed: int, share: float = 0.1) -> IntArray:
    """Return the clusters of the best of several fits without a share of the rows."""
    rng, kept, model = np.random.RandomState(seed), round((1 - share) * len(X)), ClusterModel()
    least = np.inf
    best: IntArray = np.zeros(len(X), dtype=np.intp)
    for _ in range(_STARTS):
        centres = X[rng.choice(len(X), n_clusters, replace=False)]
        for _ in range(_STEPS):
            near = np.argsort(model.errors(X, centres), kind="stable")[:kept]
            weights = np.full(kept, 1 / kept)
            centres = model.solve(model.statistics(X[near], weights, centres))
        loss = float(np.sort(model.errors(X, centres))[:kept].sum())
        if loss < least:
            best, least = model.assign(X, centres), loss
    return best
