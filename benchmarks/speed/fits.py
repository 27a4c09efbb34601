"""a. A whole fit against one ``np.cov`` of the same rows, both on all cores."""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks.bench import ALONE, Bench
from benchmarks.speed.timing import THREADS, make_table, measure_ratio, measure_seconds
from eosparse import EOSDetector
from eosparse.comparison.runner import Row

# Rows, columns, and how many times np.cov a fit may take.
_TARGETS = (
    (10**6, 20, 3.5),
    (10**6, 5, 6.0),
    (200_000, 100, 5.0),
    (100_000, 768, 15.0),
    (20_000, 500, 12.0),
    (2_000, 1_500, 40.0),
)
# Tables with more columns than rows, and the seconds that a fit may take.
_WIDE_TARGETS = ((200, 5_000, 3.0),)


def measure(n_rows: int, n_columns: int, target: float) -> list[Row]:
    X, detector = make_table(n_rows, n_columns), EOSDetector()
    fit, cov, times = measure_ratio(
        lambda: detector.fit(X),
        lambda: np.cov(X, rowvar=False),
        # A fit with many columns takes seconds.
        runs=3 if n_columns > 100 else 11,
    )
    error = np.linalg.norm(detector.covariance_ - np.eye(n_columns)) / np.sqrt(n_columns)
    return [
        {"rows": n_rows, "columns": n_columns, "np.cov, s": cov, "fit, s": fit}
        | {"times np.cov": times, "wanted": target, "passes": detector.n_iter_}
        | {"threads": THREADS, "error of Σ": error}
    ]


def measure_wide(n_rows: int, n_columns: int, target: float) -> list[Row]:
    X, detector = make_table(n_rows, n_columns), EOSDetector()
    detector.fit(X)  # loads compiled code
    seconds = statistics.median(measure_seconds(lambda: detector.fit(X)) for _ in range(5))
    return [
        {"rows": n_rows, "columns": n_columns, "fit, s": seconds, "wanted, s": target}
        | {"passes": detector.n_iter_, "threads": THREADS}
    ]


def run(bench: Bench) -> None:
    settings = [
        # A shortened run keeps four rows per column, if the table has as many.
        {"n_rows": min(n, max(4 * d, round(bench.scale * n))), "n_columns": d, "target": target}
        for n, d, target in _TARGETS
    ]
    table = bench.run_units("speed_a", measure, settings, ALONE)
    bench.report("speed_a", "a. A fit in units of np.cov (20 % outliers)", None, table)
    settings = [
        {"n_rows": n, "n_columns": max(2 * n, round(bench.scale * d)), "target": target}
        for n, d, target in _WIDE_TARGETS
    ]
    wide = bench.run_units("speed_a_wide", measure_wide, settings, ALONE)
    bench.report("speed_a_wide", "a. A fit with more columns than rows", None, wide)
