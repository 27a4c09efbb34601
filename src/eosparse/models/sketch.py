"""A few directions of a wide table that show its groups: where the search for a start looks.

With hundreds of columns, every fit of a covariance costs the cube of the columns, and a search
makes hundreds of fits. A group of rows that lies apart shows along few directions: principal axes
of bounded rows, columns that look least Gaussian, and directions of extreme kurtosis and skewness
of whitened rows. Random directions besides show rows that lie farther out in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import (
    ErrorModel,
    FloatArray,
    Moments,
    centred_moments,
    weighted_moments,
)
from eosparse.models.base import Beginning
from eosparse.models.directions import (
    MANY_AXES,
    follow_from_ends,
    leading_axes,
    random_directions,
)
from eosparse.models.efficiency import covariance_parameters
from eosparse.models.normal import Normal, times_transposed
from eosparse.models.recapture import leaves_out
from eosparse.models.shrinkage import ROWS_PER_COLUMN, bounded_scatter, oas_shrinkage
from eosparse.rows import Coordinates, Sample, Table, find_middle, map_parallel

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel

# Directions of each kind: principal axes, columns at each end of the kurtosis, and random ones.
_N_AXES, _N_COLUMNS, _N_RANDOM = 8, 4, 8
# Columns beyond this many robust spreads are bounded, as elsewhere in the search.
_BOUND = 3.0
# Keeps a covariance of dependent columns invertible.
_LEAST_SHRINKAGE = 1e-6
# Rows this much farther than others, times c, have less than a millionth of their weight.
_WEIGHTLESS = 30.0
# Directions closer than this to the span of the others add nothing but rounding.
_LEAST_REST = 1e-3


@dataclass(frozen=True)
class Sketch:
    """A map from rows as stored to a few directions of the working coordinates."""

    coordinates: Coordinates
    directions: FloatArray

    def __call__(self, block: FloatArray) -> FloatArray:
        """Return the rows along the directions."""
        return self.coordinates(block) @ self.directions


@dataclass(frozen=True)
class Members(Beginning[Normal]):
    """The rows that belong to a solution found in a sketch; a θ to start from, on all rows.

    Attributes
    ----------
    model : GaussianModel
        The model of all columns.
    sketch : Sketch
        The directions.
    theta : Normal
        The solution in the sketch.
    cut : float
        Squared distance up to which rows belong to it.
    coupling : float
        c of the solution.
    location : array of shape (n_coordinates,)
        Mean of the rows of the sample that belong.
    """

    model: GaussianModel
    sketch: Sketch
    theta: Normal
    cut: float
    coupling: float
    location: FloatArray

    def weigh(self, working: FloatArray, prior: FloatArray | None) -> FloatArray:
        """Return the prior weights of rows that belong, and zeros."""
        is_member = self.theta.mahalanobis(working @ self.sketch.directions) <= self.cut
        return is_member * (1.0 if prior is None else prior)

    def sum_up(self, block: FloatArray, prior: FloatArray | None) -> Moments:
        """Return the moments of the rows of a block that belong."""
        working = self.sketch.coordinates(block)
        weights = self.weigh(working, prior)
        # Rows are already centred, roughly, which saves a copy of them.
        moments = centred_moments(working, weights, diagonal=False) if weights.any() else None
        if moments is not None:
            return moments
        return weighted_moments(self.sketch.coordinates(block), weights, diagonal=False)

    def __call__(self, rows: Table) -> Normal:
        """Return the fit to the rows that belong, with the covariance of a solution."""
        return self._narrow(self.model.solve(rows.fold(self.sum_up)))

    def begin_roughly(
        self, rows: Table, model: ErrorModel[FloatArray, Normal, Moments]
    ) -> tuple[Normal, Table]:
        """Return it for rows in single precision, and the rows without those that have no weight.

        A row is at least as far away in all columns as it is along some directions.
        """
        directions = self.sketch.directions
        centre = self.location @ directions

        def measure(block: FloatArray) -> FloatArray:
            return self.theta.mahalanobis(block @ directions.astype(block.dtype) + centre)

        distances = rows.map(measure).to_column(np.float64)
        near = distances <= self.cut + _WEIGHTLESS / self.coupling
        some = rows.select(near)
        belongs = (distances if some is rows else distances[near]) <= self.cut
        members = some.reweight(belongs.astype(np.float64), np.random.RandomState())

        def sum_up(block: FloatArray, prior: FloatArray | None) -> Moments:
            mass = np.ones(len(block)) if prior is None else prior
            return model.statistics(block, mass, self.theta)

        return self._narrow(model.solve(members.fold(sum_up))), some

    def leaves_out(
        self, values: FloatArray, mass: FloatArray, most: float, coupling: float, theta: Normal
    ) -> bool:
        """Whether a fit of all columns at some c holds at most so much of rows in the sketch."""
        directions = self.sketch.directions
        seen = Normal(theta.location @ directions, directions.T @ theta.covariance @ directions)
        return leaves_out(seen, coupling, values, mass, most)

    def _narrow(self, fit: Normal) -> Normal:
        """Return a fit to rows that belong as that of a solution at c.

        In a crowd it remains a weighted sum over rows, from which the steps are shorter.
        """
        factor = 1.0 if self.model.is_crowded else 1 - self.coupling
        return Normal(fit.location, factor * fit.covariance)


def choose_sketch(
    coordinates: Coordinates, sample: Sample, working: FloatArray, most: int
) -> Sketch:
    """Choose at most so many directions on a sample, given in working coordinates too.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import Coordinates, MemoryRows, take_sample
    >>> rows = np.random.default_rng(0).normal(size=(1000, 100))
    >>> rows[:300, 7] += 50.0
    >>> as_stored = Coordinates(np.zeros(100), np.ones(100))
    >>> sketch = choose_sketch(as_stored, take_sample(MemoryRows(rows), 1000), rows, 40)
    >>> seen = np.linalg.lstsq(sketch(rows), rows[:, 7], rcond=None)[1] / 1000
    >>> sketch.directions.shape[1] < 50, bool(seen[0] < 0.1)
    (True, True)
    """
    mass, share = sample.mass, sample.mass / sample.mass.sum()
    centre, spread = find_middle(coordinates, sample, working)
    centred = working - centre
    bounded, unit = _bound_rows(centred, spread, is_rotated=coordinates.basis is not None)
    # With few rows per column, directions can be chosen in which any rows form groups. Columns and
    # a few axes are too few for that; columns with the lowest kurtosis, where rows are split, and
    # not heavy tails.
    has_enough = mass.sum() >= ROWS_PER_COLUMN * working.shape[1]
    # Where only principal axes may show a group, it may vary less than what columns have in common.
    n_axes = _N_AXES if has_enough else MANY_AXES
    searches: list[Callable[[], FloatArray]] = []  # groups show first along what comes first
    if has_enough or coordinates.basis is None:
        ends = ("low", "high", "skewed") if has_enough else ("low",)
        searches.append(lambda: _odd_columns(bounded, share, ends) / unit[:, None])

    def find_axes() -> FloatArray:
        middle = (bounded - share @ bounded).astype(np.float32)
        axes = leading_axes(middle, share, n_axes) / unit[:, None]
        if has_enough:
            return axes
        return np.concatenate([axes @ _odd_directions(centred @ axes, mass), axes], axis=1)

    searches.append(find_axes)
    if has_enough:
        searches.append(lambda: _odd_directions(centred, mass))
    searches.append(lambda: random_directions(working.shape[1], _N_RANDOM))
    found = map_parallel(lambda search: search(), searches)
    return Sketch(coordinates, _orthonormalise(np.concatenate(found, axis=1)[:, :most]))


def _bound_rows(
    centred: FloatArray, spread: FloatArray, *, is_rotated: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the rows with far ones brought nearer, and the units of their columns.

    Columns are bounded one by one. Coordinates in the span of the rows are no columns: rows are
    bounded by their length.
    """
    if not is_rotated:
        unit = np.where(spread > 0, spread, 1.0)
        return np.clip(centred / unit, -_BOUND, _BOUND), unit
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    return centred / np.maximum(1.0, length / np.median(length)), np.ones_like(spread)


