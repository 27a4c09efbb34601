"""Detectors to compare: one short adapter each.

To add one, write a function from a table and a seed to a `Finding` and decorate it:

    @peer("my detector", needs="my_package")
    def _mine(X, seed):
        from my_package import Detector

        model = Detector(random_state=seed).fit(X)
        return Finding(model.outlier_scores_, model.is_outlier_)

Each is used with its defaults. Those that only estimate a covariance flag rows beyond the 97.5 %
quantile of χ², as is usual for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import chi2

from eosparse.comparison.in_r import fitted_in_r, missing_in_r
from eosparse.comparison.measures import Finding
from eosparse.core import FloatArray

Find = Callable[[FloatArray, int], Finding]


@dataclass(frozen=True)
class Peer:
    """A detector: its name, how it judges a table, and what it needs."""

    name: str
    find: Find
    needs: str
    is_random: bool = False

    def missing(self) -> str | None:
        """Say why it cannot run here; None if it can."""
        if self.needs.startswith("R:"):
            return missing_in_r(self.needs[2:])
        if find_spec(self.needs) is None:
            return f"{self.needs} is not installed: pip install 'eosparse[bench]'"
        return None


PEERS: dict[str, Peer] = {}


def peer(name: str, needs: str, *, is_random: bool = False) -> Callable[[Find], Find]:
    """Enter a detector into the registry."""

    def enter(find: Find) -> Find:
        PEERS[name] = Peer(name, find, needs, is_random)
        return find

    return enter


@cache
def warm(name: str) -> None:
    """Let a method judge one small table: packages are loaded and compiled before the clock.

    Variants of ours, which are not in the registry, need what ours needs.
    """
    found = PEERS.get(name, PEERS[EOS])
    if not found.needs.startswith("R:"):
        found.find(np.random.default_rng(0).standard_normal((60, 2)), 0)


def timed(find: Find, X: FloatArray, seed: int) -> tuple[Finding, float]:
    """Return what a method finds, and its processor time."""
    begun = time.process_time()
    finding = find(X, seed)
    spent = time.process_time() - begun
    return finding, spent if finding.seconds is None else finding.seconds


def by_covariance(
    X: FloatArray, location: FloatArray, covariance: FloatArray, seconds: float | None = None
) -> Finding:
    """Judge rows by their distance in an estimated covariance.

    Where the estimate was timed elsewhere, in R, `seconds` gets the time of the distances on top.
    """
    begun = time.process_time()
    try:
        factor = np.linalg.cholesky(covariance)
        white = solve_triangular(factor, (X - location).T, lower=True)
        distances = np.einsum("ij,ij->j", white, white)
    except np.linalg.LinAlgError:  # singular
        centred = X - location
        distances = np.einsum("ij,ij->i", centred @ np.linalg.pinv(covariance), centred)
    if seconds is not None:
        seconds += time.process_time() - begun
    flagged = distances > chi2.ppf(0.975, X.shape[1])
    return Finding(distances, flagged, location, covariance, seconds)


EOS = "EOS"


@peer(EOS, needs="eosparse")
def _eos(X: FloatArray, seed: int, **setting: Any) -> Finding:
    from eosparse import EOSDetector

    detector = EOSDetector(**setting, random_state=seed).fit(X)
    return Finding(
        detector.mahalanobis(X), detector.is_outlier_, detector.location_, detector.covariance_
    )


def eos_with(**setting: Any) -> Find:
    """Return our detector with something set."""
    return lambda X, seed: _eos(X, seed, **setting)


AS_THE_AUTHOR: dict[str, Any] = {"weight_cut": 0.01, "start": "random", "shrinkage": 0.0}


def eos_as_the_author(alpha: float) -> Find:
    """Return the author's run: a tuned α, random weights to begin with, flagged if T·w < .01."""
    return eos_with(alpha=alpha, **AS_THE_AUTHOR)


@peer("classical covariance", needs="numpy")
def _classical(X: FloatArray, seed: int) -> Finding:  # noqa: ARG001  # every peer's signature
    return by_covariance(X, X.mean(axis=0), np.cov(X, rowvar=False).reshape(X.shape[1], -1))


@peer("FastMCD (scikit-learn)", needs="sklearn", is_random=True)
def _fast_mcd(X: FloatArray, seed: int) -> Finding:
    from sklearn.covariance import MinCovDet

    mcd = MinCovDet(random_state=seed).fit(X)
    return by_covariance(X, mcd.location_, mcd.covariance_)


@peer("DetMCD (statsmodels)", needs="statsmodels")
def _det_mcd(X: FloatArray, seed: int) -> Finding:  # noqa: ARG001
    from statsmodels.robust.covariance import CovDetMCD

    n, d = X.shape
    result = CovDetMCD(X).fit((n + d + 1) // 2)
    return by_covariance(X, np.asarray(result.mean), np.asarray(result.cov))


@peer("OGK (statsmodels)", needs="statsmodels")
def _ogk(X: FloatArray, seed: int) -> Finding:  # noqa: ARG001
    from statsmodels.robust.covariance import cov_ogk

    result = cov_ogk(X)
    return by_covariance(X, np.asarray(result.mean), np.asarray(result.cov))


def _in_r(name: str, package: str, expression: str, *, is_random: bool) -> None:
    """Enter an estimator of an R package; the expression gives a list of center and cov."""

    def find(X: FloatArray, seed: int) -> Finding:
        return by_covariance(X, *fitted_in_r(X, package, expression, seed))

    peer(name, needs=f"R:{package}", is_random=is_random)(find)


_in_r(
    "OGK (R)",
    "robustbase",
    "with(covOGK(X, sigmamu = scaleTau2), list(center = wcenter, cov = wcov))",
    is_random=False,
)
_in_r(
    "Stahel-Donoho (R)",
    "rrcov",
    "{s <- CovSde(X); list(center = getCenter(s), cov = getCov(s))}",
    is_random=True,
)


@peer("isolation forest", needs="sklearn", is_random=True)
def _isolation_forest(X: FloatArray, seed: int) -> Finding:
    from sklearn.ensemble import IsolationForest

    model = IsolationForest(random_state=seed).fit(X)
    scores = model.score_samples(X)
    return Finding(-scores, scores < model.offset_)


@peer("LOF", needs="sklearn")
def _lof(X: FloatArray, seed: int) -> Finding:  # noqa: ARG001
    from sklearn.neighbors import LocalOutlierFactor

    model = LocalOutlierFactor(n_neighbors=min(20, len(X) - 1))
    flagged = model.fit_predict(X) == -1
    return Finding(-model.negative_outlier_factor_, flagged)


@peer("one-class SVM", needs="sklearn")
def _one_class_svm(X: FloatArray, seed: int) -> Finding:  # noqa: ARG001
    from sklearn.svm import OneClassSVM

    model = OneClassSVM().fit(X)
    scores = model.decision_function(X)
    return Finding(-scores, scores < 0)


def _pyod(name: str, module: str, detector: str) -> None:
    """Enter a detector of PyOD."""

    def find(X: FloatArray, seed: int) -> Finding:  # noqa: ARG001
        from importlib import import_module

        model = getattr(import_module(f"pyod.models.{module}"), detector)().fit(X)
        return Finding(np.asarray(model.decision_scores_), np.asarray(model.labels_) == 1)

    peer(name, needs="pyod")(find)


for _name, _module in (("ECOD", "ecod"), ("COPOD", "copod"), ("HBOS", "hbos"), ("PCA", "pca")):
    _pyod(_name, _module, _name)
_pyod("kNN", "knn", "KNN")
