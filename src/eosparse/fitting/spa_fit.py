"""The first step of SPA: a table, and boxes that cover its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import softmax
from sklearn.cluster import kmeans_plusplus

from eosparse.core import BoolArray, FloatArray, IntArray, Result, alternate
from eosparse.models import (
    Boxes,
    BoxSums,
    SPAModel,
    bisect_rows,
    cut_rows,
    find_companions,
    sum_boxes,
)
from eosparse.rows import Labelled, LabelledRows, MemoryRows, as_float64, spread_out

# Pseudo-rows per box that carry the labels of the table: few enough for one row to outweigh them.
_PSEUDO_ROWS = 0.1
# Up to this many numbers (128 MB) columns and affiliations are kept; beyond, each pass computes
# them again, block by block.
_MOST_KEPT = 2**24
# Starts are found on at most this many rows, which is enough for 64 boxes.
_MOST_ROWS_TO_START = 2**17
# More distinct rows are not counted: they suffice for any number of boxes.
_MOST_DISTINCT = 3000
# Sets of columns that go together, each a start of boxes that choose their columns.
_SPARSE_STARTS = 3
# One direction, that of the columns that go together most, has no more groups along it.
_MOST_PIECES = 6
# The objective after so many passes tells which start is best.
_FIRST_PASSES = 4
# Columns with a smaller part of the largest feature weight do not move a start.
_NEGLIGIBLE_WEIGHT = 1e-4
# Feature weights on effectively fewer columns are a collapse: a single column, cut into as many
# pieces as there are boxes, has the smallest error, whatever it is.
_FEWEST_COLUMNS = 1.5

Units = Literal["equal", "own"]
UNITS: tuple[Units, ...] = ("equal", "own")


@dataclass(frozen=True)
class LabelledTable:
    """Rows with classes and prior weights, in working coordinates.

    If features outnumber the rows, there may be fewer working coordinates than features.

    Attributes
    ----------
    raw : array of shape (n_samples, n_features)
        The rows as given.
    columns : callable
        Turns rows into working coordinates.
    classes : array of shape (n_samples,)
        Class of each row, as a number from 0.
    prior : array of shape (n_samples,)
        Prior weights.
    n_classes : int
        Number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> table.class_shares.tolist()
    [0.5, 0.5]
    """

    raw: FloatArray
    columns: Callable[[FloatArray], FloatArray]
    classes: IntArray
    prior: FloatArray
    n_classes: int

    @property
    def n_features(self) -> int:
        """Number of columns of the table."""
        return int(self.raw.shape[1])

    @cached_property
    def rows(self) -> LabelledRows:
        """The rows in working coordinates."""
        rows = LabelledRows(self.raw, self.classes, self.prior, self.columns)
        return keep_in_memory(rows, self.n_features)

    @property
    def values(self) -> FloatArray:
        """Working coordinates, of tables that are small enough to keep them."""
        rows = self.rows
        return rows.prepare(rows.values)

    @property
    def class_shares(self) -> FloatArray:
        """Share of each class in the prior weight."""
        counts = np.bincount(self.classes, self.prior, self.n_classes)
        shares: FloatArray = counts / counts.sum()
        return shares

    @cached_property
    def has_many_values(self) -> BoolArray:
        """Which working coordinates take more than two values."""
        values = self.thin(_MOST_ROWS_TO_START).values
        low, high = values.min(axis=0), values.max(axis=0)
        return np.asarray(((values != low) & (values != high)).any(axis=0))

    @property
    def pseudo_mass(self) -> float:
        """Weight of the pseudo-rows of a box, as a share of all rows."""
        return _PSEUDO_ROWS / float(self.prior.sum())

    def count_distinct(self) -> int:
        """Return the number of distinct rows with a prior weight, or enough if there are many."""
        return len(np.unique(self.thin(_MOST_DISTINCT).values, axis=0))

    def take(self, rows: IntArray) -> LabelledTable:
        """Return some of the rows."""
        return replace(self, raw=self.raw[rows], classes=self.classes[rows], prior=self.prior[rows])

    def thin(self, most: int) -> LabelledTable:
        """Return at most so many of the rows with a prior weight, from all over the table."""
        present = np.flatnonzero(self.prior > 0)
        if len(present) == len(self.prior) <= most:
            return self
        return self.take(present[spread_out(len(present), most)])


def keep_in_memory(rows: LabelledRows, n_columns: int) -> LabelledRows:
    """Prepare all rows at once, if that does not take much memory.

    Examples
    --------
    >>> import numpy as np
    >>> rows = LabelledRows(np.ones((2, 1)), np.array([0, 1]), np.ones(2), lambda block: 2 * block)
    >>> keep_in_memory(rows, 1).values.ravel().tolist()
    [2.0, 2.0]
    """
    if len(rows.values) * n_columns > _MOST_KEPT:
        return rows
    values = MemoryRows(rows.values, None, rows.prepare).map(np.asarray).values
    return replace(rows, values=values, prepare=np.asarray)


@dataclass(frozen=True)
class SPASettings:
    """What determines a fit, except for the weights of the rows.

    The attributes are the parameters of `SPAClassifier`; a temperature of 0 stands for hard
    affiliations.
    """

    n_boxes: int
    temperature: float
    epsilon_label: float
    epsilon_features: float | None
    n_init: int
    tol: float
    max_iter: int
    units: Units = "equal"


@dataclass(frozen=True)
class FittedBoxes:
    """Boxes and how softly rows are affiliated to them.

    Attributes
    ----------
    model : SPAModel
        The error that the boxes were fitted by.
    result : Result
        How the alternation went.
    scatter : float
        Mean squared distance of a row from its box.
    temperatures : dict
        Share of each temperature, in units of the scatter; 0 stands for hard affiliations.
    """

    model: SPAModel
    result: Result[Boxes]
    scatter: float
    temperatures: dict[float, float]

    @property
    def boxes(self) -> Boxes:
        """Centres, labels and feature weights."""
        return self.result.theta

    @property
    def is_collapsed(self) -> bool:
        """Whether learned feature weights hold little more than one column."""
        weights = self.boxes.feature_weights
        if self.model.epsilon_features is None or len(weights) == 1:
            return False
        return float(np.square(weights).sum()) * _FEWEST_COLUMNS > 1.0

    def affiliations(self, values: FloatArray) -> FloatArray:
        """Return Γ ∝ exp(-distance / temperature), the closed form of the paper again.

        Several temperatures are averaged by their shares.
        """
        distances = self.boxes.distances(values)
        parts = (
            share * affiliate(distances, temperature * self.scatter)
            for temperature, share in self.temperatures.items()
        )
        return np.asarray(sum(parts))

    def find_raw_centers(self, table: LabelledTable) -> FloatArray:
        """Return the mean of the rows of each box, in the columns' own units."""

        def sum_block(block: Labelled, prior: FloatArray) -> BoxSums:
            working = Labelled(table.columns(block.values), block.classes)
            own = self.model.affiliations(working, self.boxes)
            return sum_boxes(block, prior, own, self.boxes.labels.shape)

        sums = LabelledRows(table.raw, table.classes, table.prior, as_float64).fold(sum_block)
        # The last step may leave a box without rows: its centre is the mean of all.
        mean = sums.sums.sum(axis=0) / sums.mass.sum()
        filled = sums.mass > 0
        means = sums.sums / np.where(filled, sums.mass, 1.0)[:, None]
        return np.where(filled[:, None], means, mean)


