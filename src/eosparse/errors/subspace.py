"""The error of principal component analysis: the squared distance to a subspace.

    g(x, μ, P) = |x - μ|² - |P'(x - μ)|²,    P'P = I  (D × q)

Its weighted fit is the closed form: μ is the weighted mean, P the q leading eigenvectors of the
weighted scatter. Rows that lie far out *within* the subspace have no error: they support it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from eosparse.core import FloatArray
from eosparse.errors.clusters import squared_norms
from eosparse.errors.gaussian import Moments, weighted_moments


@dataclass(frozen=True)
class Plane:
    """An affine subspace: a point, orthonormal directions (q × D), and the variances along them."""

    location: FloatArray
    components: FloatArray
    variances: FloatArray

    def coordinates(self, values: FloatArray) -> FloatArray:
        """Return the coordinates of rows within the subspace."""
        return (values - self.location) @ self.components.T

    def residuals(self, values: FloatArray) -> FloatArray:
        """Return what of each row lies off the subspace."""
        centred = values - self.location
        centred -= (centred @ self.components.T) @ self.components
        return centred


@dataclass(frozen=True)
class SubspaceError:
    """Error model of robust principal component analysis; θ is a `Plane`.

    Attributes
    ----------
    n_components : int
        q, the dimension of the subspace; from 0 (a point) to the number of columns.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate, solve_from_prior
    >>> from eosparse.errors import SubspaceError
    >>> from eosparse.rows import MemoryRows
    >>> line = np.linspace(-1, 1, 50)
    >>> X = np.column_stack([line, 2 * line])
    >>> X[0] = [5.0, -5.0]
    >>> model, rows = SubspaceError(1), MemoryRows(X)
    >>> plane = alternate(model, rows, 0.5, solve_from_prior(model, rows)).theta
    >>> round(float(plane.components[0, 1] / plane.components[0, 0]), 6)
    2.0
    """

    n_components: int
    smallest_size: float = 1.0

    def errors(self, block: FloatArray, theta: Plane) -> FloatArray:
        """Return the squared distance of each row to the subspace."""
        return squared_norms(theta.residuals(block))

    def statistics(
        self,
        block: FloatArray,
        weights: FloatArray,
        theta: Plane | None = None,  # noqa: ARG002  # the protocol's signature
    ) -> Moments:
        """Return the weighted moments of the block."""
        return weighted_moments(block, weights, diagonal=False)

    def solve(self, statistics: Moments) -> Plane:
        """Return the weighted mean and the leading eigenvectors of the scatter.

        Where the rows span fewer directions, the remaining ones are any that complete the basis.
        """
        size = len(statistics.mean)
        if not 0 <= self.n_components <= size:
            raise ValueError(
                f"n_components={self.n_components} must lie between 0 and the {size} columns."
            )
        if self.n_components == 0:
            return Plane(statistics.mean, np.zeros((0, size)), np.zeros(0))
        chosen = (size - self.n_components, size - 1)
        variances, directions = eigh(statistics.scatter, subset_by_index=chosen)
        components = directions.T[::-1].copy()
        # The sign of an eigenvector is arbitrary: the largest entry shall be positive.
        largest = components[np.arange(len(components)), np.abs(components).argmax(axis=1)]
        components *= np.where(largest < 0, -1.0, 1.0)[:, None]
        return Plane(statistics.mean, components, np.maximum(variances[::-1], 0.0))
