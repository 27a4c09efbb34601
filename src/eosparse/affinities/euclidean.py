"""Euclidean distances, their squares, and angles, to full precision.

Matrix products are fast, but ``|a|² + |b|² - 2ab`` cancels where two rows are close. There the
differences themselves are squared, so equal rows have an error of exactly zero.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from eosparse.affinities.cells import LEAST_COLUMNS, LEAST_ROWS, Cells
from eosparse.affinities.metrics import MetricErrors, search_neighbours
from eosparse.affinities.pairs import Nearest, cut_blocks
from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.rows.parallel import single_threaded_blas

EUCLIDEAN = frozenset({"sqeuclidean", "euclidean", "l2", "minkowski", "nan_euclidean"})
ANGULAR = frozenset({"cosine", "correlation"})
# Below this share of the squared norms, products have lost too many digits of the error: four of
# sixteen.
_CANCELLED = 1e-4
# Below this share, the order of the neighbours is lost as well.
_UNORDERED = 1e-8
# Squares of larger deviations, summed over columns, could overflow.
_LARGEST = 1e140


class EuclideanErrors(MetricErrors):
    """Euclidean distances or their squares."""

    @cached_property
    def _centre(self) -> FloatArray:
        """Mean of the rows: products of centred rows cancel less."""
        with np.errstate(over="ignore"):
            return np.asarray(self.rows.mean(axis=0))

    @cached_property
    def _centred(self) -> FloatArray:
        return self._subtract_centre(self.rows)

    @cached_property
    def _centred_squares(self) -> FloatArray:
        return _compute_squares(self._centred)

    def _subtract_centre(self, rows: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            centred = rows - self._centre
        largest = np.abs(centred).max(axis=1)
        if not (largest < _LARGEST).all():
            row = int(np.argmin(largest < _LARGEST))
            raise _make_range_error(f"row {row} deviates", largest[row])
        return centred

    def check_range(self) -> None:
        """Raise if squared differences of the training rows are out of the range of floats."""
        spread = float(np.abs(self._centred).max())
        if 0.0 < spread < 1 / _LARGEST:
            raise _make_range_error("rows deviate", spread)

    def compute_errors(self, queries: FloatArray) -> FloatArray:
        centred = self._subtract_centre(queries)
        norms = _compute_squares(centred)[:, None] + self._centred_squares
        squares = np.asarray(centred @ self._centred.T)
        squares *= -2.0
        squares += norms
        rows, partners = np.nonzero(squares < _CANCELLED * norms)
        self._recompute(squares, queries, (rows, partners), partners)
        return self._convert_squares(squares)

    def find_nearest(self, queries: FloatArray | None, n_neighbors: int) -> Nearest:
        rows = self.rows if queries is None else queries
        centred = self._centred if queries is None else self._subtract_centre(queries)
        nearest = self._search(None if queries is None else centred, n_neighbors)
        norms, squares = _compute_squares(centred), np.square(nearest.errors, out=nearest.errors)
        is_unordered = squares.max(axis=1) < _UNORDERED * norms
        places = np.nonzero(squares < _CANCELLED * norms[:, None])
        self._recompute(squares, rows, places, nearest.indices[places])
        found = Nearest(nearest.indices, self._convert_squares(squares))
        self._search_again(found, rows, is_unordered, is_training=queries is None)
        return found

    def _search(self, centred: FloatArray | None, n_neighbors: int) -> Nearest:
        if len(self.rows) >= LEAST_ROWS and self.rows.shape[1] >= LEAST_COLUMNS:
            with single_threaded_blas() as n_threads:
                if self._cells.are_worthwhile(n_neighbors, n_threads):
                    return self._cells.find_nearest(centred, n_neighbors, n_threads)
        return search_neighbours(self._centred, centred, n_neighbors, "euclidean")

    @cached_property
    def _cells(self) -> Cells:
        return Cells.from_rows(self._centred)

    def _search_again(
        self, found: Nearest, rows: FloatArray, is_chosen: BoolArray, *, is_training: bool
    ) -> None:
        """Replace the neighbours of the chosen rows by those with the smallest of all errors."""
        numbers, everyone = np.flatnonzero(is_chosen), np.arange(self.n_rows)
        for part in cut_blocks(len(numbers), self.n_rows):
            some = numbers[part]
            errors = self.compute_errors(rows[some])
            if is_training:
                errors[np.arange(len(some)), some] = np.inf
            all_pairs = Nearest(np.broadcast_to(everyone, errors.shape), errors)
            best = all_pairs.keep_smallest(found.errors.shape[1])
            found.indices[some], found.errors[some] = best.indices, best.errors

    def _recompute(
        self,
        squares: FloatArray,
        queries: FloatArray,
        places: tuple[IntArray, ...],
        partners: IntArray,
    ) -> None:
        """Recompute squares in some places from the differences to the partners there."""
        rows, columns = places
        for part in cut_blocks(len(rows), self.rows.shape[1]):
            differences = queries[rows[part]] - self.rows[partners[part]]
            squares[rows[part], columns[part]] = _compute_squares(differences)

    def _convert_squares(self, squares: FloatArray) -> FloatArray:
        return squares if self.metric == "sqeuclidean" else np.sqrt(squares, out=squares)


class AngularErrors(EuclideanErrors):
    """One minus the cosine or the correlation: half the squared distance between directions.

    `rows` are the directions. Rows of zeros have none: their cosine counts as 0, and their
    correlation is not a number.
    """

    @classmethod
    def from_rows(cls, rows: FloatArray, metric: str) -> AngularErrors:
        """Turn rows into directions."""
        return cls(compute_directions(rows, metric), metric)

    def check_queries(self, new: Any) -> FloatArray:
        return compute_directions(super().check_queries(new), self.metric)

    @cached_property
    def _is_zero(self) -> BoolArray:
        return _are_zero(self.rows)

    def compute_errors(self, queries: FloatArray) -> FloatArray:
        errors = super().compute_errors(queries)
        is_undefined = self._is_zero | _are_zero(queries)[:, None]
        errors[is_undefined] = 1.0 if self.metric == "cosine" else np.nan
        return errors

    def find_nearest(self, queries: FloatArray | None, n_neighbors: int) -> Nearest:
        rows_and_queries = (self.rows,) if queries is None else (self.rows, queries)
        has_zeros = any(_are_zero(rows).any() for rows in rows_and_queries)
        # Distances between directions are wrong for rows of zeros: compare all pairs instead.
        search = super(MetricErrors, self).find_nearest if has_zeros else super().find_nearest
        return search(queries, n_neighbors)

    def _convert_squares(self, squares: FloatArray) -> FloatArray:
        return np.multiply(squares, 0.5, out=squares)


def compute_directions(rows: FloatArray, metric: str) -> FloatArray:
    """Divide rows by their lengths, for a correlation after subtracting their means."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(largest > 0, largest, 1.0)  # squares of tiny entries would be zero
    if metric == "correlation":
        means = scaled.mean(axis=1, keepdims=True)
        is_constant = (scaled == scaled[:, :1]).all(axis=1)
        scaled = np.where(is_constant[:, None], 0.0, scaled - means)
    lengths = np.sqrt(_compute_squares(scaled))[:, None]
    unit: FloatArray = scaled / np.where(lengths > 0, lengths, 1.0)
    return unit


def _are_zero(rows: FloatArray) -> BoolArray:
    return np.asarray((rows == 0).all(axis=1))


def _compute_squares(rows: FloatArray) -> FloatArray:
    """Compute the squared norms of rows."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _make_range_error(what: str, by: float) -> ValueError:
    return ValueError(
        f"{what} by {by:.3g} from the mean of the rows, and the square is out of the range of "
        "floats. Change the unit, or scale the columns."
    )
