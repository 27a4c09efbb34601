"""The steps of SPA: boxes, affiliations and labels of boxes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import softmax
from sklearn.cluster import kmeans_plusplus

from eosparse.core import FloatArray, IntArray, Result, alternate, solve_from_prior
from eosparse.fitting.class_weights import Simplex
from eosparse.models import Boxes, BoxLabelModel, BoxSums, SPAModel, bisect_rows, sum_boxes
from eosparse.rows import Chain, Labelled, LabelledRows, MemoryRows, as_float64, spread_out

# Pseudo-rows per box that carry the labels of the table: few enough for one row to outweigh them.
_PSEUDO_ROWS = 0.1
# Up to this many numbers (128 MB) columns and affiliations are kept; beyond, each pass computes
# them again, block by block.
_MOST_KEPT = 2**24
# Starts are found on at most this many rows, which is enough for 64 boxes.
_MOST_ROWS_TO_START = 2**17


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
        return _keep_in_memory(rows, self.n_features)

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

    @property
    def label_model(self) -> BoxLabelModel:
        """Error model of the labels of boxes."""
        return BoxLabelModel(self.class_shares, pseudo_mass=self.pseudo_mass)

    @property
    def pseudo_mass(self) -> float:
        """Weight of the pseudo-rows of a box, as a share of all rows."""
        return _PSEUDO_ROWS / float(self.prior.sum())

    def affiliate(self, fitted: FittedBoxes) -> LabelledRows:
        """Return rows whose values are the affiliations to boxes."""
        rows = replace(self.rows, prepare=Chain(self.rows.prepare, fitted.affiliations))
        return _keep_in_memory(rows, len(fitted.boxes.centers))

    def take(self, rows: IntArray) -> LabelledTable:
        """Return some of the rows."""
        return replace(self, raw=self.raw[rows], classes=self.classes[rows], prior=self.prior[rows])

    def thin(self, most: int) -> LabelledTable:
        """Return at most so many of the rows with a prior weight, from all over the table."""
        present = np.flatnonzero(self.prior > 0)
        if len(present) == len(self.prior) <= most:
            return self
        return self.take(present[spread_out(len(present), most)])


def _keep_in_memory(rows: LabelledRows, n_columns: int) -> LabelledRows:
    """Prepare all rows at once, if that does not take much memory."""
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


@dataclass(frozen=True)
class FittedBoxes:
    """Boxes and how softly rows are affiliated to them.

    Attributes
    ----------
    model : SPAModel
        The error that the boxes were fitted by.
    result : Result
        How the alternation went.
    softness : float
        Temperature in units of squared distance; 0 for hard affiliations.
    """

    model: SPAModel
    result: Result[Boxes]
    softness: float

    @property
    def boxes(self) -> Boxes:
        """Centres, labels and feature weights."""
        return self.result.theta

    def affiliations(self, values: FloatArray) -> FloatArray:
        """Return Γ ∝ exp(-distance / softness), the closed form of the paper again.

        Without softness, rows belong to the nearest box alone.
        """
        distances = self.boxes.distances(values)
        if self.softness > 0:
            affiliations: FloatArray = softmax(-distances / self.softness, axis=1)
            return affiliations
        nearest = np.zeros_like(distances)
        nearest[np.arange(len(values)), distances.argmin(axis=1)] = 1.0
        return nearest

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


def fit_boxes(
    table: LabelledTable, settings: SPASettings, random_state: np.random.RandomState
) -> FittedBoxes:
    """Fit the boxes to equally weighted rows from each start, and keep the lowest objective.

    Examples
    --------
    >>> import numpy as np
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> settings = SPASettings(2, 1.0, 0.1, None, n_init=1, tol=1e-9, max_iter=50)
    >>> fitted = fit_boxes(table, settings, np.random.RandomState(0))
    >>> sorted(fitted.boxes.centers.ravel().tolist())
    [0.5, 8.5]
    """
    model = SPAModel(
        table.n_features,
        table.class_shares,
        settings.epsilon_label,
        settings.epsilon_features,
        pseudo_mass=table.pseudo_mass,
    )
    results = []
    for centers in _generate_centers(table, settings, random_state):
        start = _make_first_boxes(model, table, centers)
        result = alternate(
            model, table.rows, np.inf, start, tol=settings.tol, max_iter=settings.max_iter
        )
        _ = result.theta  # raises if there is none
        results.append(result)
    best = min(results, key=lambda result: result.objective)
    total = table.rows.fold(
        lambda block, prior: np.array([prior @ best.theta.distances(block.values).min(axis=1)])
    )
    return FittedBoxes(model, best, settings.temperature * float(total[0] / table.prior.sum()))


def _generate_centers(
    table: LabelledTable, settings: SPASettings, random_state: np.random.RandomState
) -> Iterator[FloatArray]:
    """Yield centres to start from: by bisection first, then at random."""
    table = table.thin(_MOST_ROWS_TO_START)
    values = table.values
    yield bisect_rows(values, table.prior, settings.n_boxes)
    for _ in range(settings.n_init - 1):
        size = min(settings.n_boxes, np.count_nonzero(table.prior))
        yield kmeans_plusplus(values, size, sample_weight=table.prior, random_state=random_state)[0]


def _make_first_boxes(model: SPAModel, table: LabelledTable, centers: FloatArray) -> Boxes:
    """Return boxes around the rows nearest to each centre."""
    shape = (len(centers), table.n_classes)
    around = Boxes(centers, np.ones(shape), model.equal_weights(centers.shape[1]))

    def sum_block(block: Labelled, prior: FloatArray) -> BoxSums:
        return sum_boxes(block, prior, around.distances(block.values).argmin(axis=1), shape)

    rows = replace(table.rows, prior=table.prior / table.prior.sum())
    return model.solve(rows.fold(sum_block))


def fit_plain_labels(table: LabelledTable, affiliations: LabelledRows) -> FloatArray:
    """Return the label probabilities of the boxes, from equally weighted rows.

    Examples
    --------
    >>> import numpy as np
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> settings = SPASettings(2, 1.0, 0.1, None, n_init=1, tol=1e-9, max_iter=50)
    >>> fitted = fit_boxes(table, settings, np.random.RandomState(0))
    >>> fit_plain_labels(table, table.affiliate(fitted)).round(2).tolist()
    [[0.02, 0.98], [0.98, 0.02]]
    """
    shares = table.prior / table.prior.sum()
    return solve_from_prior(table.label_model, replace(affiliations, prior=shares))


def fit_labels(
    table: LabelledTable,
    affiliations: LabelledRows,
    alpha: float,
    simplex: Simplex,
    *,
    tol: float,
    max_iter: int,
) -> Result[FloatArray]:
    """Fit the label probabilities of the boxes to rows that are weighed by their label errors.

    Examples
    --------
    >>> import numpy as np
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> settings = SPASettings(2, 1.0, 0.1, None, n_init=1, tol=1e-9, max_iter=50)
    >>> fitted = fit_boxes(table, settings, np.random.RandomState(0))
    >>> rows = table.affiliate(fitted)
    >>> result = fit_labels(table, rows, np.inf, "single", tol=1e-9, max_iter=50)
    >>> result.theta.round(2).tolist()
    [[0.02, 0.98], [0.98, 0.02]]
    """
    start = fit_plain_labels(table, affiliations)
    rows = affiliations.group_by_class() if simplex == "per-class" else affiliations
    return alternate(table.label_model, rows, alpha, start, tol=tol, max_iter=max_iter)


def compute_label_errors(
    table: LabelledTable, affiliations: LabelledRows, labels: FloatArray
) -> FloatArray:
    """Return the error of the label of every row, also of those without prior weight.

    Examples
    --------
    >>> import numpy as np
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> settings = SPASettings(2, 1.0, 0.1, None, n_init=1, tol=1e-9, max_iter=50)
    >>> fitted = fit_boxes(table, settings, np.random.RandomState(0))
    >>> rows = table.affiliate(fitted)
    >>> compute_label_errors(table, rows, np.array([[0.1, 0.9], [0.9, 0.1]])).round(1).tolist()
    [0.2, 0.2, 0.2, 0.2]
    """
    everyone = replace(affiliations, prior=np.ones(len(table.prior)))
    model = table.label_model
    return np.concatenate(everyone.fold(lambda block, _: [model.errors(block, labels)]))
