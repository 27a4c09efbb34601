"""Errors between rows: computed by name or by a user's function, or given; all, or the nearest.

A `PairErrors` knows the training rows. Queries are rows whose errors to the training rows are
wanted: new ones, or the training rows themselves, which are not their own neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from eosparse.core import FloatArray, IntArray
from eosparse.rows.side_by_side import each, single_threaded_blas

ErrorFunction = Callable[[Any, Any], ArrayLike]

# Numbers in a block: two megabytes, so that a block and its weights stay in the cache.
_BLOCK = 2**18
# Below this part of the squared norms, |a|² + |b|² - 2ab has lost too many digits.
_CANCELLED = 1e-4
# These estimate a scale from the rows at hand, which in blocks are never all of them.
_RELATIVE = frozenset({"mahalanobis", "seuclidean"})


@dataclass(frozen=True)
class Nearest:
    """The nearest training rows of queries, by increasing error, both of shape (n_queries, k)."""

    indices: IntArray
    errors: FloatArray


def blocks(n_rows: int, width: int) -> list[slice]:
    """Cut rows of a width into blocks of bounded size."""
    size = max(1, _BLOCK // max(1, width))
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


class PairErrors(ABC):
    """Errors from queries to the training rows."""

    is_side_by_side = True  # may blocks be computed by several threads?

    @property
    def n_neighbors(self) -> int | None:
        """Neighbours of each row whose errors were given; None if all can be found."""
        return None

    @property
    @abstractmethod
    def training(self) -> Any:
        """The training rows, as queries."""

    @abstractmethod
    def queries(self, new: Any) -> Any:
        """Check new rows; what is returned can be cut into blocks."""

    @abstractmethod
    def to_all(self, queries: Any) -> FloatArray:
        """Errors of a block of queries to all training rows, not yet checked."""

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.training.shape[0])

    def others(self, block: slice) -> FloatArray:
        """Errors of training rows to all but themselves; the last takes the own one's place."""
        errors = self.to_all(self.training[block])
        own = np.arange(block.start, block.stop)
        rows = np.arange(len(own))
        errors[rows, own] = errors[:, -1]
        errors = errors[:, :-1]
        _check_finite(errors, own, lambda row, column: self.n_rows - 1 if column == row else column)
        return errors

    def nearest(self, queries: Any | None, n_neighbors: int) -> Nearest:
        """Find the nearest training rows of queries, or of the training rows themselves."""
        rows = self.training if queries is None else queries

        def of_block(block: slice) -> Nearest:
            errors = self.to_all(rows[block])
            own = np.arange(block.start, block.stop)
            if queries is None:
                errors[np.arange(len(own)), own] = 0.0  # whatever it was, it does not count
            _check_finite(errors, own, lambda _, column: column)
            if queries is None:
                errors[np.arange(len(own)), own] = np.inf
            return _smallest(errors, n_neighbors)

        return _joined(self.over(blocks(rows.shape[0], self.n_rows), of_block))

    def over(self, parts: list[slice], function: Callable[[slice], Any]) -> list[Any]:
        """Apply a function that needs errors to blocks."""
        return each(function, parts) if self.is_side_by_side else list(map(function, parts))


@dataclass(frozen=True)
class NamedErrors(PairErrors):
    """A metric of scikit-learn or SciPy, by its name."""

    rows: FloatArray
    metric: str

    @property
    def training(self) -> FloatArray:
        return self.rows

    def queries(self, new: Any) -> FloatArray:
        return _checked_columns(new, self.rows.shape[1])

    def to_all(self, queries: FloatArray) -> FloatArray:
        return np.asarray(pairwise_distances(queries, self.rows, metric=self.metric), np.float64)

    def nearest(self, queries: FloatArray | None, n_neighbors: int) -> Nearest:
        errors, indices = self._neighbours(self.rows, queries, n_neighbors, self.metric)
        _check_finite(errors, np.arange(len(errors)), lambda row, column: indices[row, column])
        return Nearest(indices, errors)

    @staticmethod
    def _neighbours(
        rows: FloatArray, queries: FloatArray | None, n_neighbors: int, metric: str
    ) -> tuple[FloatArray, IntArray]:
        with single_threaded_blas() as n_threads:
            search = NearestNeighbors(n_neighbors=n_neighbors, metric=metric, n_jobs=n_threads)
            errors, indices = search.fit(rows).kneighbors(queries)
        return errors, indices


