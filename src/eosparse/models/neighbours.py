"""Local distances: a row belongs if other rows are as close to it as they are to each other.

    g(x, θ) = log r(x) - γ · mean of log r over the k rows nearest to x + 2 (a - 1) / (a + 1)

where r(x) is the mean distance from x to its k nearest rows, and a² = 1 + d²(x) / D with the
distance d(x) from the middle of the bulk in D coordinates. The second term is what is usual around
there, so that sparse regions are not outliers as such. The last one, close to log a and bounded,
tells a group of wrong rows, which are close to each other, from groups nearer to the middle. No
shape of the bulk is asked for: groups, curves, heaps and ties are all neighbours.

θ are the rows that others are compared with: different rows of a sample, which keeps the cost
linear in the rows of the table. A row that is itself among them is not compared with itself, so
that training rows and new rows are judged alike; its own copies are its nearest rows, beside which
other rows that occur many times count once.
Distances are taken in the metric of rows that are believed: their correlation is taken out, shrunk
a little, since ties make it singular.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from eosparse.core import FloatArray, Foresight, IntArray, Result
from eosparse.inference import Pull, UpperNormal
from eosparse.models.base import Attempt, Request, TableModel
from eosparse.rows import Sample, Table, check_rows_differ

# Rows that others are compared with: more change the ranking little, and cost as many times more.
_MOST_REFERENCES = 4000
# γ: with 0 sparse regions are outliers, with 1 a row between two groups hardly is.
_LOCALITY = 2 / 3
# Distances much smaller than this, in standard deviations, are ties.
_TIE = 0.01
# Of the correlation matrix, towards the identity; columns beyond three deviations are drawn in.
_SHRINKAGE, _REACH = 0.05, 3.0
# Up to this many columns a tree of the rows is faster than all distances.
_FEW_COLUMNS = 8
# Numbers of a matrix of distances that fit the cache of a processor, about.
_BLOCK_NUMBERS = 2**22


@dataclass(frozen=True)
class Metric:
    """The middle of the bulk, and the symmetric inverse root of its columns' correlation."""

    middle: FloatArray
    whitening: FloatArray

    @classmethod
    def of_rows(cls, rows: FloatArray) -> Metric:
        """Learn the metric from rows that are believed."""
        middle = np.median(rows, axis=0)
        return cls(middle, _whiten_columns(rows - middle))

    def __call__(self, block: FloatArray) -> FloatArray:
        """Return rows in coordinates whose straight distances count."""
        return np.asarray((block - self.middle) @ self.whitening)


@dataclass(frozen=True)
class Neighbours:
    """Rows that others are compared with, their counts, and log distances usual around each."""

    rows: FloatArray
    counts: FloatArray
    usual: FloatArray


@dataclass(frozen=True)
class Unchanged:
    """Statistics of a model whose θ does not depend on the weights."""

    theta: Neighbours

    def scale(self, factor: float) -> Unchanged:  # noqa: ARG002  # no sums
        """Return itself."""
        return self

    def __add__(self, other: Unchanged) -> Unchanged:
        return self


