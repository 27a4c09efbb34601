"""How well a detector did on rows of which the truth is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from eosparse.core import BoolArray, FloatArray


class Finding(NamedTuple):
    """What a detector says of a table.

    Attributes
    ----------
    scores : array of shape (n_samples,)
        Higher is more outlying.
    flagged : array of shape (n_samples,)
        The rows that its own rule calls outliers.
    location, covariance : arrays or None
        Where it estimates them.
    seconds : float or None
        Time that it measured itself, where it runs in another process.
    """

    scores: FloatArray
    flagged: BoolArray
    location: FloatArray | None = None
    covariance: FloatArray | None = None
    seconds: float | None = None


MEASURES = ("precision", "recall", "F1", "precision at count", "AUC-ROC", "AUC-PR")


def measures(finding: Finding, truth: BoolArray) -> dict[str, float]:
    """Precision, recall and F1 of the detector's own cut; the same cut for all; and rankings.

    A detector that flags nothing has a precision of 0 here: it found nothing. Precision at count
    is that of as many most outlying rows as there are outliers: a rule equal for all.
    """
    found = int(np.count_nonzero(finding.flagged & truth))
    precision = found / max(int(np.count_nonzero(finding.flagged)), 1)
    recall = found / int(np.count_nonzero(truth))
    if np.isnan(finding.scores).any():
        raise ValueError(f"{np.count_nonzero(np.isnan(finding.scores))} scores are not numbers")
    # Where a score has overflown, its row is as outlying as can be.
    scores = np.clip(finding.scores, -1e300, 1e300)
    values = (
        precision,
        recall,
        2 * precision * recall / max(precision + recall, 1e-300),
        precision_at_count(scores, truth),
        roc_auc_score(truth, scores),
        average_precision_score(truth, scores),
    )
    return {name: float(value) for name, value in zip(MEASURES, values, strict=True)}


def precision_at_count(scores: FloatArray, truth: BoolArray) -> float:
    """Part of outliers among as many most outlying rows as there are outliers.

    Of rows tied at the cut, as many as there is room for are taken at random: this is the mean.
    """
    count = int(np.count_nonzero(truth))
    cut = np.sort(scores)[-count]
    above, tied = scores > cut, scores == cut
    room = count - int(np.count_nonzero(above))
    return float(truth[above].sum() + room * truth[tied].mean()) / count


def estimation_errors(finding: Finding, covariance: FloatArray) -> dict[str, float]:
    """Distance of the location from zero, and relative error of the covariance (Frobenius)."""
    if finding.location is None or finding.covariance is None:
        return {}
    gap = np.linalg.norm(finding.covariance - covariance) / np.linalg.norm(covariance)
    return {"error of mean": float(np.linalg.norm(finding.location)), "error of Σ": float(gap)}
