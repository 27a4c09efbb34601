"""Weights of labelled rows: one simplex per class, or one for all."""

from __future__ import annotations

import numpy as np

from eosparse.core import FloatArray, IntArray, LostClassWarning, optimal_weights, warn_caller

# A class that keeps less than this part of its share of the weight counts as lost.
_LOST = 0.05


def grouped_weights(
    errors: FloatArray, alpha: float, prior: FloatArray, classes: IntArray | None
) -> FloatArray:
    """Return the closed form, within each class if classes are given; the sum is one."""
    if classes is None:
        return optimal_weights(errors, alpha, prior).weights
    weights = np.zeros(len(errors))
    for label in np.unique(classes[prior > 0]):
        mine = classes == label
        share = prior[mine].sum() / prior.sum()
        weights[mine] = share * optimal_weights(errors[mine], alpha, prior[mine]).weights
    return weights


def warn_of_lost_classes(
    weights: FloatArray, classes: IntArray, prior: FloatArray, names: FloatArray
) -> None:
    """Warn if a class lost almost all of its weight."""
    size = len(names)
    kept = np.bincount(classes, weights, size) / weights.sum()
    had = np.bincount(classes, prior, size) / prior.sum()
    for label in np.flatnonzero((had > 0) & (kept < _LOST * had)):
        warn_caller(
            f"class {names.tolist()[label]!r} keeps {kept[label]:.2g} of the weight, down from "
            f"{had[label]:.2g}: it was taken for noise. Use simplex='per-class' or a larger alpha.",
            LostClassWarning,
        )
