"""How well a detector does on rows whose truth is known."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from eosparse.comparison.peers import Detection
from eosparse.core import BoolArray, FloatArray

MEASURES = ("precision", "recall", "F1", "precision at count", "AUC-ROC", "AUC-PR")


def measure_detection(detection: Detection, truth: BoolArray) -> dict[str, float]:
    """Return all `MEASURES` of a detector.

    Precision, recall and F1 are those of the rows that the detector flags itself; the precision of
    a detector that flags nothing counts as 0. Precision at count takes as many most outlying rows
    as there are outliers, which is the same rule for all detectors.

    Examples
    --------
    >>> scores, truth = np.array([0.0, 1.0, 2.0, 9.0]), np.array([False, False, True, True])
    >>> measured = measure_detection(Detection(scores, scores > 5), truth)
    >>> measured["precision"], measured["recall"], measured["AUC-ROC"]
    (1.0, 0.5, 1.0)
    """
    found = int(np.count_nonzero(detection.flagged & truth))
    precision = found / max(int(np.count_nonzero(detection.flagged)), 1)
    recall = found / int(np.count_nonzero(truth))
    if np.isnan(detection.scores).any():
        raise ValueError(f"{np.count_nonzero(np.isnan(detection.scores))} scores are not numbers.")
    # An overflown score means that its row is as outlying as can be.
    scores = np.clip(detection.scores, -1e300, 1e300)
    values = (
        precision,
        recall,
        2 * precision * recall / max(precision + recall, 1e-300),
        measure_precision_at_count(scores, truth),
        roc_auc_score(truth, scores),
        average_precision_score(truth, scores),
    )
    return {name: float(value) for name, value in zip(MEASURES, values, strict=True)}


def measure_precision_at_count(scores: FloatArray, truth: BoolArray) -> float:
    """Return the share of outliers among as many most outlying rows as there are outliers.

    Rows tied at the cut are taken at random as far as there is room; the result is the mean.

    Examples
    --------
    >>> measure_precision_at_count(np.array([3.0, 2.0, 1.0]), np.array([True, False, True]))
    0.5
    """
    count = int(np.count_nonzero(truth))
    cut = np.sort(scores)[-count]
    above, tied = scores > cut, scores == cut
    room = count - int(np.count_nonzero(above))
    return float(truth[above].sum() + room * truth[tied].mean()) / count


def measure_estimate(detection: Detection, covariance: FloatArray) -> dict[str, float]:
    """Return the errors of an estimated location, which is zero in truth, and covariance.

    The error of the covariance is relative, in the Frobenius norm. A detector that estimates
    neither has no errors.

    Examples
    --------
    >>> nothing = np.zeros(1), np.zeros(1, dtype=bool)
    >>> measure_estimate(Detection(*nothing, np.array([3.0, 4.0]), np.eye(2)), np.eye(2))
    {'error of mean': 5.0, 'error of Σ': 0.0}
    """
    if detection.location is None or detection.covariance is None:
        return {}
    gap = np.linalg.norm(detection.covariance - covariance) / np.linalg.norm(covariance)
    return {"error of mean": float(np.linalg.norm(detection.location)), "error of Σ": float(gap)}