def affiliate(distances: FloatArray, softness: float) -> FloatArray:
    """Return how much rows belong to boxes; without softness, to the nearest one alone.

    Examples
    --------
    >>> import numpy as np
    >>> affiliate(np.array([[0.0, np.log(3.0)]]), 1.0).round(2).tolist()
    [[0.75, 0.25]]
    """
    if softness > 0:
        return np.asarray(softmax(-distances / softness, axis=1))
    nearest = np.zeros_like(distances)
    nearest[np.arange(len(distances)), distances.argmin(axis=1)] = 1.0
    return nearest


def fit_boxes(table: LabelledTable, settings: SPASettings, starts: Iterable[Boxes]) -> FittedBoxes:
    """Fit the boxes to equally weighted rows from each start, and keep the lowest objective.

    After a few passes the best start is known, and only that one is followed to its end, unless it
    ends on a single column.

    Parameters
    ----------
    table : LabelledTable
        The rows.
    settings : SPASettings
        What determines the boxes.
    starts : iterable of Boxes
        As from `find_starts`; at least one.

    Examples
    --------
    >>> import numpy as np
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> settings = SPASettings(2, 1.0, 0.1, None, n_init=1, tol=1e-9, max_iter=50)
    >>> fitted = fit_boxes(table, settings, find_starts(table, settings))
    >>> sorted(fitted.boxes.centers.ravel().tolist())
    [0.5, 8.5]
    """
    first, *others = starts
    if not others:
        return fit_from(table, settings, first)
    rough = replace(settings, max_iter=min(_FIRST_PASSES, settings.max_iter))
    solutions = [fit_from(table, rough, start) for start in (first, *others)]
    # Like a Gaussian on a single point, a single column is no solution unless there is no other.
    solutions.sort(key=lambda found: (found.is_collapsed, found.result.objective))
    ends = (fit_from(table, settings, found.boxes) for found in solutions)
    best = next(ends)
    if not best.is_collapsed:
        return best
    return next((found for found in ends if not found.is_collapsed), best)


