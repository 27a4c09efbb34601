"""Components beside outliers: the largest angle to the true subspace, in degrees.

Three components of standard deviations 6, 4 and 3 in noise of 1, in 10 or 50 columns; a part of the
rows, up to 40 %, is a clump off the subspace, or scatters in all directions. Peers: scikit-learn's
principal components; spherical ones (of the directions from the spatial median); eigenvectors of
FastMCD's covariance; and ROBPCA (R's rrcov), with half of the rows trimmed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.covariance import MinCovDet
from sklearn.decomposition import PCA

from benchmarks.reporting import Row, report, run_resumable, side_by_side, summarise
from eosparse import EOSPCA
from eosparse.comparison.in_r import fitted_in_r, missing_in_r
from eosparse.core import FloatArray
from eosparse.models import spatial_median

# Starts were developed on seeds below 10,000.
FIRST_SEED = 40_000
KEY = ["columns", "outliers", "share"]
_DEVIATIONS = np.array([6.0, 4.0, 3.0])
_ROBPCA = (
    "{f <- PcaHubert(X, k = 3, alpha = 0.5); list(center = f@center, cov = tcrossprod(f@loadings))}"
)


def rows(n_features: int, outliers: str, share: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return 600 rows, and the true directions as columns."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(n_features, 4)))[0]
    X = rng.normal(size=(600, 3)) * _DEVIATIONS @ basis[:, :3].T + rng.normal(
        size=(600, n_features)
    )
    n_bad = round(share * 600)
    noise = rng.normal(size=(n_bad, n_features))
    X[:n_bad] = 20 * basis[:, 3] + 0.5 * noise if outliers == "clump" else 6 * noise
    return X, basis[:, :3]


def _leading(covariance: FloatArray) -> FloatArray:
    return np.linalg.eigh(covariance)[1][:, -3:]


def _spherical(X: FloatArray, seed: int) -> FloatArray:  # noqa: ARG001  # every peer's signature
    centred = X - spatial_median(X, np.ones(len(X)))
    directions = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    return _leading(directions.T @ directions)


METHODS: dict[str, Callable[[FloatArray, int], FloatArray]] = {
    "EOSPCA": lambda X, _: EOSPCA(3).fit(X).components_.T,
    "PCA (scikit-learn)": lambda X, _: PCA(3).fit(X).components_.T,
    "spherical": _spherical,
    "FastMCD (scikit-learn)": lambda X, seed: _leading(
        MinCovDet(random_state=seed).fit(X).covariance_
    ),
}
if missing_in_r("rrcov") is None:
    METHODS["ROBPCA (rrcov)"] = lambda X, seed: _leading(fitted_in_r(X, "rrcov", _ROBPCA, seed)[1])


def unit(n_features: int, outliers: str, share: float, repetition: int) -> list[Row]:
    X, truth = rows(n_features, outliers, share, FIRST_SEED + repetition)
    key = dict(zip(KEY, (n_features, outliers, share), strict=True))
    return [
        key
        | {
            "method": name,
            "angle": float(np.degrees(subspace_angles(fit(X, repetition), truth).max())),
        }
        for name, fit in METHODS.items()
    ]


def run(scale: float) -> None:
    if (missing := missing_in_r("rrcov")) is not None:
        print(f"\nwithout ROBPCA: {missing}")
    settings = [
        {"n_features": d, "outliers": outliers, "share": share, "repetition": r}
        for d in (10, 50)
        for outliers in ("clump", "scattered")
        for share in (0.0, 0.1, 0.2, 0.3, 0.4)
        for r in range(max(2, round(scale * 20)))
    ]
    raw = run_resumable("models_components", unit, settings)
    table = side_by_side(summarise(raw, [*KEY, "method"], ["angle"]), KEY, "angle")
    report("models_components", "Largest angle to the true subspace, degrees", raw, table)