def _odd_columns(bounded: FloatArray, share: FloatArray, ends: tuple[str, ...]) -> FloatArray:
    """Return the axes of the columns with a low or high kurtosis, or that are most skewed."""
    centred = bounded - share @ bounded
    spread = np.sqrt(share @ np.square(centred))
    centred /= np.where(spread > 0, spread, 1.0)
    squares = np.square(centred)
    skewness = np.abs(np.einsum("i,ij,ij->j", share, squares, centred))
    kurtosis = share @ np.square(squares)
    by = {"low": kurtosis, "high": -kurtosis, "skewed": -skewness}
    orders = [np.argsort(by[end], kind="stable") for end in ends]
    chosen = np.unique(np.concatenate([order[:_N_COLUMNS] for order in orders]))
    return np.eye(bounded.shape[1])[:, chosen]


def _odd_directions(centred: FloatArray, mass: FloatArray) -> FloatArray:
    """Return directions in which whitened rows look least Gaussian."""
    scatter, size = bounded_scatter(centred, mass)
    # As much shrinkage as makes the inverse of a covariance from few rows a good one.
    amount = max(oas_shrinkage(scatter, len(scatter), size), _LEAST_SHRINKAGE)
    target = float(np.trace(scatter)) / len(scatter)
    scatter *= 1 - amount
    scatter.flat[:: len(scatter) + 1] += amount * target
    inverse = Normal(np.zeros(len(scatter)), scatter).inverse_factor
    white = times_transposed(centred.astype(np.float32), inverse.astype(np.float32))
    white -= (mass / mass.sum()).astype(np.float32) @ white
    return np.asarray(inverse.T @ follow_from_ends(white, mass))


def _orthonormalise(directions: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the span of directions of any length, the first as they are.

    Columns come first, and stay axes of the basis: along them a group shows to any search.
    """
    unit = directions / np.maximum(np.linalg.norm(directions, axis=0), 1e-300)
    axes, rest = np.linalg.qr(unit)
    return np.asarray(axes[:, np.abs(np.diag(rest)) > _LEAST_REST])


def narrow_model(model: GaussianModel, seen: Sample) -> GaussianModel:
    """Return a model of a few columns without shrinkage, in place of one of many."""
    n_rows, size = seen.n_rows / seen.copies, seen.values.shape[1]
    return replace(
        model,
        shrinkage="auto",
        amount=0.0,
        n_features=size,
        coordinates=None,
        smallest_size=seen.copies * min(1.5 * (size + 1), n_rows / 4),
        crowding=covariance_parameters("full", size) / n_rows,
        dimension=float(size),
        feedback=1.0,
        is_exact_fit=False,
    )
