"""b. Detectors at 100,000 × 20, each of which may take two minutes of processor time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.bench import ALONE, Bench
from benchmarks.speed.timing import THREADS, make_table, measure_seconds, time_estimate
from eosparse.comparison.peers import PEERS, explain_missing
from eosparse.comparison.peers.eos import EOS
from eosparse.comparison.runner import FAILED, OK, Grid, Row, Setting

_LIMIT = 120.0
_SHAPE = (100_000, 20)
# Detectors with their names in the table and options: all cores, and the true share of outliers.
_DETECTORS: dict[str, tuple[str, dict[str, Any]]] = {
    "eosparse": (EOS, {}),
    "np.cov and distances": ("classical covariance", {}),
    "FastMCD": ("FastMCD (scikit-learn)", {}),
    "isolation forest": ("isolation forest", {"n_jobs": -1}),
    "ECOD": ("ECOD", {}),
    "LOF": ("LOF", {"n_jobs": -1}),
    "one-class SVM": ("one-class SVM", {"nu": 0.2}),
}
# Robust covariances; they are timed alone, without distances.
_COVARIANCES = ("OGK (statsmodels)", "OGK (R)", "FastMCD (R)", "DetMCD (R)")
# What takes longer runs once; beyond the second limit, not again for its scores.
_LONG, _VERY_LONG = 5.0, 30.0


def time_detector(setting: Setting, method: str, repetition: int) -> Row:  # noqa: ARG001
    """Return the median time of a detector and its area under the curve."""
    X, truth = _make_labelled(setting["n_rows"])
    if method in _COVARIANCES:
        return {"seconds": time_estimate(PEERS[method], X)[1]}
    name, options = _DETECTORS[method]

    def detect() -> np.ndarray:
        return PEERS[name].run(X, 0, **options).scores

    first = measure_seconds(detect)
    runs = [first] if first > _LONG else [measure_seconds(detect) for _ in range(7)]
    area = roc_auc_score(truth, detect()) if first < _VERY_LONG else np.nan
    return {"seconds": float(np.median(runs)), "AUC": float(area)}


def _make_labelled(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table, and which of its rows are outliers, by the same random numbers."""
    X = make_table(n_rows, _SHAPE[1])
    rng = np.random.default_rng(0)
    rng.standard_normal(X.shape)
    truth = np.zeros(len(X), dtype=bool)
    truth[rng.choice(len(X), len(X) // 5, replace=False)] = True
    return X, truth


def _list_methods() -> tuple[str, ...]:
    peers = {name: peer for name, (peer, _) in _DETECTORS.items()}
    peers |= {name: name for name in _COVARIANCES}
    return tuple(name for name, peer in peers.items() if explain_missing(peer) is None)


def run(bench: Bench) -> None:
    setting = {"n_rows": max(1000, round(bench.scale * _SHAPE[0]))}
    grid = Grid("speed_b", (setting,), _list_methods(), time_detector, limit=_LIMIT)
    result = pd.DataFrame([_format_row(unit) for unit in bench.run_grids([grid], ALONE)])
    ours = result.loc[result["detector"] == "eosparse", "seconds"].item()
    result["times eosparse"] = result["seconds"] / ours
    result["threads"] = THREADS
    bench.report("speed_b", "b. 100,000 × 20, 20 % outliers: fit and scores", None, result)


def _format_row(unit: Row) -> Row:
    row = {"detector": unit["method"], "seconds": np.nan, "AUC": np.nan, "note": None}
    if unit["status"] == OK:
        return row | {name: unit[name] for name in ("seconds", "AUC") if name in unit}
    is_failed = unit["status"] == FAILED
    return row | {"note": unit["reason"][:80] if is_failed else f"more than {_LIMIT:.0f} s"}
