"""The error of linear regression: the squared residual.

    g(x, y, β) = (y - β_0 - x'β)²

A row holds the columns x and the target y. The weighted fit is least squares, from the weighted
moments of the joint table; EOS with this error is Welsch's regression, also known as maximum
correntropy, with the squared bandwidth α/2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from eosparse.core import FloatArray, Moments, check_whole, weighted_moments, weighted_quantiles
from eosparse.models.base import TableModel
from eosparse.models.lengths import (
    drop_rounding,
    nearest_half,
    nearest_part,
    own_rounding,
    squared_norms,
)
from eosparse.rows import Sample

# A spread below this, relative to the mean, is rounding.
_CONSTANT = 1e-13
# Eigenvalues of a correlation matrix below this, relative to the largest, are rounding.
_DEPENDENT = 1e-13
# Slopes below this, in units of the spread of both columns, are rounding.
_NO_SLOPE = 1e-14
# Enough for residuals that only have to rank the rows.
_REWEIGHTINGS = 50
# Rows farther out have squares that may overflow.
_FARTHEST = 1e130


@dataclass(frozen=True)
class Line:
    """Coefficients and intercept of a linear function.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Line
    >>> Line(np.array([2.0]), 1.0).predict(np.array([[3.0]])).tolist()
    [7.0]
    """

    coefficients: FloatArray
    intercept: float

    def predict(self, values: FloatArray) -> FloatArray:
        """Return the value of the function at each row of columns x."""
        predicted: FloatArray = values @ self.coefficients + self.intercept
        return predicted


@dataclass(frozen=True)
class LinearModel(TableModel[Line, Moments]):
    """Error model of linear regression; θ is a `Line`, and one column is the target.

    Attributes
    ----------
    target : int
        Number of the target's column; the last one by default.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.
    rounding : float
        Errors up to this size are mere rounding, and count as zero.
    column_rounding : array of shape (n_features,) or None
        Squared rounding of each column. Errors that it can explain count as zero too.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate, solve_from_prior
    >>> from eosparse.models import LinearModel
    >>> from eosparse.rows import MemoryRows
    >>> x = np.arange(20.0)
    >>> y = 3 * x + 1
    >>> y[::5] = 60.0
    >>> model, rows = LinearModel(), MemoryRows(np.column_stack([x, y]))
    >>> line = alternate(model, rows, 9.0, solve_from_prior(model, rows)).theta
    >>> line.coefficients.round(2).tolist()
    [3.0]
    """

    target: int = -1
    smallest_size: float = 1.0
    rounding: float = field(default=0.0, repr=False)
    column_rounding: FloatArray | None = field(default=None, repr=False, compare=False)

    is_proven = True
    is_squared = True

    def errors(self, block: FloatArray, theta: Line) -> FloatArray:
        """Return the squared residual of each row."""
        x, y = self._split(block)
        errors = squared_norms((y - theta.predict(x))[:, None])
        explained = 0.0
        if self.column_rounding is not None:
            of_x, of_y = self._split(self.column_rounding[None])
            explained = float(of_y[0] + of_x[0] @ np.square(theta.coefficients))
        sizes = np.abs(y) + np.abs(x) @ np.abs(theta.coefficients)
        own = own_rounding(squared_norms(sizes[:, None]))
        return drop_rounding(errors, np.maximum(own, max(self.rounding, explained)))

    def _split(self, block: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the columns x, and the target."""
        if self.target == -1:  # needs no copy
            return block[:, :-1], block[:, -1]
        return np.delete(block, self.target, axis=1), block[:, self.target]

    def statistics(
        self,
        block: FloatArray,
        weights: FloatArray,
        theta: Line | None = None,  # noqa: ARG002  # signature of the base class
    ) -> Moments:
        """Return the weighted moments of the joint table, the target last."""
        joint = block if self.target == -1 else np.column_stack(self._split(block))
        return weighted_moments(joint, weights, diagonal=False)

    def solve(self, statistics: Moments) -> Line:
        """Return least squares; if columns depend on each other, the shortest solution.

        Columns are scaled to unit spread, so that their units do not decide which are dependent.
        """
        scatter, mean = statistics.scatter, statistics.mean
        spread = np.sqrt(np.diag(scatter)[:-1])
        varies = spread > _CONSTANT * np.abs(mean[:-1])
        unit = np.where(varies, spread, np.inf)  # a constant column explains nothing
        within = scatter[:-1, :-1] / np.outer(unit, unit)
        solution = np.linalg.lstsq(within, scatter[:-1, -1] / unit, rcond=_DEPENDENT)[0]
        # A column that adds nothing must not add the rounding of its slope to an enormous row.
        solution[np.abs(solution) <= _NO_SLOPE * np.sqrt(scatter[-1, -1])] = 0.0
        coefficients: FloatArray = solution / unit
        return Line(coefficients, float(mean[-1] - mean[:-1] @ coefficients))

    def complete(self, sample: Sample) -> LinearModel:
        """Return the model, its target checked."""
        check_whole("target", self.target, -np.inf)
        size = sample.values.shape[1]
        if size < 2 or not -size <= self.target < size:
            raise ValueError(
                f"target={self.target} must be the number of one of the columns of X, beside at "
                f"least one other; X has n_features = {size}."
            )
        return self

    def starts(self, sample: Sample) -> Iterator[Line]:
        """Yield least-squares fits to all rows, the half nearest to a plane, and the central half.

        The plane has the least absolute residuals, which tolerates almost half of wrong targets. In
        the central half, no row is far out in x.
        """
        values, mass = sample.values, sample.mass
        middle = weighted_quantiles(values, mass, (0.5,))[0]
        mass = np.where(np.abs(values - middle).max(axis=1) < _FARTHEST, mass, 0.0)
        x, y = self._split(np.where(mass[:, None] > 0, values, 0.0))
        residuals = least_absolute_residuals(x, y, mass)
        near = nearest_part(residuals, mass, 0.5)
        for chosen in (mass > 0, near & (mass > 0), nearest_half(x, mass) & (mass > 0)):
            yield self.solve(self.statistics(values[chosen], mass[chosen]))

    def round_off(self, rounding: float, columns: FloatArray) -> LinearModel:
        """Return the model for which errors that rounding can explain are zero."""
        return replace(self, rounding=rounding, column_rounding=columns)

    def n_directions(self, n_features: int) -> int:  # noqa: ARG002  # signature of the base class
        """Return 1: rows scatter in the direction of the target."""
        return 1

    def n_determining(self, n_features: int) -> int:
        """Return the number of coefficients: a plane can pass through as many rows."""
        return n_features

    def deviations(self, block: FloatArray, theta: Line, alpha: float) -> FloatArray:  # noqa: ARG002  # signature of the base class
        """Return the residual, which is the target's: other columns have none."""
        x, y = self._split(block)
        deviations = np.zeros(block.shape)
        deviations[:, self.target] = y - theta.predict(x)
        return deviations


def least_absolute_residuals(x: FloatArray, y: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the absolute residuals of the plane that minimises their sum, by reweighting.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.arange(5.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 90.0])
    >>> least_absolute_residuals(x, y, np.ones(5)).round(3).tolist()
    [0.0, 0.0, 0.0, 0.0, 86.0]
    """
    design = np.column_stack([np.ones(len(y)), x])
    weights = np.ones(len(y))
    for _ in range(_REWEIGHTINGS):
        root = np.sqrt(mass * weights)
        solution = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
        residuals: FloatArray = np.abs(y - design @ solution)
        weights = 1.0 / np.maximum(residuals, 1e-6 * max(float(residuals.max()), 1e-300))
    return residuals
