"""The error of k-means: the squared distance to the nearest of K centres.

    g(x, μ) = min_k |x - μ_k|²

Its weighted fit is a step of Lloyd's: with the rows assigned to their nearest centre, the weighted
mean of each cluster. The minimum over k at the new centres is no larger than the distance to the
centre of the old assignment, so the objective falls in every step. A cluster without weight keeps
its centre. With K = 1, EOS is Gaussian mean shift with the squared bandwidth α/2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eosparse.core import FloatArray, IntArray
from eosparse.errors.spa import sums_by_class


@dataclass(frozen=True)
class ClusterSums:
    """Weight of each cluster, and weighted sum of its rows' deviations from the old centre.

    Deviations, not rows: columns far from zero lose no digits. Sums of disjoint rows merge by
    ``+``.
    """

    before: FloatArray
    mass: FloatArray
    deviations: FloatArray

    def scaled(self, factor: float) -> ClusterSums:
        """Return the sums had every weight been multiplied by `factor`."""
        return ClusterSums(self.before, self.mass * factor, self.deviations * factor)

    def __add__(self, other: ClusterSums) -> ClusterSums:
        return ClusterSums(self.before, self.mass + other.mass, self.deviations + other.deviations)


@dataclass(frozen=True)
class ClusterError:
    """Error model of robust k-means; θ are the centres, an array of shape (K, D).

    Attributes
    ----------
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate
    >>> from eosparse.errors import ClusterError
    >>> from eosparse.rows import MemoryRows
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [500.0]])
    >>> start = np.array([[0.0], [10.0]])
    >>> alternate(ClusterError(), MemoryRows(X), 5.0, start).theta.ravel().round(6).tolist()
    [0.5, 10.5]
    """

    smallest_size: float = 1.0

    def errors(self, block: FloatArray, theta: FloatArray) -> FloatArray:
        """Return the squared distance of each row to its nearest centre."""
        nearest: FloatArray = squared_distances(block, theta).min(axis=1)
        return nearest

    def statistics(self, block: FloatArray, weights: FloatArray, theta: FloatArray) -> ClusterSums:
        """Return weight and deviations of each cluster."""
        clusters = self.assign(block, theta)
        deviations = (block - theta[clusters]) * weights[:, None]
        mass = np.bincount(clusters, weights, len(theta)).astype(np.float64)
        return ClusterSums(theta, mass, sums_by_class(deviations, clusters, len(theta)))

    def solve(self, statistics: ClusterSums) -> FloatArray:
        """Return the weighted means; an empty cluster stays where it is."""
        mass = statistics.mass[:, None]
        steps = np.divide(statistics.deviations, mass, out=np.zeros_like(statistics.before),
                          where=mass > 0)  # fmt: skip
        centres: FloatArray = statistics.before + steps
        return centres

    def assign(self, block: FloatArray, theta: FloatArray) -> IntArray:
        """Return the number of the nearest centre of each row."""
        return np.asarray(squared_distances(block, theta).argmin(axis=1))


def squared_distances(block: FloatArray, centres: FloatArray) -> FloatArray:
    """Return the squared distance of each row to each centre.

    From differences: expanding the square would lose the digits of tight clusters far apart.
    """
    distances = np.empty((len(block), len(centres)))
    for k, centre in enumerate(centres):
        distances[:, k] = squared_norms(block - centre)
    return distances


def squared_norms(gaps: FloatArray) -> FloatArray:
    """Return the squared length of each row; one too large for a float is the largest float.

    Such a row has no weight, so that no more need be known of it.
    """
    with np.errstate(over="ignore"):
        squares: FloatArray = np.einsum("ij,ij->i", gaps, gaps)
    return np.minimum(squares, np.finfo(np.float64).max, out=squares)
