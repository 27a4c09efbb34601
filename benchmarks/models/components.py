"""Components beside outliers: the largest angle to the true subspace, in degrees.

Three components of standard deviations 6, 4 and 3 in noise of 1, in 10 or 50 columns; a part of the
rows, up to 40 %, is a clump off the subspace, or scatters in all directions. Peers: scikit-learn's
principal components; spherical ones (of the directions from the spatial median); eigenvectors of
FastMCD's covariance; and ROBPCA (R's rrcov), with half of the rows trimmed.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import subspace_angles

from benchmarks.bench import Bench, count_repetitions, spread_methods
from eosparse.comparison.intervals import summarise
from eosparse.comparison.peers import PEERS, explain_missing
from eosparse.comparison.peers.components import take_leading
from eosparse.comparison.runner import Row
from eosparse.core import FloatArray

# Starts were developed on seeds below 10,000.
FIRST_SEED = 40_000
KEY = ["columns", "outliers", "share"]
_DEVIATIONS = np.array([6.0, 4.0, 3.0])
_N_COMPONENTS = len(_DEVIATIONS)
METHODS = (
    "EOSPCA", "PCA (scikit-learn)", "spherical", "FastMCD (scikit-learn)", "ROBPCA (rrcov)"
)  # fmt: skip


def make_rows(
    n_features: int, outliers: str, share: float, seed: int
) -> tuple[FloatArray, FloatArray]:
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


def _find_directions(name: str, X: FloatArray, seed: int) -> FloatArray:
    """Return three directions of a peer; of a covariance, its leading eigenvectors."""
    peer = PEERS[name]
    if peer.estimate is not None:
        return take_leading(peer.estimate(X, seed).covariance, _N_COMPONENTS)
    return peer.run(X, _N_COMPONENTS, seed)


def measure(
    n_features: int, outliers: str, share: float, repetition: int, methods: list[str]
) -> list[Row]:
    X, truth = make_rows(n_features, outliers, share, FIRST_SEED + repetition)
    key = dict(zip(KEY, (n_features, outliers, share), strict=True))
    angles = {
        name: np.degrees(subspace_angles(_find_directions(name, X, repetition), truth).max())
        for name in methods
    }
    return [key | {"method": name, "angle": float(angle)} for name, angle in angles.items()]


def run(bench: Bench) -> None:
    missing = {name: why for name in METHODS if (why := explain_missing(name)) is not None}
    for name, why in missing.items():
        print(f"\nnot run: {name} ({why})")
    methods = [name for name in METHODS if name not in missing]
    settings = [
        {"n_features": d, "outliers": outliers, "share": share, "repetition": r, "methods": methods}
        for d in (10, 50)
        for outliers in ("clump", "scattered")
        for share in (0.0, 0.1, 0.2, 0.3, 0.4)
        for r in range(count_repetitions(bench.scale, 20))
    ]
    raw = bench.run_units("models_components", measure, settings)
    table = spread_methods(summarise(raw, [*KEY, "method"], ["angle"]), KEY, "angle")
    bench.report("models_components", "Largest angle to the true subspace, degrees", raw, table)