class EuclideanErrors(NamedErrors):
    """Euclidean distances or their squares: products of BLAS, and differences where these cancel.

    So equal rows have an error of exactly zero.
    """

    @cached_property
    def _centre(self) -> FloatArray:
        return np.asarray(self.rows.mean(axis=0))

    @cached_property
    def _centred(self) -> tuple[FloatArray, FloatArray]:
        """Rows in coordinates in which products cancel less, and their squared norms."""
        rows = self.rows - self._centre
        return rows, _squares(rows)

    def to_all(self, queries: FloatArray) -> FloatArray:
        right, right_squares = self._centred
        left = queries - self._centre
        left_squares = _squares(left)
        squares = np.asarray(left @ right.T)
        squares *= -2.0
        squares += left_squares[:, None]
        squares += right_squares
        lost = squares < _CANCELLED * (left_squares[:, None] + right_squares)
        return self._finished(squares, queries, np.nonzero(lost))

    def nearest(self, queries: FloatArray | None, n_neighbors: int) -> Nearest:
        centre = self.rows.mean(axis=0)
        shifted = None if queries is None else queries - centre
        distances, indices = self._neighbours(self.rows - centre, shifted, n_neighbors, "euclidean")
        rows = self.rows if queries is None else queries
        squares = np.square(distances)
        lost = squares < _CANCELLED * _squares(rows - centre)[:, None]
        errors = self._finished(squares, rows, np.nonzero(lost), indices)
        _check_finite(errors, np.arange(len(errors)), lambda row, column: indices[row, column])
        return _sorted(Nearest(indices, errors))

    def _finished(
        self,
        squares: FloatArray,
        queries: FloatArray,
        lost: tuple[IntArray, ...],
        indices: IntArray | None = None,
    ) -> FloatArray:
        """Repair what was lost, and take roots if distances are wanted."""
        rows, columns = lost
        for part in blocks(len(rows), self.rows.shape[1]):
            i, j = rows[part], columns[part]
            partners = self.rows[j if indices is None else indices[i, j]]
            squares[i, j] = _squares(queries[i] - partners)
        return np.sqrt(squares) if self.metric == "euclidean" else squares


@dataclass(frozen=True)
class ComputedErrors(PairErrors):
    """A user's function of two sets of rows, called for one block at a time."""

    rows: Any
    function: ErrorFunction
    is_side_by_side = False  # a user's function may not be meant for threads

    @property
    def training(self) -> Any:
        return self.rows

    def queries(self, new: Any) -> Any:
        new = np.asarray(new)
        if new.shape[1:] != self.rows.shape[1:] or new.ndim != self.rows.ndim:
            raise ValueError(f"new rows have shape {new.shape}, training rows {self.rows.shape}.")
        return new

    def to_all(self, queries: Any) -> FloatArray:
        errors = np.array(self.function(queries, self.rows), dtype=np.float64)
        wanted = (len(queries), len(self.rows))
        if errors.shape != wanted:
            raise ValueError(
                "error(A, B) must return one error for each row of A and each row of B: it gave "
                f"an array of shape {errors.shape} instead of {wanted}."
            )
        return errors


@dataclass(frozen=True)
class GivenErrors(PairErrors):
    """A matrix of errors; row i holds the errors of i, and the diagonal does not count."""

    matrix: FloatArray

    @property
    def training(self) -> FloatArray:
        return self.matrix

    def queries(self, new: Any) -> FloatArray:
        return _checked_columns(new, self.n_rows, allow_non_finite=True)

    def to_all(self, queries: FloatArray) -> FloatArray:
        return queries.copy()


@dataclass(frozen=True)
class GivenNeighbours(PairErrors):
    """A sparse matrix of errors to neighbours, the same number of them in every row."""

    matrix: Any
    stored: Nearest

    @property
    def training(self) -> Any:
        return self.matrix

    @property
    def n_neighbors(self) -> int:
        return int(self.stored.errors.shape[1])

    def queries(self, new: Any) -> Any:
        if not (issparse(new) and np.shape(new)[1:] == (self.n_rows,)):  # type: ignore[call-overload] # stub
            raise ValueError(f"new rows must be a sparse matrix with {self.n_rows} columns.")
        return _rows_of(new)

    def to_all(self, queries: Any) -> FloatArray:  # noqa: ARG002 # none is known to all
        raise ValueError(
            "a sparse matrix of errors holds those of neighbours only: n_neighbors=None needs all."
        )

    def nearest(self, queries: Any | None, n_neighbors: int) -> Nearest:
        stored = self.stored if queries is None else _stored(queries)
        if n_neighbors > stored.errors.shape[1]:
            raise ValueError(
                f"n_neighbors={n_neighbors} exceeds the {stored.errors.shape[1]} stored in every "
                "row of the sparse matrix of errors."
            )
        columns = stored.indices
        _check_finite(stored.errors, np.arange(len(columns)), lambda row, at: columns[row, at])
        nearest = _sorted(stored)
        return Nearest(nearest.indices[:, :n_neighbors], nearest.errors[:, :n_neighbors])


