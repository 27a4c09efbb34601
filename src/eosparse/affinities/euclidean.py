"""Euclidean distances, their squares, and angles, with all their digits.

Products of BLAS are fast, but where two rows are close ``|a|² + |b|² - 2ab`` cancels; there the
differences themselves are squared. So equal rows have an error of exactly zero.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from eosparse.affinities.cells import LEAST_COLUMNS, LEAST_ROWS, Cells
from eosparse.affinities.metrics import MetricErrors, neighbours
from eosparse.affinities.pairs import Nearest, blocks
from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.rows.parallel import single_threaded_blas

EUCLIDEAN = frozenset({"sqeuclidean", "euclidean", "l2", "minkowski", "nan_euclidean"})
ANGULAR = frozenset({"cosine", "correlation"})
# Below this part of the squared norms, products have lost too many digits of an error,
_CANCELLED = 1e-4
# and below this one, of the order of the neighbours as well.
_UNORDERED = 1e-8
_LARGEST = 1e140


class EuclideanErrors(MetricErrors):
    """Euclidean distances or their squares."""

    @cached_property
    def _centre(self) -> FloatArray:
        """Seen from here, products cancel less."""
        with np.errstate(over="ignore"):
            return np.asarray(self.rows.mean(axis=0))

    @cached_property
    def _centred(self) -> FloatArray:
        return self._from_centre(self.rows)

    @cached_property
    def _centred_squares(self) -> FloatArray:
        return _squares(self._centred)

    def _from_centre(self, rows: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            centred = rows - self._centre
        largest = np.abs(centred).max(axis=1)
        if not (largest < _LARGEST).all():
            row = int(np.argmin(largest < _LARGEST))
            raise _out_of_range(f"row {row} deviates", largest[row])
        return centred

    def check_range(self) -> None:
        """Refuse training rows whose differences have no squares among the floats."""
        spread = float(np.abs(self._centred).max())
        if 0.0 < spread < 1 / _LARGEST:
            raise _out_of_range("rows deviate", spread)

    def to_all(self, queries: FloatArray) -> FloatArray:
        centred = self._from_centre(queries)
        norms = _squares(centred)[:, None] + self._centred_squares
        squares = np.asarray(centred @ self._centred.T)
        squares *= -2.0
        squares += norms
        rows, partners = np.nonzero(squares < _CANCELLED * norms)
        self._repair(squares, queries, (rows, partners), partners)
        return self._as_wanted(squares)

    def nearest(self, queries: FloatArray | None, n_neighbors: int) -> Nearest:
        rows = self.rows if queries is None else queries
        centred = self._centred if queries is None else self._from_centre(queries)
        nearest = self._searched(None if queries is None else centred, n_neighbors)
        norms, squares = _squares(centred), np.square(nearest.errors, out=nearest.errors)
        unordered = squares.max(axis=1) < _UNORDERED * norms
        places = np.nonzero(squares < _CANCELLED * norms[:, None])
        self._repair(squares, rows, places, nearest.indices[places])
        found = Nearest(nearest.indices, self._as_wanted(squares))
        self._search_again(found, rows, unordered, is_training=queries is None)
        return found

    def _searched(self, centred: FloatArray | None, n_neighbors: int) -> Nearest:
        if len(self.rows) >= LEAST_ROWS and self.rows.shape[1] >= LEAST_COLUMNS:
            with single_threaded_blas() as n_threads:
                if self._cells.are_worthwhile(n_neighbors, n_threads):
                    return self._cells.nearest(centred, n_neighbors, n_threads)
        return neighbours(self._centred, centred, n_neighbors, "euclidean")

    @cached_property
    def _cells(self) -> Cells:
        return Cells.of(self._centred)

    def _search_again(
        self, found: Nearest, rows: FloatArray, chosen: BoolArray, *, is_training: bool
    ) -> None:
        """Replace the neighbours of some rows by those with the smallest of all errors."""
        numbers, everyone = np.flatnonzero(chosen), np.arange(self.n_rows)
        for part in blocks(len(numbers), self.n_rows):
            some = numbers[part]
            errors = self.to_all(rows[some])
            if is_training:
                errors[np.arange(len(some)), some] = np.inf
            all_pairs = Nearest(np.broadcast_to(everyone, errors.shape), errors)
            best = all_pairs.smallest(found.errors.shape[1])
            found.indices[some], found.errors[some] = best.indices, best.errors

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


class AngularErrors(EuclideanErrors):
    """One minus the cosine, or the correlation: half of the squared distance between directions.

    `rows` are the directions. Rows of zeros have none: their cosine counts as 0, their correlation
    is not a number.
    """

    @classmethod
    def of(cls, rows: FloatArray, metric: str) -> AngularErrors:
        """Turn rows into directions."""
        return cls(directions(rows, metric), metric)

    def queries(self, new: Any) -> FloatArray:
        return directions(super().queries(new), self.metric)

    @cached_property
    def _is_zero(self) -> BoolArray:
        return _are_zero(self.rows)

    def to_all(self, queries: FloatArray) -> FloatArray:
        errors = super().to_all(queries)
        is_undefined = self._is_zero | _are_zero(queries)[:, None]
        errors[is_undefined] = 1.0 if self.metric == "cosine" else np.nan
        return errors

    def nearest(self, queries: FloatArray | None, n_neighbors: int) -> Nearest:
        rows_and_queries = (self.rows,) if queries is None else (self.rows, queries)
        has_zeros = any(_are_zero(rows).any() for rows in rows_and_queries)
        search = super(MetricErrors, self).nearest if has_zeros else super().nearest
        return search(queries, n_neighbors)

    def _as_wanted(self, squares: FloatArray) -> FloatArray:
        return np.multiply(squares, 0.5, out=squares)


def directions(rows: FloatArray, metric: str) -> FloatArray:
    """Divide rows, of a correlation less their means, by their lengths."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1.0)  # squares of tiny entries would be zero
    if metric == "correlation":
        means = scaled.mean(axis=1, keepdims=True)
        is_constant = (scaled == scaled[:, :1]).all(axis=1)
        scaled = np.where(is_constant[:, None], 0.0, scaled - means)
    lengths = np.sqrt(_squares(scaled))[:, None]
    unit: FloatArray = scaled / np.where(lengths > 0, lengths, 1.0)
    return unit


def _are_zero(rows: FloatArray) -> BoolArray:
    return np.asarray((rows == 0).all(axis=1))


def _squares(rows: FloatArray) -> FloatArray:
    """Squared norms of rows."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _out_of_range(what: str, by: float) -> ValueError:
    return ValueError(
        f"{what} by {by:.3g} from the mean of the rows, and its square is out of the range of "
        "floats: use another unit, or scale the columns."
    )
