"""Robust covariances to compare with: each returns location and covariance of a table."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np


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


_R_SCRIPT = """
suppressPackageStartupMessages(library(robustbase))
arguments <- commandArgs(TRUE)
n <- as.integer(arguments[2]); d <- as.integer(arguments[3])
X <- matrix(readBin(arguments[1], "double", n * d), n, d)
set.seed(0)
seconds <- system.time(fit <- %s)[["elapsed"]]
writeBin(c(seconds, as.double(fit$center), as.double(fit$cov)), arguments[4])
"""


def _in_r(expression: str) -> Callable[[np.ndarray], Estimate]:
    """Return an estimator of R's robustbase, timed inside R."""

    def fit(X: np.ndarray) -> Estimate:
        n, d = X.shape
        with tempfile.TemporaryDirectory() as folder:
            data, script, answer = (Path(folder) / name for name in ("data", "fit.R", "answer"))
            np.asfortranarray(X, dtype=np.float64).T.tofile(data)
            script.write_text(_R_SCRIPT % expression)
            command = ["Rscript", str(script), str(data), str(n), str(d), str(answer)]
            subprocess.run(command, check=True, capture_output=True)
            seconds, *rest = np.fromfile(answer)
        return Estimate(np.array(rest[:d]), np.array(rest[d:]).reshape(d, d), seconds)

    return fit


def has_robustbase() -> bool:
    """Whether Rscript and its package robustbase are installed."""
    if shutil.which("Rscript") is None:
        return False
    command = ["Rscript", "-e", "suppressPackageStartupMessages(library(robustbase))"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


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