def fit_from(table: LabelledTable, settings: SPASettings, start: Boxes) -> FittedBoxes:
    """Fit the boxes from one start.

    Examples
    --------
    >>> import numpy as np
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> settings = SPASettings(2, 1.0, 0.1, None, n_init=1, tol=1e-9, max_iter=50)
    >>> start = Boxes(np.array([[0.0], [9.0]]), np.ones((2, 2)), np.ones(1))
    >>> fit_from(table, settings, start).boxes.centers.ravel().tolist()
    [0.5, 8.5]
    """
    model = SPAModel(
        table.n_features,
        table.class_shares,
        settings.epsilon_label,
        settings.epsilon_features,
        pseudo_mass=table.pseudo_mass,
        is_weighed=None if settings.epsilon_features is None else table.has_many_values,
    )
    first = _make_first_boxes(model, table, start)
    result = alternate(
        model, table.rows, np.inf, first, tol=settings.tol, max_iter=settings.max_iter
    )
    boxes = result.theta  # raises if there is none
    total = table.rows.fold(
        lambda block, prior: np.array([prior @ boxes.distances(block.values).min(axis=1)])
    )
    scatter = float(total[0] / table.prior.sum())
    return FittedBoxes(model, result, scatter, {settings.temperature: 1.0})


def find_starts(
    table: LabelledTable,
    settings: SPASettings,
    random_state: np.random.RandomState | None = None,
) -> list[Boxes]:
    """Return boxes to start from: by bisection in all columns and in some, and at random.

    Examples
    --------
    >>> import numpy as np
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> settings = SPASettings(2, 1.0, 0.1, None, n_init=1, tol=1e-9, max_iter=50)
    >>> [start.centers.ravel().tolist() for start in find_starts(table, settings)]
    [[8.5, 0.5]]
    """
    table = table.thin(_MOST_ROWS_TO_START)
    values, n_columns = table.values, table.values.shape[1]
    equal = np.ones(n_columns)
    starts = [bisect_by(table, equal, settings.n_boxes)]
    if settings.epsilon_features is not None:
        for companions in find_companions(values, table.prior, _SPARSE_STARTS):
            sparse = np.zeros(n_columns)
            sparse[companions] = 1.0
            starts.append(bisect_by(table, sparse, settings.n_boxes))
            if len(starts) == 2 and settings.n_boxes <= _MOST_PIECES:
                starts.append(bisect_by(table, sparse, settings.n_boxes, cut_rows))
    for _ in range(settings.n_init - 1):
        size = min(settings.n_boxes, int(np.count_nonzero(table.prior)))
        centers, _ = kmeans_plusplus(
            values, size, sample_weight=table.prior, random_state=random_state
        )
        starts.append(Boxes(centers, np.ones((size, table.n_classes)), equal))
    return starts


def bisect_by(
    table: LabelledTable,
    feature_weights: FloatArray,
    n_boxes: int,
    find_centers: Callable[[FloatArray, FloatArray, int], FloatArray] = bisect_rows,
) -> Boxes:
    """Return boxes by bisection, or otherwise, of rows whose columns count by these weights.

    Examples
    --------
    >>> import numpy as np
    >>> X, classes = np.array([[0.0, 9.0], [1.0, 0.0], [8.0, 5.0]]), np.array([0, 0, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(3), n_classes=2)
    >>> bisect_by(table, np.array([1.0, 0.0]), 2).centers.tolist()
    [[0.5, 0.0], [8.0, 0.0]]
    """
    table = table.thin(_MOST_ROWS_TO_START)
    counts = feature_weights > _NEGLIGIBLE_WEIGHT * feature_weights.max()
    roots = np.sqrt(feature_weights[counts])
    found = find_centers(table.values[:, counts] * roots, table.prior, n_boxes)
    centers = np.zeros((len(found), len(counts)))
    centers[:, counts] = found / roots
    labels = np.ones((len(found), table.n_classes))
    return Boxes(centers, labels, np.where(counts, feature_weights, 0.0))


def _make_first_boxes(model: SPAModel, table: LabelledTable, around: Boxes) -> Boxes:
    """Return boxes of the rows nearest to each centre."""
    shape = around.labels.shape

    def sum_block(block: Labelled, prior: FloatArray) -> BoxSums:
        return sum_boxes(block, prior, around.distances(block.values).argmin(axis=1), shape)

    rows = replace(table.rows, prior=table.prior / table.prior.sum())
    return model.solve(rows.fold(sum_block))
