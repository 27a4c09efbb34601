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
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from eosparse.core import (
    FloatArray,
    Foresight,
    IntArray,
    Result,
    Trail,
    has_gaps,
    weighted_moments,
    weighted_quantiles,
)
from eosparse.inference import Pull, UpperNormal
from eosparse.models.base import Attempt, Request, TableModel
from eosparse.models.gaps import fill_rows
from eosparse.models.normal import Normal
from eosparse.rows import Sample, Table, check_rows_differ

# Rows that others are compared with: more change the ranking little, and cost as many times more.
_MOST_REFERENCES = 4000
# γ: with 0 sparse regions are outliers, with 1 a row between two groups hardly is.
_LOCALITY = 2 / 3
# Distances much smaller than this, in standard deviations, are ties.
_TIE = 0.01
# Relative differences of distances that are rounding, and distances that are.
_SAME = 1e-9
# Digits of a column by which rows differ.
_DIGITS = 13
# Of the correlation matrix, towards the identity; columns beyond three deviations are drawn in.
_SHRINKAGE, _REACH = 0.05, 3.0
# The correlation of more columns takes too much memory, and their rows tell too little of it.
_MOST_CORRELATED = 4000
# Up to this many columns a tree of the rows is faster than all distances.
_FEW_COLUMNS = 8
# Numbers of a matrix of distances that fit the cache of a processor, about.
_BLOCK_NUMBERS = 2**22


@dataclass(frozen=True)
class Metric:
    """The middle of the bulk, and the symmetric inverse root of its columns' correlation.

    Of thousands of columns, correlation is not taken out, and there is no root.
    """

    middle: FloatArray
    whitening: FloatArray | None

    @classmethod
    def of_rows(cls, rows: FloatArray, mass: FloatArray | None = None) -> Metric:
        """Learn the metric from rows that are believed, and how many rows each counts as."""
        mass = np.ones(len(rows)) if mass is None else mass
        middle = weighted_quantiles(rows, mass, (0.5,))[0]
        is_wide = rows.shape[1] > _MOST_CORRELATED
        return cls(middle, None if is_wide else _whiten_columns(rows - middle, mass))

    @cached_property
    def law(self) -> Normal:
        """The normal law with this middle and correlation."""
        if self.whitening is None:
            return Normal(self.middle, np.ones_like(self.middle))
        return Normal(self.middle, np.linalg.inv(self.whitening @ self.whitening))

    def __call__(self, block: FloatArray) -> FloatArray:
        """Return rows in coordinates whose straight distances count."""
        centred = block - self.middle
        return np.asarray(centred if self.whitening is None else centred @ self.whitening)


@dataclass(frozen=True)
class Neighbours:
    """Rows that others are compared with, their counts, and log distances usual around each."""

    rows: FloatArray
    counts: FloatArray
    usual: FloatArray


