"""Affinities for t-SNE: ours, scikit-learn's and openTSNE's.

Each function prepares what is not part of the task, such as given neighbours, and returns a
function without parameters that computes the affinities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from eosparse.comparison.peers.registry import Task, register
from eosparse.core import FloatArray

Compute = Callable[[], object]


@dataclass(frozen=True)
class AffinitySettings:
    """What all methods share: perplexity, exact neighbours per row, and threads."""

    perplexity: float
    n_neighbours: int
    n_threads: int


@register("ours all pairs", Task.AFFINITIES, needs="eosparse")
def _prepare_our_pairs(X: FloatArray, settings: AffinitySettings) -> Compute:
    from eosparse import entropic_affinities

    return lambda: entropic_affinities(X, perplexity=settings.perplexity, n_neighbors=None)


@register("scikit learn all pairs", Task.AFFINITIES, needs="sklearn")
def _prepare_sklearn_pairs(X: FloatArray, settings: AffinitySettings) -> Compute:
    from sklearn.manifold import _t_sne
    from sklearn.metrics import pairwise_distances

    return lambda: _t_sne._joint_probabilities(
        pairwise_distances(X, squared=True), settings.perplexity, False
    )


@register("ours neighbours", Task.AFFINITIES, needs="eosparse")
def _prepare_our_search(X: FloatArray, settings: AffinitySettings) -> Compute:
    from eosparse import entropic_affinities

    return lambda: entropic_affinities(
        X, perplexity=settings.perplexity, n_neighbors=settings.n_neighbours
    )


@register("scikit learn neighbours", Task.AFFINITIES, needs="sklearn")
def _prepare_sklearn_search(X: FloatArray, settings: AffinitySettings) -> Compute:
    from sklearn.manifold import _t_sne

    return lambda: _t_sne._joint_probabilities_nn(
        _search_squared(X, settings), settings.perplexity, False
    )


def _register_opentsne(name: str, method: str) -> None:
    @register(name, Task.AFFINITIES, needs="openTSNE")
    def prepare(X: FloatArray, settings: AffinitySettings) -> Compute:
        from openTSNE.affinity import PerplexityBasedNN

        return lambda: PerplexityBasedNN(
            X,
            perplexity=settings.perplexity,
            method=method,
            n_jobs=settings.n_threads,
            random_state=0,
        )


_register_opentsne("opentsne exact neighbours", "exact")
_register_opentsne("opentsne approximate neighbours", "annoy")


@register("ours given neighbours", Task.AFFINITIES, needs="eosparse")
def _prepare_ours(X: FloatArray, settings: AffinitySettings) -> Compute:
    from eosparse import entropic_affinities

    graph = _search_squared(X, settings)
    return lambda: entropic_affinities(graph, error="precomputed", perplexity=settings.perplexity)


@register("scikit learn given neighbours", Task.AFFINITIES, needs="sklearn")
def _prepare_sklearn(X: FloatArray, settings: AffinitySettings) -> Compute:
    from sklearn.manifold import _t_sne

    graph = _search_squared(X, settings)
    return lambda: _t_sne._joint_probabilities_nn(graph, settings.perplexity, False)


@register("opentsne given neighbours", Task.AFFINITIES, needs="openTSNE")
def _prepare_opentsne(X: FloatArray, settings: AffinitySettings) -> Compute:
    from openTSNE.affinity import joint_probabilities_nn

    distances, indices = _search(X, settings).kneighbors()
    return lambda: joint_probabilities_nn(
        indices, distances, [settings.perplexity], n_jobs=settings.n_threads
    )


def _search(X: FloatArray, settings: AffinitySettings) -> Any:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=settings.n_neighbours, n_jobs=settings.n_threads).fit(X)


def _search_squared(X: FloatArray, settings: AffinitySettings) -> Any:
    """Return a sparse matrix of squared distances to the nearest rows."""
    graph = _search(X, settings).kneighbors_graph(mode="distance")
    graph.data **= 2
    return graph
