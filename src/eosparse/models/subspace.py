"""The error of principal component analysis: the squared distance to a subspace.

    g(x, μ, P) = |x - μ|² - |P'(x - μ)|²,    P'P = I  (D × q)

Its weighted fit is the closed form: μ is the weighted mean, P the q leading eigenvectors of the
weighted scatter. Rows that lie far out *within* the subspace have no error: they support it.

A row with gaps x_m has the smallest error that values there can give it, where values far from what
a robust guess N(m, C) expects of them cost something too,

    min over x_m of   |x - μ|² - |P'(x - μ)|² + h σ² (x_m - m)'C⁻¹(x_m - m)

times (D-q)/(d-q) for the d columns that it has, so that good rows have about the same error
whatever they lack. In the fit, gaps hold these values: the error at them is a majorant that touches
the row's own, and the objective still falls. Without the second term (h = 0), rows with hardly more
columns than the subspace has directions would turn it towards values of any size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh, lapack

from eosparse.core import FloatArray, Moments, Result, check_whole, has_gaps, weighted_moments
from eosparse.models.base import TableModel
from eosparse.models.gaps import fill_rows, find_patterns, match_chances
from eosparse.models.lengths import (
    drop_rounding,
    lengths,
    nearest_half,
    own_rounding,
    spatial_median,
    squared_norms,
)
from eosparse.models.normal import Normal
from eosparse.rows import Sample


@dataclass(frozen=True)
class GapGuess:
    """What is expected in gaps before the fit, and how firmly.

    Attributes
    ----------
    location, unit : array of shape (n_features,)
        Location and deviation of each column.
    law : Normal
        A robust guess of the law of the rows, in these units.
    precision : array of shape (n_features, n_features)
        h σ² C⁻¹, by which values are held at it; σ² is its variance off the subspace.
    """

    location: FloatArray
    unit: FloatArray
    law: Normal
    precision: FloatArray

    @classmethod
    def of(cls, law: Normal, n_off: int) -> GapGuess:
        """Return the guess for a subspace with so many directions off it."""
        noise = float(np.linalg.eigvalsh(law.covariance)[:n_off].mean())
        unit = np.sqrt(np.diag(law.covariance))  # columns may have any unit
        scaled = Normal(np.zeros(len(unit)), law.covariance / np.outer(unit, unit))
        to_scores = scaled.inverse_factor / unit
        return cls(law.location, unit, scaled, _HELD * noise * (to_scores.T @ to_scores))

    def fill(self, values: FloatArray) -> FloatArray:
        """Return rows with what is expected in their gaps."""
        scores = fill_rows(self.law, (values - self.location) / self.unit).centred
        return np.where(np.isnan(values), self.location + self.unit * scores, values)


@dataclass(frozen=True)
class Plane:
    """An affine subspace: a point, orthonormal directions (q × D), and the variances along them.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Plane
    >>> axis = Plane(np.zeros(2), np.array([[1.0, 0.0]]), np.ones(1))
    >>> axis.coordinates(np.array([[3.0, 4.0]])).tolist()
    [[3.0]]
    >>> axis.residuals(np.array([[3.0, 4.0]])).tolist()
    [[0.0, 4.0]]
    """

    location: FloatArray
    components: FloatArray
    variances: FloatArray

    def coordinates(self, values: FloatArray, guess: GapGuess | None = None) -> FloatArray:
        """Return the coordinates of rows within the subspace."""
        if has_gaps(values):
            values = self.fill(values, guess)[0]
        return (values - self.location) @ self.components.T

    def fill(
        self, values: FloatArray, guess: GapGuess | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return rows whose gaps bring them nearest to the subspace, and the cost of these values.

        Without a guess the cost is next to nothing, and only chooses between equal values.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse.models import Plane
        >>> line = Plane(np.zeros(2), np.array([[0.6, 0.8]]), np.ones(1))
        >>> line.fill(np.array([[3.0, np.nan]]))[0].round(9).tolist()
        [[3.0, 4.0]]
        """
        is_missing, costs = np.isnan(values), np.zeros(len(values))
        weak = _LEAST_PRESENT * np.eye(len(self.location))
        if guess is None:
            filled, held = np.where(is_missing, self.location, values), weak
        else:
            filled, held = guess.fill(values), guess.precision + weak
        off = self.residuals(filled)
        for rows, missing in find_patterns(is_missing):
            axes = self.components.T[missing]  # P_m, of each row
            system = np.eye(missing.shape[1]) - axes @ axes.transpose(0, 2, 1)
            price = held[missing[:, :, None], missing[:, None, :]]
            pull = np.take_along_axis(off[rows], missing, axis=1)
            move = np.linalg.solve(system + price, -pull[..., None])[..., 0]
            filled[rows[:, None], missing] += move
            costs[rows] = np.einsum("ni,nij,nj->n", move, price, move)
        return filled, costs

    def residuals(self, values: FloatArray) -> FloatArray:
        """Return the part of each row that lies off the subspace."""
        centred = values - self.location
        centred -= (centred @ self.components.T) @ self.components
        return centred