def pair_errors(X: Any, error: str | ErrorFunction) -> PairErrors:
    """Choose how errors between the rows of `X` are found."""
    if callable(error):
        rows = np.asarray(X)
        if rows.ndim == 0 or len(rows) < 3:
            raise ValueError(f"affinities need at least 3 rows, got X of shape {rows.shape}.")
        return ComputedErrors(rows, error)
    if error == "precomputed":
        return _given(X)
    if error in _RELATIVE:
        raise ValueError(
            f"error={error!r} depends on which rows it is given at a time. Scale or whiten the "
            "columns and take 'sqeuclidean', or pass a function with the scale fixed."
        )
    rows = check_array(X, dtype=np.float64, ensure_min_samples=3, input_name="X")
    if error in ("sqeuclidean", "euclidean"):
        return EuclideanErrors(rows, error)
    pairwise_distances(rows[:2], metric=error)  # an unknown name is an error now, not in a block
    return NamedErrors(rows, error)


def _given(X: Any) -> PairErrors:
    shape = np.shape(X)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"a precomputed matrix of errors must be square, got shape {shape}.")
    if issparse(X):
        graph = _rows_of(X)
        return GivenNeighbours(graph, _stored(graph, drop_own=True))
    matrix: FloatArray = check_array(
        X, dtype=np.float64, ensure_min_samples=3, ensure_all_finite=False, input_name="X"
    )
    return GivenErrors(matrix)


def _rows_of(matrix: Any) -> Any:
    """Return a sparse matrix by rows; SciPy's stubs do not know that it may be of any format."""
    as_rows: Any = csr_array
    return as_rows(matrix, dtype=np.float64)


def _checked_columns(new: Any, n_columns: int, *, allow_non_finite: bool = False) -> FloatArray:
    rows: FloatArray = check_array(
        new, dtype=np.float64, ensure_all_finite=not allow_non_finite, input_name="X_new"
    )
    if rows.shape[1] != n_columns:
        raise ValueError(f"new rows have {rows.shape[1]} columns instead of {n_columns}.")
    return rows


def _check_finite(
    errors: FloatArray, numbers: IntArray, partner: Callable[[int, int], int]
) -> None:
    """Refuse errors that are not finite, by the numbers of the two rows."""
    if np.isfinite(errors.min()) and np.isfinite(errors.max()):
        return
    row, column = (int(at[0]) for at in np.nonzero(~np.isfinite(errors)))
    number = int(numbers[row])
    raise ValueError(
        f"errors must be finite, but the error of row {number} to row {partner(number, column)} "
        f"is {errors[row, column]}."
    )


def _smallest(errors: FloatArray, count: int) -> Nearest:
    """The smallest errors of every row, by increasing error."""
    if count < errors.shape[1]:
        indices = np.argpartition(errors, count - 1, axis=1)[:, :count]
    else:
        indices = np.tile(np.arange(errors.shape[1]), (len(errors), 1))
    return _sorted(Nearest(indices, np.take_along_axis(errors, indices, axis=1)))


def _sorted(nearest: Nearest) -> Nearest:
    order = np.argsort(nearest.errors, axis=1, kind="stable")
    return Nearest(
        np.take_along_axis(nearest.indices, order, axis=1),
        np.take_along_axis(nearest.errors, order, axis=1),
    )


def _joined(parts: list[Nearest]) -> Nearest:
    return Nearest(
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.errors for part in parts]),
    )


def _squares(rows: FloatArray) -> FloatArray:
    """Squared norms of rows."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _stored(matrix: Any, *, drop_own: bool = False) -> Nearest:
    """Entries of a sparse matrix with equally many in every row, as stored, zeros included."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    kept = matrix.indices != rows if drop_own else np.ones(len(rows), dtype=bool)
    counts = np.bincount(rows[kept], minlength=matrix.shape[0])
    if counts.min() != counts.max() or counts.min() == 0:
        raise ValueError(
            f"a sparse matrix of errors must hold equally many neighbours in every row, but they "
            f"are {counts.min()} to {counts.max()}."
        )
    shape = (matrix.shape[0], int(counts[0]))
    return Nearest(matrix.indices[kept].reshape(shape), matrix.data[kept].reshape(shape))
