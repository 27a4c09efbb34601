"""Working coordinates: columns brought to one scale, and to the directions that rows span.

Sums of squares over columns in metres and in nanometres lose digits, and columns that depend on
each other have no joint density. Both are settled here, once, before any row is visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eosparse.core import (
    LARGEST_SQUARED,
    BoolArray,
    FloatArray,
    centre_and_spread,
    factor_lower,
    find_condition,
    weighted_moments,
    weighted_quantiles,
)
from eosparse.rows.memory import MemoryRows
from eosparse.rows.sample import Sample
from eosparse.rows.table import Table

# From so many columns on, rows are kept row by row.
_MANY_COLUMNS = 64
# Rows are clipped at this many spreads, whose square still fits a float.
_FARTHEST = 1e60
# Values beyond this many spreads, farther than most heavy tails, do not widen a column's scale.
_WINSOR = 30.0
# Bounded columns reach no farther than this many standard deviations: far, but not dominant.
_BOUND = 3.0
# Singular values below this part of the largest are rounding.
_RANK_TOLERANCE = 1e-7
# Relative differences of squared distances that are rounding.
_TIE = 1e-12


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
        Orthonormal directions that the scaled rows span; None if they span all.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import Coordinates
    >>> metres = Coordinates(origin=np.array([100.0]), scale=np.array([10.0]))
    >>> metres(np.array([[120.0]])).tolist(), metres.location(np.array([2.0])).tolist()
    ([[2.0]], [120.0])
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

        A few columns are laid out one after the other: that is several times faster to work on than
        rows. With many, the transposed copy takes longer.
        """
        scaled = np.empty(values.shape, order="F" if values.shape[1] < _MANY_COLUMNS else "C")
        with np.errstate(over="ignore"):
            np.subtract(values, self.origin, out=scaled)
            scaled /= self.scale
        return np.clip(scaled, -_FARTHEST, _FARTHEST, out=scaled)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the working coordinates of rows."""
        scaled = self.standardise(values)
        return scaled if self.basis is None else scaled @ self.basis

    def off_span(self, values: FloatArray) -> FloatArray:
        """Return the squared length of the part of each row that is off the span of the basis."""
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

    The scale of a column is its standard deviation, with values beyond thirty robust spreads pulled
    in to that distance. So heavy tails and ties count, but outliers have a bounded effect.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import MemoryRows, choose_coordinates, take_sample
    >>> rows = MemoryRows(np.array([[0.0], [10.0], [20.0], [30.0], [40.0]]))
    >>> coordinates = choose_coordinates(take_sample(rows, 5))
    >>> coordinates.origin.tolist(), coordinates.scale.round(2).tolist()
    ([20.0], [14.14])
    """
    values = np.asarray(sample.values[sample.mass > 0], dtype=np.float64)
    present = sample.mass[sample.mass > 0]
    centre, spread = sample.centre_and_spread
    with np.errstate(over="ignore"):
        unit = np.where(spread > 0, spread, 1.0)
        around = np.asarray(values - centre)
        around /= unit
        np.clip(around, -_FARTHEST, _FARTHEST, out=around)
    bounded = np.clip(around, -_WINSOR, _WINSOR)
    deviation = np.sqrt(weighted_moments(bounded, present, diagonal=True).scatter)
    middle = _nearest_row(around)
    scale = unit * np.where(deviation > 0, deviation, 1.0)
    check_scale(scale, sample.columns)
    return Coordinates(values[middle], scale)


