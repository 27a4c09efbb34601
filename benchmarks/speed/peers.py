"""b. Detectors at 100,000 × 20, each in a process of its own that may take two minutes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.detector import peers as covariances
from benchmarks.reporting import report
from benchmarks.speed.timing import THREADS, seconds, table

_LIMIT = 120.0
_SHAPE = (100_000, 20)


def eos(X: np.ndarray) -> np.ndarray:
    from eosparse import EOSDetector

    return -EOSDetector().fit(X).score_samples(X)


def isolation_forest(X: np.ndarray) -> np.ndarray:
    from sklearn.ensemble import IsolationForest

    return -IsolationForest(random_state=0, n_jobs=-1).fit(X).score_samples(X)


def fast_mcd(X: np.ndarray) -> np.ndarray:
    from sklearn.covariance import MinCovDet

    return MinCovDet(random_state=0).fit(X).mahalanobis(X)


def local_outlier_factor(X: np.ndarray) -> np.ndarray:
    from sklearn.neighbors import LocalOutlierFactor

    return -LocalOutlierFactor(n_jobs=-1).fit(X).negative_outlier_factor_


def one_class_svm(X: np.ndarray) -> np.ndarray:
    from sklearn.svm import OneClassSVM

    return -OneClassSVM(nu=0.2).fit(X).score_samples(X)


def ecod(X: np.ndarray) -> np.ndarray:
    from pyod.models.ecod import ECOD

    return ECOD().fit(X).decision_scores_


def np_cov(X: np.ndarray) -> np.ndarray:
    centred, covariance = X - X.mean(axis=0), np.cov(X, rowvar=False)
    return np.einsum("ij,ij->i", centred @ np.linalg.inv(covariance), centred)


DETECTORS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "eosparse": eos,
    "np.cov and distances": np_cov,
    "FastMCD": fast_mcd,
    "isolation forest": isolation_forest,
    "ECOD": ecod,
    "LOF": local_outlier_factor,
    "one-class SVM": one_class_svm,
}
# Robust covariances; they are timed alone, without distances.
_COVARIANCES = ("OGK (statsmodels)", "OGK (R)", "FastMCD (R)", "DetMCD (R)")


def run() -> None:
    rows = [_row(name) for name in DETECTORS]
    for name, fit in covariances.available().items():
        if name in _COVARIANCES:
            rows.append({"detector": name, "seconds": fit(table(*_SHAPE)).seconds})
    result = pd.DataFrame(rows)
    ours = result.loc[result["detector"] == "eosparse", "seconds"].item()
    result["times eosparse"] = result["seconds"] / ours
    result["threads"] = THREADS
    report("speed_b", "b. 100,000 × 20, 20 % outliers: fit and scores", None, result)


def _row(name: str) -> dict[str, object]:
    command = [sys.executable, "-c", f"from benchmarks.speed.peers import timed; timed({name!r})"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=True)
    except subprocess.TimeoutExpired:
        return {"detector": name, "seconds": np.nan, "note": f"more than {_LIMIT:.0f} s"}
    except subprocess.CalledProcessError as error:
        return {"detector": name, "seconds": np.nan, "note": error.stderr.splitlines()[-1][:80]}
    spent, area = done.stdout.split()
    return {"detector": name, "seconds": float(spent), "AUC": float(area)}


def timed(name: str) -> None:
    """Print the median time of a detector and its area under the curve; in its own process."""
    X, detector = table(*_SHAPE), DETECTORS[name]
    first = seconds(lambda: detector(X))
    runs = [first] if first > 5 else [seconds(lambda: detector(X)) for _ in range(7)]
    rng = np.random.default_rng(0)
    rng.standard_normal(X.shape)
    truth = np.zeros(len(X), dtype=bool)
    truth[rng.choice(len(X), len(X) // 5, replace=False)] = True
    print(float(np.median(runs)), roc_auc_score(truth, detector(X)) if first < 30 else np.nan)
