"""Errors computed elsewhere: a matrix of all of them, or a sparse one of those to neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array

from eosparse.affinities.pairs import Nearest, PairErrors, check_new_rows
from eosparse.core import FloatArray


def read_precomputed(X: Any) -> PairErrors:
    """Read a square matrix, dense or sparse, as the errors between rows."""
    shape = np.shape(X)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"a precomputed matrix of errors must be square, got shape {shape}.")
    if issparse(X):
        if shape[0] < 3:
            raise ValueError(f"affinities need at least 3 rows, got X of shape {shape}.")
        return PrecomputedNeighbours(_convert_to_csr(X))
    matrix: FloatArray = check_array(
        X, dtype=np.float64, ensure_min_samples=3, ensure_all_finite=False, input_name="X"
    )
    return PrecomputedErrors(matrix)


@dataclass(frozen=True)
class PrecomputedErrors(PairErrors):
    """A matrix of errors: row i holds the errors of i. The diagonal is ignored."""

    matrix: FloatArray

    @property
    def training(self) -> FloatArray:
        return self.matrix

    def check_queries(self, new: Any) -> FloatArray:
        return check_new_rows(new, self.n_rows, allow_non_finite=True)

    def compute_errors(self, queries: FloatArray) -> FloatArray:
        return queries.copy()


@dataclass(frozen=True)
class PrecomputedNeighbours(PairErrors):
    """A sparse matrix of errors to neighbours, the same number of them in every row."""

    graph: Any

    @property
    def training(self) -> Any:
        return self.graph

    @cached_property
    def _stored(self) -> Nearest:
        return _read_neighbours(_drop_diagonal(self.graph))

    @property
    def n_neighbors(self) -> int:
        return int(self._stored.errors.shape[1])

    def check_queries(self, new: Any) -> Any:
        if not (issparse(new) and np.shape(new)[1:] == (self.n_rows,)):  # type: ignore[call-overload] # stub
            raise ValueError(f"X_new must be a sparse matrix with {self.n_rows} columns.")
        return _convert_to_csr(new)

    def compute_errors(self, queries: Any) -> FloatArray:  # noqa: ARG002 # no row knows all errors
        raise ValueError(
            "n_neighbors=None needs the errors of all pairs, but a sparse matrix holds only those "
            "of neighbours. Pass a dense matrix, or a number of neighbours."
        )

    def find_nearest(self, queries: Any | None, n_neighbors: int) -> Nearest:
        stored = self._stored if queries is None else _read_neighbours(queries)
        n_stored = stored.errors.shape[1]
        if n_neighbors > n_stored:
            raise ValueError(
                f"n_neighbors={n_neighbors} exceeds the {n_stored} neighbours stored in every row "
                "of the sparse matrix of errors."
            )
        stored.check_finite()
        return stored.keep_smallest(n_neighbors)


def _convert_to_csr(matrix: Any) -> Any:
    # SciPy's stubs do not know that csr_array accepts every sparse format.
    convert: Any = csr_array
    return convert(matrix, dtype=np.float64)


def _drop_diagonal(matrix: Any) -> Any:
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept = matrix.indices != rows
    if kept.all():
        return matrix
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=matrix.shape[0]))])
    return csr_array((matrix.data[kept], matrix.indices[kept], ends), shape=matrix.shape)


def _read_neighbours(matrix: Any) -> Nearest:
    """Read a sparse matrix with equally many entries in every row; stored zeros are entries."""
    counts = np.diff(matrix.indptr)
    n_usual = int(np.median(counts)) if len(counts) else 0
    if (counts != n_usual).any():
        row = int(np.argmax(counts != n_usual))
        raise ValueError(
            "a sparse matrix of errors must hold the same number of neighbours in every row, not "
            f"counting the row itself, but row {row} has {counts[row]} and others have {n_usual}. "
            "Build it with NearestNeighbors.kneighbors_graph() without an argument, or pass a "
            "dense matrix."
        )
    if n_usual < 2:
        raise ValueError(
            "a sparse matrix of errors must hold at least 2 neighbours in every row, not "
            f"{n_usual}."
        )
    shape = (matrix.shape[0], int(counts[0]))
    return Nearest(matrix.indices.reshape(shape), matrix.data.reshape(shape))
