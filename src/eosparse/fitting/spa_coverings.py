"""The second step of SPA: rows are affiliated to boxes, and boxes learn their labels.

A covering is a set of boxes. Several of them, each with a share, are one larger set of boxes: a row
is affiliated to the boxes of a covering by its distances, times the share of the covering. Labels,
weights and predictions only see affiliations, so they are the same for one covering and for many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from eosparse.core import FloatArray, Result, alternate, solve_from_prior
from eosparse.fitting.class_weights import Simplex
from eosparse.fitting.spa_fit import (
    FittedBoxes,
    LabelledTable,
    SPASettings,
    fit_from,
    keep_in_memory,
)
from eosparse.models import BoxLabelModel
from eosparse.rows import LabelledRows


@dataclass(frozen=True)
class Covering:
    """Boxes that cover the rows, and how much they count beside other coverings.

    Attributes
    ----------
    settings : SPASettings
        How they were fitted.
    columns : callable
        Turns rows into the coordinates of the boxes.
    fitted : FittedBoxes
        The boxes.
    share : float
        Shares of all coverings sum to one.
    """

    settings: SPASettings
    columns: Callable[[FloatArray], FloatArray]
    fitted: FittedBoxes
    share: float = 1.0

    @property
    def n_boxes(self) -> int:
        """Number of boxes."""
        return len(self.fitted.boxes.centers)

    def refine(self, table: LabelledTable, epsilon_label: float) -> Covering:
        """Return the covering fitted on to all rows, in the same coordinates, and to labels."""
        settings = replace(self.settings, epsilon_label=epsilon_label)
        fitted = fit_from(table, settings, self.fitted.boxes)
        fitted = replace(fitted, temperatures=self.fitted.temperatures)
        return replace(self, settings=settings, fitted=fitted)


@dataclass(frozen=True)
class Coverings:
    """Coverings as one set of boxes, whose shares sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.fitting.spa_fit import find_starts, fit_boxes
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> settings = SPASettings(2, 1.0, 0.0, None, n_init=1, tol=1e-9, max_iter=50)
    >>> boxes = fit_boxes(table, settings, find_starts(table, settings))
    >>> both = Coverings((Covering(settings, np.asarray, boxes, 0.5),) * 2)
    >>> both(np.array([[0.5]])).round(2).tolist()  # the box of this row is the second
    [[0.0, 0.5, 0.0, 0.5]]
    """

    parts: tuple[Covering, ...]

    @cached_property
    def box_shares(self) -> FloatArray:
        """Share of the covering of each box."""
        return np.repeat([part.share for part in self.parts], [part.n_boxes for part in self.parts])

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the affiliations of rows to all boxes, which sum to one."""
        affiliations = [
            part.share * part.fitted.affiliations(part.columns(values)) for part in self.parts
        ]
        return np.hstack(affiliations)

    def affiliate(self, table: LabelledTable) -> LabelledRows:
        """Return the rows of a table with affiliations as their values."""
        rows = LabelledRows(table.raw, table.classes, table.prior, self)
        return keep_in_memory(rows, len(self.box_shares))

    def model_labels(self, table: LabelledTable) -> BoxLabelModel:
        """Return the error of labels; pseudo-rows count by the shares, as all rows do."""
        return BoxLabelModel(table.class_shares, pseudo_mass=table.pseudo_mass * self.box_shares)


def fit_labels(
    table: LabelledTable,
    coverings: Coverings,
    alpha: float,
    simplex: Simplex,
    *,
    tol: float,
    max_iter: int,
) -> tuple[Result[FloatArray], FloatArray]:
    """Fit the label probabilities of the boxes to rows that are weighed by their label errors.

    Returns
    -------
    tuple of Result and array of shape (n_samples,)
        The label probabilities, and the error of the label of every row, also of those without
        prior weight.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.fitting.spa_fit import find_starts, fit_boxes
    >>> X, classes = np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> table = LabelledTable(X, np.asarray, classes, np.ones(4), n_classes=2)
    >>> settings = SPASettings(2, 1.0, 0.0, None, n_init=1, tol=1e-9, max_iter=50)
    >>> boxes = fit_boxes(table, settings, find_starts(table, settings))
    >>> coverings = Coverings((Covering(settings, np.asarray, boxes),))
    >>> result, errors = fit_labels(table, coverings, np.inf, "single", tol=1e-9, max_iter=50)
    >>> result.theta.round(2).tolist(), errors.round(1).tolist()
    ([[0.02, 0.98], [0.98, 0.02]], [0.1, 0.1, 0.1, 0.1])
    """
    model, affiliations = coverings.model_labels(table), coverings.affiliate(table)
    shares = table.prior / table.prior.sum()
    start = solve_from_prior(model, replace(affiliations, prior=shares))
    rows = affiliations.group_by_class() if simplex == "per-class" else affiliations
    result = alternate(model, rows, alpha, start, tol=tol, max_iter=max_iter)
    labels = result.theta
    everyone = replace(affiliations, prior=np.ones(len(table.prior)))
    errors = np.concatenate(everyone.fold(lambda block, _: [model.errors(block, labels)]))
    return result, errors
