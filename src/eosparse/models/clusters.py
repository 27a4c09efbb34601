"""The error of k-means: the squared distance to the nearest of K centres.

    g(x, μ) = min_k |x - μ_k|²

Its weighted fit is a step of Lloyd's algorithm: with the rows assigned to their nearest centre, the
weighted mean of each cluster. The minimum over k at the new centres is no larger than the distance
to the centre of the old assignment, so the objective falls in every step. A cluster without weight
keeps its centre. With K = 1, EOS is Gaussian mean shift with the squared bandwidth α/2.

The middle of two equal rows is a fixed point that is not stable if α is small: a step turns a
deviation ε into up to 2d²ε/α, where d is the distance of the rows from it. Rounding would grow
until it decides which of the rows the cluster keeps, so a step that is rounding is not taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from eosparse.core import FloatArray, IntArray, check_whole
from eosparse.models.base import TableModel
from eosparse.models.cluster_starts import cluster_starts
from eosparse.models.lengths import TIE, drop_rounding, squared_distances, squared_norms
from eosparse.models.spa import sum_by_class
from eosparse.rows import Sample, Table, take_sample

# Steps below this part of a cluster's spread are rounding, grown once. Along a true step of this
# size the objective falls by the square of it, which floats do not show.
_STANDSTILL = 1e-8


@dataclass(frozen=True)
class ClusterSums:
    """Weight of each cluster, and weighted sums of its rows' deviations from the old centre.

    Deviations, not rows: columns far from zero lose no digits. Sums of disjoint rows merge by
    ``+``.
    """

    before: FloatArray
    mass: FloatArray
    deviations: FloatArray
    squares: FloatArray

    def scale(self, factor: float) -> ClusterSums:
        """Return the sums as if every weight had been multiplied by `factor`."""
        sums = (self.mass, self.deviations, self.squares)
        return ClusterSums(self.before, *(total * factor for total in sums))

    def __add__(self, other: ClusterSums) -> ClusterSums:
        return ClusterSums(
            self.before,
            self.mass + other.mass,
            self.deviations + other.deviations,
            self.squares + other.squares,
        )


@dataclass(frozen=True)
class ClusterModel(TableModel[FloatArray, ClusterSums]):
    """Error model of robust k-means; θ are the centres, an array of shape (K, D).

    Attributes
    ----------
    n_clusters : int or None
        K, for the starts; None means 8, or one per ten rows if that is fewer.
    smallest_size : float
        Effective number of rows below which a solution counts as collapsed.
    rounding : float
        Errors up to this size are mere rounding, and count as zero.
    column_rounding : array of shape (n_features,) or None
        Squared rounding of each column. Errors that it can explain count as zero too.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alternate
    >>> from eosparse.models import ClusterModel
    >>> from eosparse.rows import MemoryRows
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [500.0]])
    >>> start = np.array([[0.0], [10.0]])
    >>> alternate(ClusterModel(), MemoryRows(X), 5.0, start).theta.ravel().round(6).tolist()
    [0.5, 10.5]
    """

    n_clusters: int | None = None
    smallest_size: float = 1.0
    rounding: float = field(default=0.0, repr=False)
    column_rounding: FloatArray | None = field(default=None, repr=False, compare=False)

    is_proven = True
    is_squared = True

    def errors(self, block: FloatArray, theta: FloatArray) -> FloatArray:
        """Return the squared distance of each row to its nearest centre."""
        nearest: FloatArray = squared_distances(block, theta).min(axis=1)
        if self.column_rounding is not None:
            near = np.flatnonzero(nearest <= self.column_rounding.sum())
            gaps = np.square(self.deviations(block[near], theta, np.inf))
            nearest[near[(gaps <= self.column_rounding).all(axis=1)]] = 0.0
        return drop_rounding(nearest, self.rounding)

    def statistics(self, block: FloatArray, weights: FloatArray, theta: FloatArray) -> ClusterSums:
        """Return weight and deviations of each cluster."""
        clusters = self.assign(block, theta)
        deviations = block - theta[clusters]
        mass = np.bincount(clusters, weights, len(theta)).astype(np.float64)
        squares = np.bincount(clusters, weights * squared_norms(deviations), len(theta))
        deviations *= weights[:, None]
        sums = sum_by_class(deviations, clusters, len(theta))
        return ClusterSums(theta, mass, sums, squares.astype(np.float64))

    def solve(self, statistics: ClusterSums) -> FloatArray:
        """Return the weighted means; an empty cluster, or one at its mean, stays where it is."""
        mass = statistics.mass[:, None]
        steps = np.divide(statistics.deviations, mass, out=np.zeros_like(statistics.before),
                          where=mass > 0)  # fmt: skip
        spread = _STANDSTILL**2 * statistics.squares
        steps[squared_norms(steps) * statistics.mass <= spread] = 0.0
        centres: FloatArray = statistics.before + steps
        return centres

    def assign(self, block: FloatArray, theta: FloatArray) -> IntArray:
        """Return the number of the nearest centre of each row, the first of those tied.

        On a grid of rounded values many rows lie halfway between two centres, and rounding would
        decide which of them they move.
        """
        distances = squared_distances(block, theta)
        nearest = distances.min(axis=1, keepdims=True)
        return np.asarray((distances - nearest <= TIE * nearest).argmax(axis=1))

    def complete(self, sample: Sample) -> ClusterModel:
        """Return the model with its number of clusters, checked."""
        if self.n_clusters is None:
            # scikit-learn's default, with rows enough for a mean.
            return replace(self, n_clusters=int(min(8, max(sample.n_rows // 10, 1))))
        check_whole("n_clusters", self.n_clusters, 1)
        n_present = max(float(np.count_nonzero(sample.mass)), sample.n_rows)
        if self.n_clusters > n_present:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the n_samples={n_present:g} rows."
            )
        return self

    def starts(self, sample: Sample) -> Iterator[FloatArray]:
        """Yield guesses; centres are repeated where too few rows are distinct."""
        size = self.n_determining(sample.values.shape[1])
        for start in cluster_starts(sample.values, sample.mass, size):
            yield start[np.arange(size) % len(start)]

    def start_from(self, rows: Table) -> FloatArray:
        """Return the first guess for rows with these prior weights."""
        sample = take_sample(rows, self.sample_size(rows))
        return next(self.starts(replace(sample, values=rows.prepare(sample.values))))

    def round_off(self, rounding: float, columns: FloatArray) -> ClusterModel:
        """Return the model for which errors that rounding can explain are zero."""
        return replace(self, rounding=rounding, column_rounding=columns)

    def n_determining(self, n_features: int) -> int:  # noqa: ARG002  # signature of the base class
        """Return K: so many rows can each have a centre to themselves."""
        if self.n_clusters is None:
            raise ValueError("n_clusters is not set. Pass the number of clusters.")
        return self.n_clusters

    def is_full(self, theta: FloatArray, values: FloatArray, weights: FloatArray) -> bool:
        """Whether each cluster has about the weight of a row or more."""
        clusters = self.assign(values, theta)
        return bool((np.bincount(clusters, weights, len(theta)) > 0.5).all())

    def deviations(self, block: FloatArray, theta: FloatArray, alpha: float) -> FloatArray:  # noqa: ARG002  # signature of the base class
        """Return the difference between each row and its nearest centre."""
        return np.asarray(block - theta[self.assign(block, theta)])
