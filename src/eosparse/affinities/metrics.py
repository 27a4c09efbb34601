"""Errors by name: the metrics of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS, NearestNeighbors

from eosparse.affinities.pairs import Nearest, PairErrors, check_new_rows
from eosparse.core import FloatArray
from eosparse.rows.parallel import single_threaded_blas

# These estimate a scale from the rows they are given, and a block is never all of them.
RELATIVE = frozenset({"mahalanobis", "seuclidean"})
METRICS = frozenset(VALID_METRICS["brute"]) - RELATIVE - {"precomputed"}


@dataclass(frozen=True)
class MetricErrors(PairErrors):
    """A metric of scikit-learn or SciPy, by its name; some of them take rows of booleans."""

    rows: FloatArray
    metric: str

    @property
    def training(self) -> FloatArray:
        return self.rows

    def check_queries(self, new: Any) -> FloatArray:
        return check_new_rows(new, self.rows.shape[1], dtype=self.rows.dtype)

    def compute_errors(self, queries: FloatArray) -> FloatArray:
        return np.array(pairwise_distances(queries, self.rows, metric=self.metric), np.float64)

    def find_nearest(self, queries: FloatArray | None, n_neighbors: int) -> Nearest:
        nearest = search_neighbours(self.rows, queries, n_neighbors, self.metric)
        nearest.check_finite()
        return nearest


def search_neighbours(
    rows: FloatArray, queries: FloatArray | None, n_neighbors: int, metric: str
) -> Nearest:
    """Search for the nearest rows of queries, or of the rows themselves, with scikit-learn."""
    with single_threaded_blas() as n_threads:
        search = NearestNeighbors(n_neighbors=n_neighbors, metric=metric, n_jobs=n_threads)
        errors, indices = search.fit(rows).kneighbors(queries)
    return Nearest(indices, errors)