@dataclass(frozen=True)
class PlaneMoments:
    """Moments of weighted rows, and the subspace at which their weights were found."""

    moments: Moments
    before: Plane | None

    def scale(self, factor: float) -> PlaneMoments:
        """Return the moments as if every weight had been multiplied by `factor`."""
        return PlaneMoments(self.moments.scale(factor), self.before)

    def __add__(self, other: PlaneMoments) -> PlaneMoments:
        return PlaneMoments(self.moments + other.moments, self.before)


@dataclass(frozen=True)
class SubspaceModel(TableModel[Plane, PlaneMoments]):
    """Error model of robust principal component analysis; θ is a `Plane`.

    Attributes
    ----------
    n_components : int or None
        q, the dimension of the subspace; from 0 (a point) to the number of columns. None means the
        number of eigenvalues above their mean (Kaiser's rule), in the central half of the rows.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.
    gaps : Normal or None
        A robust guess of the law of rows with missing values; None if there are none.
    noise : float
        Variance off the subspace, by which rows with gaps are judged.
    rounding : float
        Errors up to this size are mere rounding, and count as zero.
    column_rounding : array of shape (n_features,) or None
        Squared rounding of each column. Errors that it can explain count as zero too.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate, solve_from_prior
    >>> from eosparse.models import SubspaceModel
    >>> from eosparse.rows import MemoryRows
    >>> line = np.linspace(-1, 1, 50)
    >>> X = np.column_stack([line, 2 * line])
    >>> X[0] = [5.0, -5.0]
    >>> model, rows = SubspaceModel(1), MemoryRows(X)
    >>> plane = alternate(model, rows, 0.5, solve_from_prior(model, rows)).theta
    >>> round(float(plane.components[0, 1] / plane.components[0, 0]), 6)
    2.0
    """

    n_components: int | None = None
    smallest_size: float = 1.0
    gaps: Normal | None = None
    noise: float = 0.0
    rounding: float = field(default=0.0, repr=False)
    column_rounding: FloatArray | None = field(default=None, repr=False, compare=False)

    takes_gaps = True
    is_proven = True
    is_squared = True

    @cached_property
    def guess(self) -> GapGuess | None:
        """What is expected in gaps, and how firmly; None if there are none."""
        if self.gaps is None:
            return None
        return GapGuess.of(self.gaps, self.n_directions(len(self.gaps.location)))

    def errors(self, block: FloatArray, theta: Plane) -> FloatArray:
        """Return the squared distance of each row to the subspace."""
        if not has_gaps(block):
            return self._measure(block, theta)
        filled, costs = theta.fill(block, self.guess)
        return (self._measure(filled, theta) + costs) * self._weigh_gaps(block)

    def _measure(self, block: FloatArray, theta: Plane) -> FloatArray:
        errors = squared_norms(theta.residuals(block))
        explained = 0.0
        if self.column_rounding is not None:
            share_off = 1.0 - np.square(theta.components).sum(axis=0)
            explained = float(self.column_rounding @ np.maximum(share_off, 0.0))
        # A row is enormous by itself, not because an enormous one has moved the location.
        own = own_rounding(np.minimum(squared_norms(block), squared_norms(block - theta.location)))
        return drop_rounding(errors, np.maximum(own, max(self.rounding, explained)))

    def statistics(
        self,
        block: FloatArray,
        weights: FloatArray,
        theta: Plane | None = None,
    ) -> PlaneMoments:
        """Return the weighted moments of the block."""
        if has_gaps(block):
            weights = weights * self._weigh_gaps(block)
            assert self.guess is not None
            block = self.guess.fill(block) if theta is None else theta.fill(block, self.guess)[0]
        return PlaneMoments(weighted_moments(block, weights, diagonal=False), theta)

    def _weigh_gaps(self, block: FloatArray) -> FloatArray:
        """Return (D-q)/(d-q) for rows with d values; 0 if no more than q, which any row fits."""
        n_off = np.count_nonzero(~np.isnan(block), axis=1) - (self.n_components or 0)
        return np.where(n_off > 0, self.n_directions(block.shape[1]) / np.maximum(n_off, 1), 0.0)

    def accept_gaps(self, law: Normal, share: float) -> SubspaceModel:  # noqa: ARG002  # signature of the base class
        """Return the model for rows with gaps, given a robust guess of the law of the columns."""
        return replace(self, gaps=law)

    def conclude(self, result: Result[Plane]) -> SubspaceModel:
        """Return the model by which rows are judged after a fit.

        The mean of p σ²χ² errors, weighted by exp(-g/α), is p σ²/(1 + 2σ²/α).
        """
        mean = result.objective
        tilt = 0.0
        if np.isfinite(result.alpha):  # L = Σ w g - α H
            mean += result.alpha * float(np.log(result.perplexity))
            tilt = 2 * mean / result.alpha
        n_off = self.n_directions(len(result.theta.location))
        return replace(self, noise=max(mean, 0.0) / max(n_off - tilt, n_off / 10))

    def distances(self, block: FloatArray, theta: Plane) -> FloatArray:
        """Return the errors; of rows with gaps, those of all columns that are as improbable."""
        errors = super().distances(block, theta)
        if self.noise == 0.0 or not has_gaps(block):
            return errors
        weights, n_off = self._weigh_gaps(block), self.n_directions(block.shape[1])
        own = np.divide(errors, weights, out=np.zeros_like(errors), where=weights > 0)
        counts = np.divide(n_off, weights, out=np.zeros_like(errors), where=weights > 0)
        return match_chances(own, counts.round().astype(np.int64), n_off, self.noise)

    def solve(self, statistics: PlaneMoments) -> Plane:
        """Return the weighted mean and the leading eigenvectors of the scatter.

        Where the rows span fewer directions, the remaining ones stay as they were; without a
        subspace before, they are any that complete the basis.
        """
        mean, scatter = statistics.moments.mean, statistics.moments.scatter
        n_components = self._check_size(len(mean))
        if n_components == 0:
            return Plane(mean, np.zeros((0, len(mean))), np.zeros(0))
        variances, components = _find_main_axes(scatter, n_components)
        if statistics.before is not None:
            components = _keep_axes(components, variances, statistics)
        # The sign of an eigenvector is arbitrary: make the largest entry positive.
        largest = components[np.arange(len(components)), np.abs(components).argmax(axis=1)]
        components *= np.where(largest < 0, -1.0, 1.0)[:, None]
        return Plane(mean, components, np.maximum(variances, 0.0))

    def _check_size(self, n_features: int) -> int:
        check_whole("n_components", self.n_components, 0)
        if self.n_components is None or not 0 <= self.n_components <= n_features:
            raise ValueError(
                f"n_components={self.n_components} must lie between 0 and the {n_features} "
                f"columns of X (n_features = {n_features})."
            )
        return self.n_components

    def complete(self, sample: Sample) -> SubspaceModel:
        """Return the model with its number of components, checked."""
        values, mass = sample.values, sample.mass
        if self.n_components is not None:
            self._check_size(values.shape[1])
            return self
        middle = nearest_half(values, mass)
        scatter = weighted_moments(values[middle], mass[middle], diagonal=False).scatter
        variances = np.linalg.eigvalsh(scatter)
        above = int(np.count_nonzero(variances > variances.mean()))
        return replace(self, n_components=min(max(above, 1), max(values.shape[1] - 1, 1)))

    def starts(self, sample: Sample) -> Iterator[Plane]:
        """Yield the classical subspace, the spherical one, and that of the central half.

        The spherical one fits the directions from the spatial median to the rows, in which no row
        counts more than another. All rotate with the rows, and a row of mass k counts as k rows.
        """
        values, mass = sample.values, sample.mass
        middle = spatial_median(values, mass)
        centred = values - middle
        reach = lengths(centred)
        if reach.max() < _FARTHEST:
            yield self.solve(self.statistics(values, mass))
        directions = centred / np.where(reach > 0, reach, np.inf)[:, None]
        turned = self.solve(self.statistics(directions, mass))
        yield Plane(middle, turned.components, turned.variances)
        near = nearest_half(values, mass)
        yield self.solve(self.statistics(values[near], mass[near], turned))

    def round_off(self, rounding: float, columns: FloatArray) -> SubspaceModel:
        """Return the model for which errors that rounding can explain are zero."""
        return replace(self, rounding=rounding, column_rounding=columns)

    def n_directions(self, n_features: int) -> int:
        """Return the number of directions off the subspace, in which rows scatter."""
        return max(n_features - self._check_size(n_features), 1)

    def n_determining(self, n_features: int) -> int:
        """Return q + 1: a subspace can pass through as many rows."""
        return self._check_size(n_features) + 1

    def volume(self, theta: Plane, mean_error: float) -> float:
        """Return the log-determinant of the rows: of λ_i within the subspace, of σ² off it.

        A tight group of outliers can lower the objective of a subspace that turns towards it and
        gives up its weakest direction: with λ = 9σ² in seven directions, 15 % of the rows are
        enough. But the group lies apart within the turned subspace, whose determinant is larger.
        """
        n_off = len(theta.location) - len(theta.variances)
        noise = max(mean_error / max(n_off, 1), 1e-290)
        return float(np.log(np.maximum(theta.variances, noise)).sum() + n_off * np.log(noise))

    def deviations(self, block: FloatArray, theta: Plane, alpha: float) -> FloatArray:  # noqa: ARG002  # signature of the base class
        """Return the part of each row that lies off the subspace; none does in gaps."""
        return theta.residuals(theta.fill(block, self.guess)[0] if has_gaps(block) else block)


