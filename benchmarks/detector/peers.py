"""Robust covariances to compare with: each returns location and covariance of a table."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eosparse.comparison.in_r import fitted_in_r, missing_in_r


class Estimate(NamedTuple):
    """Location, covariance, and the seconds that the estimator itself took."""

    location: np.ndarray
    covariance: np.ndarray
    seconds: float

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Squared Mahalanobis distances."""
        centred = X - self.location
        return np.einsum("ij,ij->i", centred @ np.linalg.pinv(self.covariance), centred)


def _timed(fit: Callable[[], tuple[np.ndarray, np.ndarray]]) -> Estimate:
    begun = time.perf_counter()
    location, covariance = fit()
    return Estimate(location, covariance, time.perf_counter() - begun)


def eos(X: np.ndarray) -> Estimate:
    from eosparse import EOSDetector

    def fit() -> tuple[np.ndarray, np.ndarray]:
        detector = EOSDetector().fit(X)
        return detector.location_, detector.covariance_

    return _timed(fit)


def fast_mcd(X: np.ndarray) -> Estimate:
    from sklearn.covariance import MinCovDet

    def fit() -> tuple[np.ndarray, np.ndarray]:
        mcd = MinCovDet(random_state=0).fit(X)
        return mcd.location_, mcd.covariance_

    return _timed(fit)


def det_mcd(X: np.ndarray) -> Estimate:
    from statsmodels.robust.covariance import CovDetMCD

    def fit() -> tuple[np.ndarray, np.ndarray]:
        n, d = X.shape
        result = CovDetMCD(X).fit((n + d + 1) // 2)
        return np.asarray(result.mean), np.asarray(result.cov)

    return _timed(fit)


def ogk(X: np.ndarray) -> Estimate:
    from statsmodels.robust.covariance import cov_ogk

    def fit() -> tuple[np.ndarray, np.ndarray]:
        result = cov_ogk(X)
        return np.asarray(result.mean), np.asarray(result.cov)

    return _timed(fit)


def _in_r(expression: str) -> Callable[[np.ndarray], Estimate]:
    """Return an estimator of R's robustbase, timed inside R."""
    return lambda X: Estimate(*fitted_in_r(X, "robustbase", expression, seed=0))


def has_robustbase() -> bool:
    """Whether Rscript and its package robustbase are installed."""
    return missing_in_r("robustbase") is None


ESTIMATORS: dict[str, Callable[[np.ndarray], Estimate]] = {
    "eosparse": eos,
    "FastMCD (scikit-learn)": fast_mcd,
    "DetMCD (statsmodels)": det_mcd,
    "OGK (statsmodels)": ogk,
}
IN_R: dict[str, Callable[[np.ndarray], Estimate]] = {
    "FastMCD (R)": _in_r("covMcd(X)"),
    "DetMCD (R)": _in_r('covMcd(X, nsamp = "deterministic")'),
    "OGK (R)": _in_r("with(covOGK(X, sigmamu = scaleTau2), list(center = wcenter, cov = wcov))"),
    "comedian (R)": _in_r("covComed(X)"),
}


def available() -> dict[str, Callable[[np.ndarray], Estimate]]:
    """Return all estimators that can run here."""
    return ESTIMATORS | IN_R if has_robustbase() else ESTIMATORS
