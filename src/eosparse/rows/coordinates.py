"""Working coordinates: columns brought to one scale, and to the directions that rows span.

Sums of squares over columns in metres and in nanometres lose digits, and columns that depend on
each other have no joint density. Both are settled here, once, before any row is visited.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from eosparse.core import FloatArray, centre_and_spread, weighted_moments
from eosparse.rows.sample import Sample
from eosparse.rows.table import Table

# Beyond this many spreads a row is as far as can be; its square still fits a float.
_FARTHEST = 1e60
# Values beyond this many spreads do not widen a column's scale further.
_WINSOR = 30.0
# Squares of the columns must fit a float.
_LARGEST_SCALE = 1e150
# Bounded columns go no farther than this many standard deviations.
_BOUND = 3.0
# Singular values below this part of the largest are rounding.
_RANK_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Coordinates:
    """An affine map of the columns.

    Attributes
    ----------
    origin : array of shape (n_features,)
        Point mapped to zero, a row of the data near its middle.
    scale : array of shape (n_features,)
        Bounded standard deviation of each column; 1 for a constant column.
    basis : array of shape (n_features, rank) or None
        Orthonormal directions that the scaled rows span; None where they span all.
    """

    origin: FloatArray
    scale: FloatArray
    basis: FloatArray | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of the data."""
        return len(self.origin)

    @property
    def rank(self) -> int:
        """Number of working coordinates."""
        return len(self.origin) if self.basis is None else self.basis.shape[1]

    def standardise(self, values: FloatArray) -> FloatArray:
        """Centre and scale the columns, in float64.

        Columns are laid out one after the other: with few of them, that is several times faster
        to work on than rows.
        """
        scaled = np.empty(values.shape, order="F")
        with np.errstate(over="ignore"):
            np.subtract(values, self.origin, out=scaled)
            scaled /= self.scale
        return np.clip(scaled, -_FARTHEST, _FARTHEST, out=scaled)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Working coordinates of rows."""
        scaled = self.standardise(values)
        return scaled if self.basis is None else scaled @ self.basis

    def off_span(self, values: FloatArray) -> FloatArray:
        """Squared length of what the basis does not reach."""
        if self.basis is None:
            return np.zeros(len(values))
        scaled = self.standardise(values)
        rest = scaled - (scaled @ self.basis) @ self.basis.T
        squares = np.einsum("ij,ij->i", rest, rest)
        length = np.einsum("ij,ij->i", scaled, scaled)
        # A remainder of rounding size is none.
        return np.where(squares <= _RANK_TOLERANCE**2 * length, 0.0, squares)

    def location(self, working: FloatArray) -> FloatArray:
        """Return a point of the working coordinates in the units of the columns."""
        scaled = working if self.basis is None else self.basis @ working
        return self.origin + self.scale * scaled

    def covariance(self, working: FloatArray, off_span: float) -> FloatArray:
        """Return a covariance of the working coordinates in the units of the columns."""
        full = np.diag(working) if working.ndim == 1 else working
        if self.basis is not None:
            inner = full - off_span * np.eye(self.rank)
            full = self.basis @ inner @ self.basis.T + off_span * np.eye(self.n_features)
        return full * self.scale[:, None] * self.scale


def choose_coordinates(sample: Sample) -> Coordinates:
    """Centre and scale robustly; a constant column keeps scale 1.

    The scale is the standard deviation of the column, values beyond thirty robust spreads pulled in
    to there: that of the whole column where tails are heavy or ties many, yet bounded.
    """
    values = np.asarray(sample.values[sample.mass > 0], dtype=np.float64)
    present = sample.mass[sample.mass > 0]
    with np.errstate(over="ignore"):
        centre, spread = centre_and_spread(values, present)
        unit = np.where(spread > 0, spread, 1.0)
        around = np.clip((values - centre) / unit, -_FARTHEST, _FARTHEST)
    bounded = np.clip(around, -_WINSOR, _WINSOR)
    deviation = np.sqrt(weighted_moments(bounded, present, diagonal=True).scatter)
    middle = int(np.argmin(np.square(around).sum(axis=1)))
    scale = unit * np.where(deviation > 0, deviation, 1.0)
    bad = (scale > _LARGEST_SCALE) | (scale < 1 / _LARGEST_SCALE)
    if bad.any():
        column = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"column {sample.table.columns[column]!r} has a spread of {scale[column]:.3g}, whose "
            "square does not fit a float. Multiply the column by a constant."
        )
    return Coordinates(values[middle], scale)


def check_rows_differ(sample: Sample) -> None:
    """Raise if all rows of a table, not only those of the sample, are equal."""
    first = sample.values[0]

    def count_others(block: FloatArray, prior: FloatArray | None) -> FloatArray:
        counted = block if prior is None else block[prior > 0]
        return np.array([float(np.count_nonzero(counted != first))])

    if sample.table.fold(count_others)[0] == 0:
        raise ValueError("all rows of X are equal: there is nothing to tell them apart by.")


def reduce_to_span(coordinates: Coordinates, table: Table) -> Coordinates:
    """Return the coordinates reduced to the span of the rows, if that is smaller.

    Each row is first brought to unit length, which changes no span, so that one enormous row
    cannot make all others look like rounding.
    """

    def directions(values: FloatArray, prior: FloatArray | None) -> FloatArray:
        scaled = coordinates.standardise(values)
        length = np.linalg.norm(scaled, axis=1)
        mass = np.ones(len(values)) if prior is None else prior
        return scaled * (np.sqrt(mass) / np.where(length > 0, length, np.inf))[:, None]

    def products(values: FloatArray, prior: FloatArray | None) -> FloatArray:
        found = directions(values, prior)
        return found.T @ found

    n_features = len(coordinates.origin)
    if table.n_present >= n_features:
        squares, vectors = np.linalg.eigh(table.fold(products))
        singular, vectors = np.sqrt(np.maximum(squares, 0.0))[::-1], vectors[:, ::-1]
    else:
        values, mass = table.take(np.arange(table.n_present))
        _, singular, transposed = np.linalg.svd(directions(values, mass), full_matrices=False)
        vectors = transposed.T
    rank = int(np.count_nonzero(singular > _RANK_TOLERANCE * max(singular, default=1.0)))
    if rank == n_features:
        return coordinates
    basis = vectors[:, :rank]
    # A direction and its opposite are the same; choose one, so that equal spans give equal bases.
    peaks = np.take_along_axis(basis, np.abs(basis).argmax(axis=0)[None, :], axis=0)
    return Coordinates(coordinates.origin, coordinates.scale, basis * np.sign(peaks))


@dataclass(frozen=True)
class BoundedColumns:
    """Columns brought to a common range: robustly scaled, bounded, and of unit variance.

    Values far from the middle, right or wrong, come no farther than three standard deviations, so
    that no column and no row dominates a distance.
    """

    centre: FloatArray
    spread: FloatArray
    mean: FloatArray
    deviation: FloatArray
    basis: FloatArray | None = None

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the bounded columns in float64, or their coordinates in the basis."""
        bounded = _squash(values, self.centre, self.spread)
        bounded -= self.mean
        bounded /= self.deviation
        np.clip(bounded, -_BOUND, _BOUND, out=bounded)  # rare values of a column that hardly varies
        return bounded if self.basis is None else bounded @ self.basis

    def rotate(self, values: FloatArray) -> BoundedColumns:
        """Return coordinates in the span of some rows, where columns outnumber them.

        Distances between the rows stay as they are; those of other rows lose a part that does not
        depend on which of these they are measured from.
        """
        if values.shape[1] <= len(values):
            return self
        _, sizes, directions = np.linalg.svd(self(values), full_matrices=False)
        kept = sizes > _RANK_TOLERANCE * max(float(sizes[0]), 1e-300)
        return replace(self, basis=directions[kept].T if kept.any() else directions[:1].T)


def bound_columns(values: FloatArray, mass: FloatArray) -> BoundedColumns:
    """Choose the scale of each column by its quantiles; constant columns become zero."""
    centre, spread = centre_and_spread(values, mass)
    spread = np.where(spread > 0, spread, 1.0)
    moments = weighted_moments(_squash(values, centre, spread), mass, diagonal=True)
    deviation = np.sqrt(moments.scatter)
    return BoundedColumns(
        centre, spread, moments.mean, np.where(deviation > _RANK_TOLERANCE, deviation, 1.0)
    )


def _squash(values: FloatArray, centre: FloatArray, spread: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        squashed: FloatArray = np.tanh((values.astype(np.float64) - centre) / (2.0 * spread))
    return squashed
