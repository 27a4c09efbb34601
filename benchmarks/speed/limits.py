"""g. Where the time goes, and what this machine could do at best."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np

from benchmarks.bench import ALONE, Bench
from benchmarks.speed.timing import THREADS, make_table, measure_seconds
from eosparse import EOSDetector
from eosparse.comparison.runner import Row
from eosparse.core import visit
from eosparse.estimators import detector as detector_module
from eosparse.fitting import engine, ladder
from eosparse.models import gaussian_search
from eosparse.rows import MemoryRows

# None of them is part of another.
_STAGES = (
    ("checking the input", detector_module, "open_training"),
    ("a sample, and kinds of columns", ladder.Ladder, "stand"),
    ("search for a start, on a sample", gaussian_search._Choice, "find_solution"),
    ("search for a start, on a sample", gaussian_search._Choice, "_attempt_wide"),
    ("first passes, on a sixteenth", engine, "pass_over_part"),
    ("distances of all rows", MemoryRows, "map"),
    ("law and flags", ladder, "find_judge"),
    ("is one Gaussian enough", ladder, "check_law"),
    ("is one Gaussian enough", ladder.Ladder, "_look_for_margins"),
    ("is one Gaussian enough", ladder.Ladder, "_hides_groups"),
)


def run(bench: Bench) -> None:
    settings = [
        {"n_rows": max(4 * d, round(bench.scale * n)), "n_columns": d}
        for n, d in ((10**6, 20), (200_000, 100))
    ]
    stages = bench.run_units("speed_g", profile, settings, ALONE)
    bench.report("speed_g", "g. Where the time of a fit goes", None, stages)
    limits = bench.run_units("speed_g_limits", measure_limits, settings[:1], ALONE)
    bench.report("speed_g_limits", "g. Limits", None, limits)


def profile(n_rows: int, n_columns: int) -> list[Row]:
    """Return the milliseconds of every stage of a fit."""
    X = make_table(n_rows, n_columns)
    EOSDetector().fit(X)  # loads compiled code
    spent: dict[str, float] = {}
    with ExitStack() as stack:
        for label, owner, name in _STAGES:
            function = _add_clock(getattr(owner, name), spent, label)
            stack.enter_context(patch.object(owner, name, function))
        whole = measure_seconds(lambda: EOSDetector().fit(X))
    spent["passes over all rows, and the rest"] = whole - sum(spent.values())
    shape = {"rows": X.shape[0], "columns": X.shape[1]}
    return [
        shape | {"stage": stage, "ms": 1e3 * time, "share": time / whole}
        for stage, time in spent.items()
    ]


def _add_clock(
    function: Callable[..., object], spent: dict[str, float], label: str
) -> Callable[..., object]:
    def clocked(*args: object, **kwargs: object) -> object:
        result: list[object] = []
        time = measure_seconds(lambda: result.append(function(*args, **kwargs)))
        spent[label] = spent.get(label, 0.0) + time
        return result[0]

    return clocked


def measure_limits(n_rows: int, n_columns: int) -> list[Row]:
    """Return the time of a pass, beside reading the rows once and the products alone."""
    X = make_table(n_rows, n_columns)
    detector, rows = EOSDetector().fit(X), MemoryRows(X, None, np.asarray)
    place = (detector.model_, rows, detector.theta_, detector.alpha_)
    matrix = np.random.default_rng(0).standard_normal((2000, 2000))

    def median(function: Callable[[], object]) -> float:
        return statistics.median(measure_seconds(function) for _ in range(9))

    flops = len(X) * X.shape[1] * (X.shape[1] + 1) * 2  # two triangles of products and sums
    fused = median(lambda: visit(*place))
    with patch("eosparse.models.fused.is_large", return_value=False):
        by_numpy = median(lambda: visit(*place))
    summed, product = median(X.sum), median(lambda: matrix @ matrix)
    return [
        {"what": "a pass, ms", "value": 1e3 * fused},
        {"what": "a pass by NumPy and BLAS, ms", "value": 1e3 * by_numpy},
        {"what": "a pass, GFlop/s", "value": flops / fused / 1e9},
        {"what": "BLAS at its best, GFlop/s", "value": 2 * 2000**3 / product / 1e9},
        {"what": "a pass, GB/s read", "value": X.nbytes / fused / 1e9},
        {"what": "one thread summing the rows, GB/s", "value": X.nbytes / summed / 1e9},
        {"what": "threads", "value": THREADS},
    ]
