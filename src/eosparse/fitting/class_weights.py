"""Weights of labelled rows: one simplex per class, or one for all."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from eosparse.core import FloatArray, IntArray, LostClassWarning, optimal_weights, warn_caller

Simplex = Literal["per-class", "single"]
SIMPLEXES: tuple[Simplex, ...] = ("per-class", "single")
# A class that keeps less than this part of its share of the weight counts as lost: a learner then
# hardly sees it.
_LOST = 0.05


def weigh_labelled_rows(
    errors: FloatArray, alpha: float, prior: FloatArray, classes: IntArray, simplex: Simplex
) -> FloatArray:
    """Return the optimal weights, within each class or over all rows; their sum is one.

    Parameters
    ----------
    errors : array of shape (n_samples,)
        Error of each row.
    alpha : float
        Regularisation.
    prior : array of shape (n_samples,)
        Prior weights.
    classes : array of shape (n_samples,)
        Class of each row, as a number from 0.
    simplex : {"per-class", "single"}
        Whether each class keeps its share of the weight.

    Returns
    -------
    array of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> errors, classes = np.array([0.0, 5.0, 9.0, 9.0]), np.array([0, 0, 1, 1])
    >>> weigh_labelled_rows(errors, 1.0, np.ones(4), classes, "per-class").round(2).tolist()
    [0.5, 0.0, 0.25, 0.25]
    >>> weigh_labelled_rows(errors, 1.0, np.ones(4), classes, "single").round(2).tolist()
    [0.99, 0.01, 0.0, 0.0]
    """
    if simplex == "single":
        return optimal_weights(errors, alpha, prior).weights
    weights = np.zeros(len(errors))
    for label in np.unique(classes[prior > 0]):
        mine = classes == label
        share = prior[mine].sum() / prior.sum()
        weights[mine] = share * optimal_weights(errors[mine], alpha, prior[mine]).weights
    return weights


def warn_of_lost_classes(
    weights: FloatArray, classes: IntArray, prior: FloatArray, names: Any
) -> None:
    """Warn if a class lost almost all of its weight.

    Examples
    --------
    >>> import numpy as np
    >>> classes, prior = np.array([0, 0, 1]), np.ones(3)
    >>> warn_of_lost_classes(np.ones(3), classes, prior, np.array(["a", "b"]))
    """
    size = len(names)
    kept = np.bincount(classes, weights, size) / weights.sum()
    had = np.bincount(classes, prior, size) / prior.sum()
    for label in np.flatnonzero((had > 0) & (kept < _LOST * had)):
        warn_caller(
            f"class {names.tolist()[label]!r} keeps {kept[label]:.2g} of the weight, down from "
            f"{had[label]:.2g}: it was taken for noise. Use simplex='per-class' or a larger alpha.",
            LostClassWarning,
        )
