"""What detectors and estimators of covariances return."""

from __future__ import annotations

from typing import NamedTuple

from eosparse.core import BoolArray, FloatArray


class Estimate(NamedTuple):
    """An estimated location and covariance.

    Attributes
    ----------
    location : array of shape (n_features,)
        Where the rows are centred.
    covariance : array of shape (n_features, n_features)
        How they scatter.
    seconds : float or None
        The time that the estimator measured itself, if it runs in another process.
    """

    location: FloatArray
    covariance: FloatArray
    seconds: float | None = None


class Detection(NamedTuple):
    """What a detector says about the rows of a table.

    Attributes
    ----------
    scores : array of shape (n_samples,)
        Higher is more outlying.
    flagged : array of shape (n_samples,)
        The rows that the detector's own rule calls outliers.
    location, covariance : array or None
        Its estimates, if it makes any.
    seconds : float or None
        The time that the detector measured itself, if it runs in another process.
    """

    scores: FloatArray
    flagged: BoolArray
    location: FloatArray | None = None
    covariance: FloatArray | None = None
    seconds: float | None = None