@dataclass(frozen=True)
class _Nearest:
    """Distances and numbers of the reference rows nearest to each row, and the share of each."""

    distances: FloatArray
    found: IntArray
    shares: FloatArray

    @property
    def log_distances(self) -> FloatArray:
        """Log of the mean distance."""
        return np.asarray(np.log((self.shares * self.distances).sum(axis=1) + _TIE))

    def log_ratio(self, usual: FloatArray) -> FloatArray:
        """Return how much larger it is than is usual around there."""
        return np.asarray(self.log_distances - _LOCALITY * self.average(usual))

    def average(self, values: FloatArray) -> FloatArray:
        """Return the mean of what the nearest rows have."""
        return np.asarray(np.einsum("ij,ij...->i...", self.shares, values[self.found]))


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
    gaps : Normal or None
        The law by which missing values are expected; None takes that of the metric.

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
    metric: Metric | None = field(default=None, repr=False)
    references: FloatArray | None = field(default=None, repr=False)
    counts: FloatArray | None = field(default=None, repr=False)
    centre: float = 0.0
    spread: float = 1.0
    gaps: Normal | None = field(default=None, repr=False)

    takes_gaps = True
    is_proven = True

    def errors(self, block: FloatArray, theta: Neighbours) -> FloatArray:
        """Return how much farther away its neighbours and the middle are than is usual."""
        white = self._whiten(block)
        found = self._find(white, theta.rows, theta.counts)
        ratio = np.concatenate([near.log_ratio(theta.usual) for near in found])
        return ratio + _find_remoteness(white) if self.has_middle else ratio

    def distances(self, block: FloatArray, theta: Neighbours) -> FloatArray:
        """Return the errors; nothing speaks against rows without any value."""
        errors = super().distances(block, theta)
        return np.where(np.isnan(block).all(axis=1), np.minimum(errors, self.centre), errors)

    def _whiten(self, block: FloatArray) -> FloatArray:
        if self.metric is None:
            raise ValueError("NeighbourModel needs its reference rows; EOSDetector sets them.")
        if has_gaps(block):
            law = self.gaps or self.metric.law
            block = fill_rows(law, block).centred + law.location
        return self.metric(block)

    def accept_gaps(self, law: Normal, share: float) -> NeighbourModel:  # noqa: ARG002  # signature of the base class
        """Return the model for rows with gaps, which hold what is expected there."""
        return replace(self, gaps=law)

    def _find(self, white: FloatArray, rows: FloatArray, counts: FloatArray) -> Iterator[_Nearest]:
        """Yield the nearest reference rows, without the row itself, block by block."""
        size = max(_BLOCK_NUMBERS // len(rows), 1)
        for i in range(0, len(white), size):
            yield _find_nearest(white[i : i + size], rows, counts, self.n_neighbours)

    def statistics(self, block: FloatArray, weights: FloatArray, theta: Neighbours) -> Unchanged:  # noqa: ARG002  # signature of the base class
        """Return θ: it does not follow the weights."""
        return Unchanged(theta)

    def solve(self, statistics: Unchanged) -> Neighbours:
        """Return θ."""
        return statistics.theta

    def foresee(
        self,
        before: Neighbours,  # noqa: ARG002  # signature of the base class
        after: Neighbours,  # noqa: ARG002
        alpha: float,  # noqa: ARG002
        trail: Trail[Neighbours],  # noqa: ARG002
    ) -> Foresight[Neighbours]:
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
        first, numbers = _find_different(sample.values)
        rows = sample.values[first]
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
        found = self._find(self.references, self.references, self.counts)
        usual = np.concatenate([near.log_distances for near in found])
        return Neighbours(self.references, self.counts, usual)

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
        found = list(self._find(white, theta.rows, theta.counts))
        from_nearest = white - np.concatenate([near.average(theta.rows) for near in found])
        if not self.has_middle:
            return np.asarray(from_nearest)
        ratio = np.concatenate([near.log_ratio(theta.usual) for near in found])
        is_lonely = ratio >= _find_remoteness(white)
        return np.where(is_lonely[:, None], from_nearest, white)


def _find_different(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the numbers of different rows, and for each row which of these it is.

    Rows that differ by rounding are equal: sums with effects of levels round.
    """
    largest = np.abs(values).max(axis=0)
    rounded = np.round(values / np.where(largest > 0, largest, 1.0), _DIGITS)
    _, first, numbers = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    return first, numbers


def _find_nearest(white: FloatArray, rows: FloatArray, counts: FloatArray, k: int) -> _Nearest:
    """Return the k nearest rows of each row, and all that are as near as the last of them."""
    search = _search_tree if rows.shape[1] <= _FEW_COLUMNS else _search_all
    n_found = min(k + 2, len(rows))
    while True:
        distances, found = search(white, rows, n_found)
        shares = _share_places(distances, counts[found[:, 0]], k)
        if n_found == len(rows) or not shares[:, -1].any():
            return _Nearest(distances, found, shares / shares.sum(axis=1, keepdims=True))
        n_found = min(2 * n_found, len(rows))


def _share_places(distances: FloatArray, counts: FloatArray, k: int) -> FloatArray:
    """Return how many of the k nearest places each of the rows found has.

    The row's own copies come first, if there are any, and then others. Those equally far share the
    last places: on a grid of rounded values, rounding would choose among them.
    """
    is_itself = distances[:, 0] <= _SAME
    own = np.where(is_itself, np.clip(counts - 1, 0, k), 0)
    left = (k - own)[:, None]
    place = np.arange(distances.shape[1]) - is_itself[:, None]
    is_other = (place >= 0) & (left > 0)
    last = np.where(is_other & (place < left), distances, 0.0).max(axis=1, keepdims=True)
    shares: FloatArray = (is_other & (distances < (1 - _SAME) * last)).astype(np.float64)
    tied = is_other & (shares == 0) & (distances <= (1 + _SAME) * last)
    rest = np.maximum(left - shares.sum(axis=1, keepdims=True), 0.0)
    shares += tied * (rest / np.maximum(tied.sum(axis=1, keepdims=True), 1))
    shares[:, 0] += np.where(shares.sum(axis=1) + own > 0, own, 1.0)  # the only row there is
    return shares


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


def _find_remoteness(white: FloatArray) -> FloatArray:
    """Return how far rows lie from the middle: close to a logarithm, and at most 2."""
    size = np.sqrt(1 + np.square(white).mean(axis=1))
    return np.asarray(2 * (size - 1) / (size + 1))


def _whiten_columns(rows: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the symmetric inverse root of the shrunk correlation, for columns of any scale."""
    drawn_in = np.clip(rows, -_REACH, _REACH)
    scatter = weighted_moments(drawn_in, mass, diagonal=False).scatter
    deviation = np.sqrt(np.diag(scatter))
    deviation = np.where(deviation > 0, deviation, 1.0)
    correlation = (1 - _SHRINKAGE) * scatter / np.outer(deviation, deviation)
    np.fill_diagonal(correlation, 1.0)
    variances, vectors = np.linalg.eigh(correlation)
    return np.asarray((vectors / np.sqrt(variances)) @ vectors.T)


def _fit_upper_half(errors: FloatArray) -> tuple[float, float]:
    """Return centre and spread of a normal law through the 50 to 80 % quantiles."""
    law = UpperNormal.of_errors(errors)
    return law.centre, law.spread
