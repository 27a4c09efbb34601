"""Errors that were computed elsewhere: a matrix of all, or a sparse one of those to neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from eosparse.affinities.pairs import Nearest, PairErrors, checked_rows
from eosparse.core import FloatArray


def given_errors(X: Any) -> PairErrors:
    """Take a square matrix, dense or sparse, as the errors between its rows."""
    shape = np.shape(X)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"a precomputed matrix of errors must be square, got shape {shape}.")
    if issparse(X):
        if shape[0] < 3:
            raise ValueError(f"affinities need at least 3 rows, got X of shape {shape}.")
        return GivenNeighbours(_by_rows(X))
    matrix: FloatArray = check_array(
        X, dtype=np.float64, ensure_min_samples=3, ensure_all_finite=False, input_name="X"
    )
    return GivenErrors(matrix)


@dataclass(frozen=True)
class GivenErrors(PairErrors):
    """A matrix of errors; row i holds the errors of i, and the diagonal does not count."""

    matrix: FloatArray

    @property
    def training(self) -> FloatArray:
        return self.matrix

    def queries(self, new: Any) -> FloatArray:
        return checked_rows(new, self.n_rows, allow_non_finite=True)

    def to_all(self, queries: FloatArray) -> FloatArray:
        return queries.copy()


@dataclass(frozen=True)
class GivenNeighbours(PairErrors):
    """A sparse matrix of errors to neighbours, the same number of them in every row."""

    graph: Any

    @property
    def training(self) -> Any:
        return self.graph

    @cached_property
    def _stored(self) -> Nearest:
        return _entries(_without_diagonal(self.graph))

    @property
    def n_neighbors(self) -> int:
        return int(self._stored.errors.shape[1])

    def queries(self, new: Any) -> Any:
        if not (issparse(new) and np.shape(new)[1:] == (self.n_rows,)):  # type: ignore[call-overload] # stub
            raise ValueError(f"new rows must be a sparse matrix with {self.n_rows} columns.")
        return _by_rows(new)

    def to_all(self, queries: Any) -> FloatArray:  # noqa: ARG002 # none is known to all
        raise ValueError(
            "a sparse matrix of errors holds those of neighbours only: n_neighbors=None needs all."
        )

    def nearest(self, queries: Any | None, n_neighbors: int) -> Nearest:
        stored = self._stored if queries is None else _entries(queries)
        n_stored = stored.errors.shape[1]
        if n_neighbors > n_stored:
            raise ValueError(
                f"n_neighbors={n_neighbors} exceeds the {n_stored} stored in every row of the "
                "sparse matrix of errors."
            )
        stored.check_finite()
        return stored.smallest(n_neighbors)


def _by_rows(matrix: Any) -> Any:
    """Return a sparse matrix by rows; SciPy's stubs do not know that it may be of any format."""
    as_rows: Any = csr_array
    return as_rows(matrix, dtype=np.float64)


def _without_diagonal(matrix: Any) -> Any:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept = matrix.indices != rows
    if kept.all():
        return matrix
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=matrix.shape[0]))])
    return csr_array((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


def _entries(matrix: Any) -> Nearest:
    """Entries of a sparse matrix with equally many in every row, as stored, zeros included."""
    counts = np.diff(matrix.indptr)
    n_usual = int(np.median(counts)) if len(counts) else 0
    if (counts != n_usual).any():
        row = int(np.argmax(counts != n_usual))
        raise ValueError(
            "a sparse matrix of errors must hold equally many neighbours in every row, the row "
            f"itself not counted, but row {row} has {counts[row]} and others {n_usual}. Take as "
            "many for all, as NearestNeighbors.kneighbors_graph() without an argument does, or "
            "pass a dense matrix."
        )
    if n_usual < 2:
        raise ValueError(
            f"a sparse matrix of errors must hold 2 neighbours or more in every row, not {n_usual}."
        )
    shape = (matrix.shape[0], int(counts[0]))
    return Nearest(matrix.indices.reshape(shape), matrix.data.reshape(shape))
