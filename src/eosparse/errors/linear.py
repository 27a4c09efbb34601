"""The error of linear regression: the squared residual.

    g(x, y, β) = (y - β_0 - x'β)²

A row holds the columns x and, last, the target y. The weighted fit is least squares, from the
weighted moments of the joint table; EOS with this error is Welsch's regression, also known as
maximum correntropy, with the squared bandwidth α/2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eosparse.core import FloatArray
from eosparse.errors.gaussian import Moments, weighted_moments


@dataclass(frozen=True)
class Line:
    """Coefficients and intercept of a linear function."""

    coefficients: FloatArray
    intercept: float

    def predict(self, values: FloatArray) -> FloatArray:
        """Return the value of the function at each row of columns x."""
        predicted: FloatArray = values @ self.coefficients + self.intercept
        return predicted


@dataclass(frozen=True)
class LinearError:
    """Error model of linear regression; θ is a `Line`, and the last column is the target.

    Attributes
    ----------
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate, solve_from_prior
    >>> from eosparse.errors import LinearError
    >>> from eosparse.rows import MemoryRows
    >>> x = np.arange(20.0)
    >>> y = 3 * x + 1
    >>> y[::5] = 60.0
    >>> model, rows = LinearError(), MemoryRows(np.column_stack([x, y]))
    >>> line = alternate(model, rows, 9.0, solve_from_prior(model, rows)).theta
    >>> line.coefficients.round(2).tolist()
    [3.0]
    """

    smallest_size: float = 1.0

    def errors(self, block: FloatArray, theta: Line) -> FloatArray:
        """Return the squared residual of each row."""
        return np.square(block[:, -1] - theta.predict(block[:, :-1]))

    def statistics(
        self,
        block: FloatArray,
        weights: FloatArray,
        theta: Line | None = None,  # noqa: ARG002  # the protocol's signature
    ) -> Moments:
        """Return the weighted moments of the joint table."""
        return weighted_moments(block, weights, diagonal=False)

    def solve(self, statistics: Moments) -> Line:
        """Return least squares; where columns depend on each other, the shortest solution.

        In columns scaled to unit spread, so that their units do not decide which are dependent.
        """
        scatter, mean = statistics.scatter, statistics.mean
        spread = np.sqrt(np.diag(scatter)[:-1])
        varies = spread > _CONSTANT * np.abs(mean[:-1])
        unit = np.where(varies, spread, np.inf)  # a constant column explains nothing
        within = scatter[:-1, :-1] / np.outer(unit, unit)
        solution = np.linalg.lstsq(within, scatter[:-1, -1] / unit, rcond=_DEPENDENT)[0]
        coefficients: FloatArray = solution / unit
        return Line(coefficients, float(mean[-1] - mean[:-1] @ coefficients))


# A spread below this, relative to the mean, is rounding.
_CONSTANT = 1e-13
# Eigenvalues of a correlation matrix below this, relative to the largest, are rounding.
_DEPENDENT = 1e-13
