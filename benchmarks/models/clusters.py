"""Clusters beside outliers: the adjusted Rand index of the rows that belong.

Six clusters of unequal size and spread in 4 or 20 columns; a part of the rows, up to 40 %, is
scattered between them, in the box that holds them, or far, in a box five times as wide. (A group
of outliers as large and dense as a cluster would be one.) Peers: scikit-learn's k-means; k-medoids
(FasterPAM of `kmedoids`, by distances, not their squares); HDBSCAN, which asks for the size of the
smallest cluster instead of their number, and is told a quarter of an average one; and trimmed
k-means, a plain reference of our own: Lloyd's steps on the rows that are nearest to their centre,
from a hundred random starts. It is told the true share of outliers, which no user knows, or always
a share of 0.1.
"""

from __future__ import annotations

import numpy as np
from kmedoids import KMedoids
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.reporting import Row, report, run_resumable, side_by_side, summarise
from eosparse import EOSGaussianMixture, EOSKMeans
from eosparse.core import FloatArray, IntArray
from eosparse.models import ClusterModel

# Starts and α were developed on seeds below 10,000.
FIRST_SEED = 20_000
KEY = ["columns", "outliers", "share"]
_STARTS = 100
_SIZES = (0.28, 0.22, 0.18, 0.14, 0.1, 0.08)


def rows(n_features: int, outliers: str, share: float, seed: int) -> tuple[FloatArray, IntArray]:
    """Return 1200 rows and their clusters, -1 for outliers."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(len(_SIZES), size=1200, p=_SIZES)
    centres = rng.normal(size=(len(_SIZES), n_features))
    # As far apart that clusters hardly overlap, whatever the number of columns.
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
    centres *= 7 / gaps[gaps > 0].min()
    spread = rng.uniform(0.6, 1.2, len(_SIZES))[labels]
    X = centres[labels] + spread[:, None] * rng.normal(size=(1200, n_features))
    is_bad = rng.permutation(1200) < share * 1200
    reach = np.abs(X).max() * (5 if outliers == "far" else 1)
    X[is_bad] = rng.uniform(-reach, reach, (is_bad.sum(), n_features))
    labels[is_bad] = -1
    return X, labels


def trimmed(X: FloatArray, share: float, seed: int) -> IntArray:
    """Return the clusters of the best of some trimmed fits."""
    rng, kept, model = np.random.RandomState(seed), round((1 - share) * len(X)), ClusterModel()
    best, least = np.zeros(len(X), dtype=np.intp), np.inf
    for _ in range(_STARTS):
        centres = X[rng.choice(len(X), len(_SIZES), replace=False)]
        for _ in range(30):
            near = np.argsort(model.errors(X, centres), kind="stable")[:kept]
            weights = np.full(kept, 1 / kept)
            centres = model.solve(model.statistics(X[near], weights, centres))
        loss = float(np.sort(model.errors(X, centres))[:kept].sum())
        if loss < least:
            best, least = model.assign(X, centres), loss
    return best


def unit(n_features: int, outliers: str, share: float, repetition: int) -> list[Row]:
    X, labels = rows(n_features, outliers, share, FIRST_SEED + repetition)
    size, seed = len(_SIZES), repetition
    found = {
        "EOSKMeans": EOSKMeans(size).fit(X).labels_,
        "EOSGaussianMixture": EOSGaussianMixture(size).fit(X).labels_,
        "k-means (scikit-learn)": KMeans(size, n_init=20, random_state=seed).fit(X).labels_,
        "k-medoids": KMedoids(size, metric="euclidean", random_state=seed).fit(X).labels_,
        "HDBSCAN (scikit-learn)": HDBSCAN(len(X) // size // 4, copy=True).fit(X).labels_,
        "trimmed k-means, told the share": trimmed(X, share, seed),
        "trimmed k-means, 0.1": trimmed(X, 0.1, seed),
    }
    own = labels >= 0
    key = dict(zip(KEY, (n_features, outliers, share), strict=True))
    return [
        key | {"method": name, "adjusted Rand": adjusted_rand_score(labels[own], one[own])}
        for name, one in found.items()
    ]


def run(scale: float) -> None:
    settings = [
        {"n_features": d, "outliers": outliers, "share": share, "repetition": r}
        for d in (4, 20)
        for outliers in ("between", "far")
        for share in (0.0, 0.1, 0.2, 0.3, 0.4)
        for r in range(max(2, round(scale * 20)))
    ]
    raw = run_resumable("models_clusters", unit, settings)
    table = side_by_side(summarise(raw, [*KEY, "method"], ["adjusted Rand"]), KEY, "adjusted Rand")
    report("models_clusters", "Adjusted Rand index of the rows that belong", raw, table)