@dataclass(frozen=True)
class NeighbourModel(TableModel[Neighbours, Unchanged]):
    """Error model of local distances; θ are `Neighbours`.

    Attributes
    ----------
    n_neighbours : int
        k.
    has_middle : bool
        Whether the distance from the middle counts; without it, groups are all alike.
    metric : Metric or None
        How distances are taken; None learns it from all rows. `complete` sets this and everything
        below.
    references : array of shape (n_references, n_features) or None
        Rows that others are compared with, whitened.
    counts : array of shape (n_references,) or None
        How often each of them occurs.
    centre, spread : float
        Middle and spread of the errors, from the upper half of the rows; the law.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 500)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.05, (500, 2))
    >>> X[0] = 0.0  # in the middle of a ring
    >>> np.flatnonzero(EOSDetector(model="local").fit(X).is_outlier_).tolist()
    [0]
    """

    n_neighbours: int = 10
    has_middle: bool = True
    metric: Metric | None = None
    references: FloatArray | None = None
    counts: FloatArray | None = None
    centre: float = 0.0
    spread: float = 1.0

    is_proven = True

    def errors(self, block: FloatArray, theta: Neighbours) -> FloatArray:
        """Return how much farther away its neighbours and the middle are than is usual."""
        white = self._whiten(block)
        distances, found = self._find(white, theta.rows, theta.counts)
        ratio = _log_ratio(distances, theta.usual[found])
        return ratio + _find_remoteness(white) if self.has_middle else ratio

    def _whiten(self, block: FloatArray) -> FloatArray:
        if self.metric is None:
            raise ValueError("NeighbourModel needs its reference rows; EOSDetector sets them.")
        return self.metric(block)

    def _find(
        self, white: FloatArray, rows: FloatArray, counts: FloatArray
    ) -> tuple[FloatArray, IntArray]:
        """Return distances and numbers of the nearest reference rows, without the row itself."""
        size = max(_BLOCK_NUMBERS // len(rows), 1)
        parts = [
            _find_nearest(white[i : i + size], rows, counts, self.n_neighbours)
            for i in range(0, len(white), size)
        ]
        distances, found = zip(*parts, strict=True)
        return np.concatenate(distances), np.concatenate(found)

    def statistics(self, block: FloatArray, weights: FloatArray, theta: Neighbours) -> Unchanged:  # noqa: ARG002  # signature of the base class
        """Return θ: it does not follow the weights."""
        return Unchanged(theta)

    def solve(self, statistics: Unchanged) -> Neighbours:
        """Return θ."""
        return statistics.theta

    def foresee(self, before: Neighbours, after: Neighbours, alpha: float) -> Foresight[Neighbours]:  # noqa: ARG002  # signature of the base class
        """Return that a second pass would change nothing."""
        return Foresight(0.0, None)

    # What is left open

    def sample_size(self, table: Table) -> int:  # noqa: ARG002  # signature of the base class
        """Return as many rows as others are compared with."""
        return _MOST_REFERENCES

    def complete(self, sample: Sample) -> NeighbourModel:
        """Return the model with reference rows, whitening and law."""
        if (sample.values == sample.values[0]).all():
            check_rows_differ(sample)
        rows, numbers = np.unique(sample.values, axis=0, return_inverse=True)
        counts = np.bincount(numbers.ravel(), sample.mass).astype(np.float64)
        # In a table of a few levels all rows occur often; only multiples are a table several times.
        if np.allclose(counts / sample.copies, np.round(counts / sample.copies)):
            counts = counts / sample.copies
        metric = self.metric or Metric.of_rows(rows)
        model = replace(
            self,
            n_neighbours=max(min(self.n_neighbours, (len(rows) - 1) // 2), 1),
            metric=metric,
            references=metric(rows),
            counts=counts,
        )
        centre, spread = _fit_upper_half(model.errors(rows, model.start()))
        return replace(model, centre=centre, spread=spread)

    def start(self) -> Neighbours:
        """Return the reference rows with what is usual around each."""
        assert self.references is not None
        assert self.counts is not None
        distances, _ = self._find(self.references, self.references, self.counts)
        return Neighbours(self.references, self.counts, _log_mean(distances))

    def start_from(self, rows: Table) -> Neighbours:  # noqa: ARG002  # signature of the base class
        """Return the reference rows: they do not depend on prior weights."""
        return self.start()

    def propose(self, sample: Sample, request: Request) -> Iterator[Attempt[Neighbours]]:  # noqa: ARG002  # signature of the base class
        """Yield the only way to fit: α is one spread of the errors."""
        alpha = self.spread if isinstance(request.alpha, str) else request.alpha
        yield Attempt(self, alpha, self.start())

    # Reading a fit

    def find_law(self, result: Result[Neighbours], pull: Pull, distances: Table) -> UpperNormal:  # noqa: ARG002  # signature of the base class
        """Return the normal law of the upper half of the errors."""
        return UpperNormal(self.centre, self.spread)

    def deviations(self, block: FloatArray, theta: Neighbours, alpha: float) -> FloatArray:  # noqa: ARG002  # signature of the base class
        """Return the difference, in each whitened column, from what a row is far away from.

        That is the mean of the nearest rows, or the middle.
        """
        white = self._whiten(block)
        distances, found = self._find(white, theta.rows, theta.counts)
        from_nearest = np.asarray(white - theta.rows[found].mean(axis=1))
        if not self.has_middle:
            return from_nearest
        is_lonely = _log_ratio(distances, theta.usual[found]) >= _find_remoteness(white)
        return np.where(is_lonely[:, None], from_nearest, white)


def _find_nearest(
    white: FloatArray, rows: FloatArray, counts: FloatArray, k: int
) -> tuple[FloatArray, IntArray]:
    """Return the k nearest rows of each row: its own copies, if any, and then others."""
    n_found = min(k + 1, len(rows))
    search = _search_tree if rows.shape[1] <= _FEW_COLUMNS else _search_all
    distances, found = search(white, rows, n_found)
    is_itself = distances[:, 0] == 0
    copies = np.where(is_itself, np.maximum(counts[found[:, 0]] - 1, 0), 0).astype(np.intp)
    # Places among the rows found: copies of itself, then the others.
    places = np.arange(max(n_found - 1, 1)) - copies[:, None]
    places = np.where(places < 0, 0, np.minimum(places + is_itself[:, None], n_found - 1))
    return np.take_along_axis(distances, places, axis=1), np.take_along_axis(found, places, axis=1)


def _search_tree(white: FloatArray, rows: FloatArray, n_found: int) -> tuple[FloatArray, IntArray]:
    distances, found = (np.asarray(part) for part in cKDTree(rows).query(white, n_found))
    return distances.reshape(len(white), -1), found.reshape(len(white), -1)


def _search_all(white: FloatArray, rows: FloatArray, n_found: int) -> tuple[FloatArray, IntArray]:
    rough = np.einsum("ij,ij->i", rows, rows) - 2 * (white @ rows.T)  # less each row's own square
    found = np.argpartition(rough, n_found - 1, axis=1)[:, :n_found]
    # Squares of differences, for equal rows have distance zero there, and not to rounding.
    squares = np.square(white[:, None, :] - rows[found]).sum(axis=2)
    order = np.argsort(squares, axis=1, kind="stable")
    distances = np.sqrt(np.take_along_axis(squares, order, axis=1))
    return distances, np.take_along_axis(found, order, axis=1)


def _log_mean(distances: FloatArray) -> FloatArray:
    return np.asarray(np.log(distances.mean(axis=1) + _TIE))


def _log_ratio(distances: FloatArray, usual: FloatArray) -> FloatArray:
    return np.asarray(_log_mean(distances) - _LOCALITY * usual.mean(axis=1))


def _find_remoteness(white: FloatArray) -> FloatArray:
    """Return how far rows lie from the middle: close to a logarithm, and at most 2."""
    size = np.sqrt(1 + np.square(white).mean(axis=1))
    return np.asarray(2 * (size - 1) / (size + 1))


def _whiten_columns(rows: FloatArray) -> FloatArray:
    """Return the symmetric inverse root of the shrunk correlation, for columns of any scale."""
    drawn_in = np.clip(rows, -_REACH, _REACH)
    around = drawn_in - drawn_in.mean(axis=0)
    deviation = np.sqrt(np.square(around).mean(axis=0))
    around /= np.where(deviation > 0, deviation, 1.0)
    correlation = (1 - _SHRINKAGE) * (around.T @ around) / len(rows)
    np.fill_diagonal(correlation, 1.0)
    variances, vectors = np.linalg.eigh(correlation)
    return np.asarray((vectors / np.sqrt(variances)) @ vectors.T)


def _fit_upper_half(errors: FloatArray) -> tuple[float, float]:
    """Return centre and spread of a normal law through the 50 to 80 % quantiles."""
    law = UpperNormal.of_errors(errors)
    return law.centre, law.spread
