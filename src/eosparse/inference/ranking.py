"""How well scores rank rows: the area under the ROC curve, with weighted rows."""

from __future__ import annotations

import numpy as np

from eosparse.core import BoolArray, FloatArray, IntArray


def area_under_curve(is_positive: BoolArray, scores: FloatArray, mass: FloatArray) -> float:
    """Chance that a positive row scores higher than another; ties count half.

    Not a number where all rows are of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> truth, mass = np.array([True, False, True]), np.ones(3)
    >>> area_under_curve(truth, np.array([0.9, 0.5, 0.5]), mass)
    0.75
    """
    _, level = np.unique(scores, return_inverse=True)
    positive = np.bincount(level, mass * is_positive)
    negative = np.bincount(level, mass * ~is_positive)
    below = np.cumsum(negative) - 0.5 * negative
    pairs = float(positive.sum() * negative.sum())
    return float(positive @ below) / pairs if pairs > 0 else float("nan")


def mean_area(probabilities: FloatArray, classes: IntArray, mass: FloatArray) -> float:
    """Area under the curve of each class against the others, averaged by their shares."""
    present = np.unique(classes[mass > 0])
    members = [classes == label for label in present]
    areas = [
        area_under_curve(mine, probabilities[:, label], mass)
        for mine, label in zip(members, present, strict=True)
    ]
    return float(np.average(areas, weights=[mass[mine].sum() for mine in members]))
