"""Errors by name: the metrics of scikit-learn, and the Euclidean ones with all their digits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from eosparse.affinities.pairs import Nearest, PairErrors, blocks, checked_rows
from eosparse.core import FloatArray, IntArray
from eosparse.rows.side_by_side import single_threaded_blas

EUCLIDEAN = frozenset({"sqeuclidean", "euclidean", "l2"})
# These estimate a scale from the rows at hand, which in blocks are never all of them.
RELATIVE = frozenset({"mahalanobis", "seuclidean"})
# Below this part of the squared norms, |a|² + |b|² - 2ab has lost too many digits.
_CANCELLED = 1e-4


@dataclass(frozen=True)
class MetricErrors(PairErrors):
    """A metric of scikit-learn or SciPy, by its name."""

    rows: FloatArray
    metric: str

    @property
    def training(self) -> FloatArray:
        return self.rows

    def queries(self, new: Any) -> FloatArray:
        return checked_rows(new, self.rows.shape[1])

    def to_all(self, queries: FloatArray) -> FloatArray:
        return np.array(pairwise_distances(queries, self.rows, metric=self.metric), np.float64)

    def nearest(self, queries: FloatArray | None, n_neighbors: int) -> Nearest:
        nearest = _neighbours(self.rows, queries, n_neighbors, self.metric)
        nearest.check_finite()
        return nearest


class EuclideanErrors(MetricErrors):
    """Euclidean distances or their squares: products of BLAS, and differences where these cancel.

    So equal rows have an error of exactly zero.
    """

    @cached_property
    def _centre(self) -> FloatArray:
        """Seen from here, products cancel less."""
        return np.asarray(self.rows.mean(axis=0))

    @cached_property
    def _centred(self) -> FloatArray:
        return self.rows - self._centre

    @cached_property
    def _centred_squares(self) -> FloatArray:
        return _squares(self._centred)

    def to_all(self, queries: FloatArray) -> FloatArray:
        centred = queries - self._centre
        norms = _squares(centred)[:, None] + self._centred_squares
        squares = np.asarray(centred @ self._centred.T)
        squares *= -2.0
        squares += norms
        rows, partners = np.nonzero(squares < _CANCELLED * norms)
        self._repair(squares, queries, (rows, partners), partners)
        return self._as_wanted(squares)

    def nearest(self, queries: FloatArray | None, n_neighbors: int) -> Nearest:
        centred = None if queries is None else queries - self._centre
        nearest = _neighbours(self._centred, centred, n_neighbors, "euclidean")
        squares = np.square(nearest.errors, out=nearest.errors)
        norms = self._centred_squares if centred is None else _squares(centred)
        places = np.nonzero(squares < _CANCELLED * norms[:, None])
        rows = self.rows if queries is None else queries
        self._repair(squares, rows, places, nearest.indices[places])
        nearest = Nearest(nearest.indices, self._as_wanted(squares))
        nearest.check_finite()
        return nearest

    def _repair(
        self,
        squares: FloatArray,
        queries: FloatArray,
        places: tuple[IntArray, ...],
        partners: IntArray,
    ) -> None:
        """Replace squares in some places, by the differences to the partners there."""
        rows, columns = places
        for part in blocks(len(rows), self.rows.shape[1]):
            differences = queries[rows[part]] - self.rows[partners[part]]
            squares[rows[part], columns[part]] = _squares(differences)

    def _as_wanted(self, squares: FloatArray) -> FloatArray:
        return squares if self.metric == "sqeuclidean" else np.sqrt(squares, out=squares)


def _neighbours(
    rows: FloatArray, queries: FloatArray | None, n_neighbors: int, metric: str
) -> Nearest:
    with single_threaded_blas() as n_threads:
        search = NearestNeighbors(n_neighbors=n_neighbors, metric=metric, n_jobs=n_threads)
        errors, indices = search.fit(rows).kneighbors(queries)
    return Nearest(indices, errors)


def _squares(rows: FloatArray) -> FloatArray:
    """Squared norms of rows."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
