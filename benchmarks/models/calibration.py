"""Flagged shares of clean rows at a 1 % level: of the kind that a model describes, and of others.

Right kinds: separate Gaussian clusters of equal variance (clusters), or of unequal shares and
spreads (mixture); Gaussian noise around a plane (subspace), or around a linear function
(regression). Wrong kinds: in "heavy", noise has Student's law with 5 degrees of freedom; in
"unequal", its deviations differ by a factor of two between clusters or columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench import Bench, count_repetitions
from eosparse import EOSDetector
from eosparse.comparison.intervals import summarise
from eosparse.comparison.runner import Row
from eosparse.core import FloatArray
from eosparse.models import ClusterModel, LinearModel, MixtureModel, SubspaceModel

# Laws were developed on seeds below 10,000.
FIRST_SEED = 30_000
MODELS: dict[str, Any] = {
    "clusters": ClusterModel(3),
    "subspace": SubspaceModel(2),
    "mixture": MixtureModel(3),
    "regression": LinearModel(),
}


def make_rows(model: str, kind: str, n_rows: int, n_features: int, seed: int) -> FloatArray:
    """Return clean rows."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n_rows, n_features))
    if kind == "heavy":
        noise /= np.sqrt(rng.chisquare(5, n_rows) / 5)[:, None]
    labels = rng.choice(3, size=n_rows, p=(0.5, 0.3, 0.2))
    if model in ("clusters", "mixture"):
        centres = rng.normal(size=(3, n_features))
        gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
        centres *= (8 + 2 * np.sqrt(n_features)) / gaps[gaps > 0].min()
        if kind == "unequal" or model == "mixture":
            noise *= np.array([0.7, 1.0, 1.4])[labels, None]
        return centres[labels] + noise
    if kind == "unequal":
        noise *= np.where(np.arange(n_features) % 2, 1.4, 0.7)
    if model == "subspace":
        basis = np.linalg.qr(rng.normal(size=(n_features, 2)))[0]
        return 8 * rng.normal(size=(n_rows, 2)) @ basis.T + noise
    noise[:, -1] += noise[:, :-1] @ rng.normal(size=n_features - 1)
    return noise


def measure(model: str, kind: str, n_rows: int, n_features: int, repetition: int) -> list[Row]:
    X = make_rows(model, kind, 2 * n_rows, n_features, FIRST_SEED + repetition)
    detector = EOSDetector(model=MODELS[model], level=0.01).fit(X[:n_rows])
    return [
        {
            "model": model,
            "rows of kind": kind,
            "columns": n_features,
            "rows": n_rows,
            "training rows": np.mean(detector.is_outlier_),
            "new rows": np.mean(detector.p_values(X[n_rows:]) <= 0.01),
        }
    ]


def run(bench: Bench) -> None:
    settings = [
        {"model": model, "kind": kind, "n_rows": n, "n_features": d, "repetition": r}
        for model in MODELS
        for kind in ("right", "heavy", "unequal")
        if not (model == "mixture" and kind == "unequal")
        for d in (3, 10)
        for n in (50 * d, 300 * d)
        for r in range(count_repetitions(bench.scale, max(10, 30_000 / n)))
    ]
    raw = bench.run_units("models_calibration", measure, settings)
    key = ["model", "rows of kind", "columns", "rows"]
    table = summarise(raw, key, ["training rows", "new rows"])
    bench.report("models_calibration", "Flagged share of clean rows at level 0.01", raw, table)
