"""How well scores rank rows: the area under the ROC curve (AUC), with weighted rows."""

from __future__ import annotations

import numpy as np

from eosparse.core import BoolArray, FloatArray, IntArray


def compute_auc(is_positive: BoolArray, scores: FloatArray, weights: FloatArray) -> float:
    """Return the chance that a positive row scores higher than a negative one; ties count half.

    Parameters
    ----------
    is_positive : array of shape (n_samples,)
        Which rows are positive.
    scores : array of shape (n_samples,)
        Score of each row.
    weights : array of shape (n_samples,)
        Weight of each row.

    Returns
    -------
    float
        NaN if all rows are of one kind.

    Examples
    --------
    >>> import numpy as np
    >>> compute_auc(np.array([True, False, True]), np.array([0.9, 0.5, 0.5]), np.ones(3))
    0.75
    """
    _, level = np.unique(scores, return_inverse=True)
    positive = np.bincount(level, weights * is_positive)
    negative = np.bincount(level, weights * ~is_positive)
    below = np.cumsum(negative) - 0.5 * negative
    pairs = float(positive.sum() * negative.sum())
    return float(positive @ below) / pairs if pairs > 0 else float("nan")


def compute_mean_auc(probabilities: FloatArray, classes: IntArray, weights: FloatArray) -> float:
    """Return the AUC of each class against the others, averaged by their shares.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
        Predicted probability of each class.
    classes : array of shape (n_samples,)
        Class of each row, as a number from 0.
    weights : array of shape (n_samples,)
        Weight of each row.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    >>> compute_mean_auc(probabilities, np.array([0, 1, 0]), np.ones(3))
    1.0
    """
    present = np.unique(classes[weights > 0])
    members = [classes == label for label in present]
    areas = [
        compute_auc(mine, probabilities[:, label], weights)
        for mine, label in zip(members, present, strict=True)
    ]
    return float(np.average(areas, weights=[weights[mine].sum() for mine in members]))
