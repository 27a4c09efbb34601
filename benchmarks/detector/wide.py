"""g. Clean tables with many more columns than rows: false positives, and rows with weight."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.bench import Bench, count_repetitions
from eosparse import EOSDetector
from eosparse.comparison.intervals import summarise
from eosparse.comparison.runner import Row

_SHAPES = ((120, 2_000), (200, 5_000), (100, 10_000), (200, 40_000))
_N_FACTORS = {"independent": 0, "five factors": 5}
_REPETITIONS = 20
_LEVEL = 0.01


def _draw_rows(n_samples: int, n_features: int, n_factors: int, seed: int) -> np.ndarray:
    """Return Gaussian rows: factors with standard normal loadings, and noise of variance one."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n_samples, n_features))
    factors = rng.standard_normal((n_samples, n_factors))
    return noise + factors @ rng.standard_normal((n_factors, n_features))


def measure(n_samples: int, n_features: int, kind: str, repetition: int) -> list[Row]:
    X = _draw_rows(2 * n_samples, n_features, _N_FACTORS[kind], repetition)
    seen, new = X[:n_samples], X[n_samples:]
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        detector = EOSDetector(level=_LEVEL).fit(seen)
    return [
        {
            "rows": n_samples,
            "columns": n_features,
            "kind": kind,
            "training rows": np.mean(detector.is_outlier_),
            "new rows": np.mean(detector.p_values(new) <= _LEVEL),
            "rows with weight": detector.effective_sample_size_ / n_samples,
            "warned": float(bool(issued)),
        }
    ]


def run(bench: Bench) -> None:
    settings = [
        {"n_samples": n, "n_features": d, "kind": kind, "repetition": r}
        for n, d in _SHAPES
        for kind in _N_FACTORS
        for r in range(count_repetitions(bench.scale, _REPETITIONS))
    ]
    raw = bench.run_units("detector_g", measure, settings)
    of = ["training rows", "new rows", "rows with weight", "warned"]
    table = summarise(raw, ["rows", "columns", "kind"], of)
    bench.report("detector_g", "g. Flagged share of clean wide tables at level 0.01", raw, table)
