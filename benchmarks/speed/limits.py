"""g. Where the time goes, and what this machine could do at best."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pandas as pd
from eosparse.models.raw_gaussian import RawGaussian

from benchmarks.reporting import report
from benchmarks.speed.timing import THREADS, seconds, table
from eosparse import EOSDetector
from eosparse.core import visit
from eosparse.estimators import detector as detector_module
from eosparse.estimators import gaussian_choices
from eosparse.rows import MemoryRows

_STAGES = {
    "checking the input": (detector_module, "training_table"),
    "search for a start, on a sample": (gaussian_choices._Problem, "_searched"),
    "first passes, on a sixteenth": (gaussian_choices._Problem, "_warmed"),
    "distances of all rows": (MemoryRows, "mapped"),
    "law and flags": (detector_module, "read_out"),
}


def run() -> None:
    rows = [row for n, d in ((10**6, 20), (200_000, 100)) for row in _profile(table(n, d))]
    report("speed_g", "g. Where the time of a fit goes", None, pd.DataFrame(rows))
    report("speed_g_limits", "g. Limits", None, pd.DataFrame(_limits(table(10**6, 20))))


def _profile(X: np.ndarray) -> list[dict[str, object]]:
    EOSDetector().fit(X)
    spent: dict[str, float] = {}
    with ExitStack() as stack:
        for label, (owner, name) in _STAGES.items():
            clocked = _clocked(getattr(owner, name), spent, label)
            stack.enter_context(patch.object(owner, name, clocked))
        whole = seconds(lambda: EOSDetector().fit(X))
    spent["passes over all rows, and the rest"] = whole - sum(spent.values())
    shape = {"rows": X.shape[0], "columns": X.shape[1]}
    return [
        shape | {"stage": stage, "ms": 1e3 * time, "share": time / whole}
        for stage, time in spent.items()
    ]


def _clocked(
    function: Callable[..., object], spent: dict[str, float], label: str
) -> Callable[..., object]:
    def clocked(*args: object, **kwargs: object) -> object:
        result: list[object] = []
        time = seconds(lambda: result.append(function(*args, **kwargs)))
        spent[label] = spent.get(label, 0.0) + time
        return result[0]

    return clocked


def _limits(X: np.ndarray) -> list[dict[str, object]]:
    """What a pass takes, beside reading the rows once and the products alone."""
    fit = EOSDetector().fit(X)._fit_
    model, rows = RawGaussian(fit.model, fit.coordinates), MemoryRows(X, None, np.asarray)
    matrix = np.random.default_rng(0).standard_normal((2000, 2000))

    def median(function: Callable[[], object]) -> float:
        return statistics.median(seconds(function) for _ in range(9))

    flops = len(X) * X.shape[1] * (X.shape[1] + 1) * 2  # two triangles of products and sums
    swept = median(lambda: visit(model, rows, fit.theta, fit.result.alpha))
    with patch("eosparse.models.fused.is_worth_it", return_value=False):
        by_numpy = median(lambda: visit(model, rows, fit.theta, fit.result.alpha))
    summed, product = median(X.sum), median(lambda: matrix @ matrix)
    return [
        {"what": "a pass, ms", "value": 1e3 * swept},
        {"what": "a pass by NumPy and BLAS, ms", "value": 1e3 * by_numpy},
        {"what": "a pass, GFlop/s", "value": flops / swept / 1e9},
        {"what": "BLAS at its best, GFlop/s", "value": 2 * 2000**3 / product / 1e9},
        {"what": "a pass, GB/s read", "value": X.nbytes / swept / 1e9},
        {"what": "one thread summing the rows, GB/s", "value": X.nbytes / summed / 1e9},
        {"what": "threads", "value": THREADS},
    ]
