"""Clusters beside outliers: the adjusted Rand index of good rows.

Six clusters of unequal size and spread in 4 or 20 columns; a part of the rows, up to 40 %, is
scattered between them, in the box that holds them, or far, in a box five times as wide. (A group
of outliers as large and dense as a cluster would be one.) Peers: scikit-learn's k-means; k-medoids
(FasterPAM of `kmedoids`, by distances, not their squares); HDBSCAN; and trimmed k-means, which is
given the true share of outliers, which no user knows, or always a share of 0.1. See
`eosparse.comparison.peers.clusterings` for how they are used.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.bench import Bench, count_repetitions, spread_methods
from eosparse.comparison.intervals import summarise
from eosparse.comparison.peers import PEERS
from eosparse.comparison.runner import Row
from eosparse.core import FloatArray, IntArray

# Starts and α were developed on seeds below 10,000.
FIRST_SEED = 20_000
KEY = ["columns", "outliers", "share"]
_SIZES = (0.28, 0.22, 0.18, 0.14, 0.1, 0.08)


def make_rows(
    n_features: int, outliers: str, share: float, seed: int
) -> tuple[FloatArray, IntArray]:
    """Return 1200 rows and their clusters, -1 for outliers."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(len(_SIZES), size=1200, p=_SIZES)
    centres = rng.normal(size=(len(_SIZES), n_features))
    # So far apart that clusters hardly overlap, whatever the number of columns.
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
    centres *= 7 / gaps[gaps > 0].min()
    spread = rng.uniform(0.6, 1.2, len(_SIZES))[labels]
    X = centres[labels] + spread[:, None] * rng.normal(size=(1200, n_features))
    is_bad = rng.permutation(1200) < share * 1200
    reach = np.abs(X).max() * (5 if outliers == "far" else 1)
    X[is_bad] = rng.uniform(-reach, reach, (is_bad.sum(), n_features))
    labels[is_bad] = -1
    return X, labels


# Trimmed k-means runs twice: with the true share of outliers, and with a fixed one.
_TOLD, _FIXED = "trimmed k-means, told the share", "trimmed k-means, 0.1"
METHODS = (
    "EOSKMeans",
    "EOSGaussianMixture",
    "k-means (scikit-learn)",
    "k-medoids",
    "HDBSCAN (scikit-learn)",
)


def measure(n_features: int, outliers: str, share: float, repetition: int) -> list[Row]:
    X, labels = make_rows(n_features, outliers, share, FIRST_SEED + repetition)
    size = len(_SIZES)
    found = {name: PEERS[name].run(X, size, repetition) for name in METHODS}
    trim = PEERS["trimmed k-means"].run
    found[_TOLD] = trim(X, size, repetition, share=share)
    found[_FIXED] = trim(X, size, repetition, share=0.1)
    own = labels >= 0
    key = dict(zip(KEY, (n_features, outliers, share), strict=True))
    return [
        key | {"method": name, "adjusted Rand": adjusted_rand_score(labels[own], one[own])}
        for name, one in found.items()
    ]


def run(bench: Bench) -> None:
    settings = [
        {"n_features": d, "outliers": outliers, "share": share, "repetition": r}
        for d in (4, 20)
        for outliers in ("between", "far")
        for share in (0.0, 0.1, 0.2, 0.3, 0.4)
        for r in range(count_repetitions(bench.scale, 20))
    ]
    raw = bench.run_units("models_clusters", measure, settings)
    summary = summarise(raw, [*KEY, "method"], ["adjusted Rand"])
    table = spread_methods(summary, KEY, "adjusted Rand")
    bench.report("models_clusters", "Adjusted Rand index of good rows", raw, table)