def _find_main_axes(scatter: FloatArray, number: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues of a scatter, and their eigenvectors as rows.

    Beside a column a million times as wide as the others, these are rounding for the usual
    algorithm. Jacobi's keeps the digits of each column, and takes longer.
    """
    size, spreads = len(scatter), np.diag(scatter)[np.diag(scatter) > 0]
    if len(spreads) and spreads.max() > _GRADED * spreads.min():
        variances, vectors, _, scale, _, info = lapack.dgejsv(scatter, joba=_BOTH_SIDES)
        if info == 0:
            return variances[:number] * (scale[0] / scale[1]), vectors.T[:number].copy()
    variances, vectors = eigh(scatter, subset_by_index=(size - number, size - 1))
    return variances[::-1], vectors.T[::-1].copy()


def _keep_axes(axes: FloatArray, variances: FloatArray, statistics: PlaneMoments) -> FloatArray:
    """Replace axes along which the rows do not scatter by those of the subspace before.

    If few rows have weight, rounding would choose these axes, and with them the rows that come
    next.
    """
    moments, before = statistics.moments, statistics.before
    assert before is not None
    squares = squared_norms((np.abs(axes) @ np.sqrt(np.diag(moments.scatter)))[:, None])
    lost = own_rounding(squared_norms((np.abs(axes) @ np.abs(moments.mean))[:, None]))
    found = axes[variances > np.maximum(_NO_SPREAD * squares, lost)]
    n_missing = len(axes) - len(found)
    if n_missing == 0:
        return axes
    rest = before.components - (before.components @ found.T) @ found
    return np.vstack([found, np.linalg.svd(rest)[2][:n_missing]])


# Part of a direction in the columns of a row below which it does not tell the coordinate along it.
_LEAST_PRESENT = 1e-12
# h, by which gaps are held at what is expected of them. With less, a fit takes more passes and
# finds too little noise; with more, it leans on the guess.
_HELD = 0.1
# Variances below this part of the squares that cancel in them are rounding.
_NO_SPREAD = 1e-14
# Ratio of variances beyond which an eigenvector loses half of its digits.
_GRADED = 1e8
# Of dgejsv: rows and columns may both be of very different sizes.
_BOTH_SIDES = 2
# Rows farther out have squares that may overflow: there is no classical subspace.
_FARTHEST = 1e130