def find_middle(
    coordinates: Coordinates, sample: Sample, working: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the median and a robust spread of the working coordinates of a sample.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import Coordinates, MemoryRows, find_middle, take_sample
    >>> sample = take_sample(MemoryRows(np.array([[0.0], [10.0], [20.0]])), 3)
    >>> halved = Coordinates(np.zeros(1), np.full(1, 2.0))
    >>> find_middle(halved, sample, halved(sample.values))[0].tolist()
    [5.0]
    """
    if coordinates.basis is not None:
        return centre_and_spread(working, sample.mass)
    centre, spread = sample.centre_and_spread  # the same columns in other units
    return coordinates(centre[None, :])[0], spread / coordinates.scale


def check_scale(scale: FloatArray, names: Sequence[str]) -> None:
    """Raise if the square of a column's scale does not fit a float.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows.coordinates import check_scale
    >>> check_scale(np.array([1.0, 1e-200]), ["a", "b"])
    Traceback (most recent call last):
    ValueError: column 'b' has a spread of 1e-200, whose square does not fit a float. Multiply ...
    """
    bad = (scale > LARGEST_SQUARED) | (scale < 1 / LARGEST_SQUARED)
    if bad.any():
        column = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"column {names[column]!r} has a spread of {scale[column]:.3g}, whose "
            "square does not fit a float. Multiply the column by a constant."
        )


def _nearest_row(around: FloatArray) -> int:
    """Return the number of the row closest to the centre.

    Of those equally close, the first by its values: the order of the rows must not decide.
    """
    squares = np.einsum("ij,ij->i", around, around)
    tied = np.flatnonzero(squares <= squares.min() * (1 + _TIE))
    return int(tied[np.lexsort(around[tied].T)[0]])


def span_rows(coordinates: Coordinates, rows: FloatArray, mass: FloatArray) -> Coordinates:
    """Return coordinates in the span of some rows, one of which becomes the origin.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import Coordinates, span_rows
    >>> plane = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    >>> span = span_rows(Coordinates(np.zeros(2), np.ones(2)), plane, np.ones(3))
    >>> span.rank, span.off_span(np.array([[9.0, 5.0], [2.0, 7.0]])).tolist()
    (1, [0.0, 4.0])
    """
    scaled = replace(coordinates, basis=None).standardise(rows)
    centre = weighted_quantiles(scaled, mass, (0.5,))[0]
    origin = np.asarray(rows[_nearest_row(scaled - centre)], dtype=np.float64)
    around = replace(coordinates, origin=origin, basis=None)
    return reduce_to_span(around, MemoryRows(rows, mass))


def find_heap(sample: Sample) -> BoolArray:
    """Return which rows share, in each of some columns, a value that more than half of all have.

    Columns are taken in the order of that share, as long as the rows that share all of these
    values are still more than half. All rows if there is no such column.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import MemoryRows, find_heap, take_sample
    >>> rows = MemoryRows(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [5.0, 4.0]]))
    >>> find_heap(take_sample(rows, 4)).tolist()
    [True, True, True, False]
    """
    values, mass = sample.values, sample.mass
    is_tied = values == sample.centre_and_spread[0]  # what more than half share is the median
    shares = mass @ is_tied / mass.sum()
    heap = np.ones(len(values), dtype=bool)
    for column in np.argsort(-shares, kind="stable"):
        both = heap & is_tied[:, column]
        if 2 * (mass @ both) <= mass.sum():
            break
        heap = both
    return heap


def check_rows_differ(sample: Sample) -> None:
    """Raise if all rows of a table, not only those of the sample, are equal."""
    first = sample.values[0]

    def count_others(block: FloatArray, prior: FloatArray | None) -> FloatArray:
        counted = block if prior is None else block[prior > 0]
        return np.array([float(np.count_nonzero(counted != first))])

    if sample.table.fold(count_others)[0] == 0:
        raise ValueError("all rows of X are equal: no row stands out.")


def reduce_to_span(coordinates: Coordinates, table: Table) -> Coordinates:
    """Return the coordinates reduced to the span of the rows, if that is smaller.

    Each row is first brought to unit length, which does not change the span, so that one enormous
    row cannot make all others look like rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import Coordinates, MemoryRows, reduce_to_span
    >>> rows = MemoryRows(np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]))
    >>> reduce_to_span(Coordinates(np.zeros(2), np.ones(2)), rows).rank
    1
    """

    def directions(values: FloatArray, prior: FloatArray | None) -> FloatArray:
        scaled = coordinates.standardise(values)
        mass = np.ones(len(values)) if prior is None else prior
        is_whole = ~np.isnan(scaled).any(axis=1)
        if not is_whole.all():  # rows with gaps do not tell which directions they lie in
            scaled, mass = scaled[is_whole], mass[is_whole]
        length = np.linalg.norm(scaled, axis=1)
        return scaled * (np.sqrt(mass) / np.where(length > 0, length, np.inf))[:, None]

    def products(values: FloatArray, prior: FloatArray | None) -> FloatArray:
        found = directions(values, prior)
        return found.T @ found

    n_features = len(coordinates.origin)
    if table.n_present >= n_features:
        folded = table.fold(products)
        if _has_full_rank(folded):
            return coordinates
        squares, vectors = np.linalg.eigh(folded)
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


def _has_full_rank(products: FloatArray) -> bool:
    """Whether a matrix of sums of products is certainly regular, by its triangular factor."""
    lower = factor_lower(products)
    # Far from the tolerance, since condition numbers in two norms are not the same.
    return lower is not None and find_condition(lower) > 100 * _RANK_TOLERANCE


@dataclass(frozen=True)
class BoundedColumns:
    """Columns brought to a common range: robustly scaled, bounded, and of unit variance.

    Values far from the middle, right or wrong, come no farther than three standard deviations, so
    that no row dominates a distance. Nor does any column, unless the columns keep their own units.
    """

    centre: FloatArray
    spread: FloatArray
    mean: FloatArray
    deviation: FloatArray
    units: FloatArray | None = None
    basis: FloatArray | None = None

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the bounded columns in float64, or their coordinates in the basis."""
        bounded = _squash(values, self.centre, self.spread)
        bounded -= self.mean
        bounded /= self.deviation
        np.clip(bounded, -_BOUND, _BOUND, out=bounded)  # rare values of a column that hardly varies
        if self.units is not None:
            bounded *= self.units
        return bounded if self.basis is None else bounded @ self.basis

    @property
    def own_units(self) -> FloatArray:
        """The length of a standard deviation in each column, one in the mean of squares.

        Near the middle, distances in the unit of a column are those in bounded columns times this.
        """
        lengths = np.where(np.isfinite(self.deviation), self.spread * self.deviation, 0.0)
        if not lengths.any():
            return lengths
        lengths /= lengths.max()  # squares of long ones do not fit a float
        return np.asarray(lengths / np.sqrt(np.square(lengths[lengths > 0]).mean()))

    def keep_units(self) -> BoundedColumns:
        """Return the same columns in their own units, which then have different variances."""
        return replace(self, units=self.own_units)

    def rotate(self, values: FloatArray) -> BoundedColumns:
        """Return coordinates in the span of some rows, if columns outnumber them.

        Distances between these rows do not change. Distances of another row from them lose a part
        that is the same for all of them.
        """
        if values.shape[1] <= len(values):
            return self
        _, sizes, directions = np.linalg.svd(self(values), full_matrices=False)
        kept = sizes > _RANK_TOLERANCE * max(float(sizes[0]), 1e-300)
        return replace(self, basis=directions[kept].T if kept.any() else directions[:1].T)


def bound_columns(values: FloatArray, mass: FloatArray) -> BoundedColumns:
    """Choose the scale of each column by its quantiles; constant columns become zero.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import bound_columns
    >>> values = np.array([[-1.0], [0.0], [1.0], [1e9]])
    >>> bool(np.abs(bound_columns(values, np.ones(4))(values)).max() <= 3)
    True
    """
    centre, spread = centre_and_spread(values, mass)
    spread = np.where(spread > 0, spread, 1.0)
    moments = weighted_moments(_squash(values, centre, spread), mass, diagonal=True)
    deviation = np.sqrt(moments.scatter)
    return BoundedColumns(
        centre, spread, moments.mean, np.where(deviation > _RANK_TOLERANCE, deviation, np.inf)
    )


def _squash(values: FloatArray, centre: FloatArray, spread: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        squashed: FloatArray = np.tanh((values.astype(np.float64) - centre) / (2.0 * spread))
    return squashed
