"""Our own detector, as the registry has it."""

from __future__ import annotations

from typing import Any

from eosparse.comparison.peers.outcomes import Detection, Estimate
from eosparse.comparison.peers.registry import Task, register
from eosparse.core import FloatArray
from eosparse.models import GaussianModel

EOS, EOS_AUTO = "EOS", "EOS, auto"
# The author's runs: random weights to begin with, and a row is flagged if T·w < .01.
AUTHOR_OPTIONS: dict[str, Any] = {
    "weight_cut": 0.01,
    "start": "random",
    "model": GaussianModel(shrinkage=0.0),
}


def _estimate(X: FloatArray, seed: int) -> Estimate:
    from eosparse import EOSDetector

    detector = EOSDetector(model="gaussian", random_state=seed).fit(X)
    return Estimate(detector.location_, detector.covariance_)


@register(EOS, Task.DETECT, needs="eosparse", estimate=_estimate)
def detect_by_eos(X: FloatArray, seed: int, **options: Any) -> Detection:
    """Judge rows with one Gaussian, as the paper does.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    seed : int
        For a random start.
    **options
        Parameters of `EOSDetector`.

    Returns
    -------
    Detection

    Examples
    --------
    >>> from eosparse.datasets import make_contaminated
    >>> X, _ = make_contaminated(1000, 20, 0.02, random_state=0)
    >>> int(detect_by_eos(X, 0, alpha=0.5, **AUTHOR_OPTIONS).flagged.sum())
    20
    """
    from eosparse import EOSDetector

    detector = EOSDetector(**{"model": "gaussian"} | options, random_state=seed).fit(X)
    return Detection(
        detector.mahalanobis(X), detector.is_outlier_, detector.location_, detector.covariance_
    )


@register(EOS_AUTO, Task.DETECT, needs="eosparse")
def _detect_by_ladder(X: FloatArray, seed: int, **options: Any) -> Detection:
    """Judge rows with the default of `EOSDetector`, which chooses its model."""
    from eosparse import EOSDetector

    detector = EOSDetector(**options, random_state=seed).fit(X)
    return Detection(-detector.score_samples(X), detector.is_outlier_)
