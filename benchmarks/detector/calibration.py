"""a. False positives on clean Gaussian rows at a 1 % level."""

from __future__ import annotations

import numpy as np

from benchmarks.bench import Bench, count_repetitions
from eosparse import EOSDetector
from eosparse.comparison.intervals import summarise
from eosparse.comparison.runner import Row
from eosparse.datasets import make_contaminated


def measure(n_samples: int, n_features: int, inliers: str, repetition: int) -> list[Row]:
    X = make_contaminated(
        2 * n_samples, n_features, 0.0, inliers=inliers, random_state=repetition
    ).X
    seen, new = X[:n_samples], X[n_samples:]
    detector = EOSDetector(level=0.01).fit(seen)
    return [
        {
            "columns": n_features,
            "rows": n_samples,
            "inliers": inliers,
            "training rows": np.mean(detector.is_outlier_),
            "new rows": np.mean(detector.p_values(new) <= 0.01),
        }
    ]


def run(bench: Bench) -> None:
    settings = [
        {"n_samples": n, "n_features": d, "inliers": inliers, "repetition": r}
        for d in (2, 5, 20, 50, 100)
        for n in (10 * d, 20 * d, 100 * d)
        for inliers in ("independent", "autoregressive")
        # 80,000 rows in all: shares of 1 % are then known to about a tenth of their size.
        for r in range(count_repetitions(bench.scale, min(2000, max(24, 80_000 / n)), least=4))
    ]
    raw = bench.run_units("detector_a", measure, settings)
    table = summarise(raw, ["columns", "rows", "inliers"], ["training rows", "new rows"])
    bench.report("detector_a", "a. Flagged share of clean rows at level 0.01", raw, table)
    lowest, highest = table["training rows"].agg(["min", "max"]).tolist()
    print(f"\ntraining rows: between {lowest:.4f} and {highest:.4f} (target: 0.007 to 0.013)")
