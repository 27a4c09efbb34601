"""e. Dask: one worker process against two, and against the same fit in memory."""

from __future__ import annotations

import statistics

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from benchmarks.bench import ALONE, Bench
from benchmarks.speed.timing import make_table, measure_seconds
from eosparse import EOSDetector
from eosparse.comparison.runner import Row

_SHAPE, _CHUNK = (4_000_000, 20), 250_000


def measure(n_rows: int, where: str, count: int) -> list[Row]:
    """Return the time of a fit in memory on some threads, or on some workers of Dask."""
    X = make_table(n_rows, _SHAPE[1])
    fit = _fit_in_memory if where == "memory" else _fit_on_workers
    seconds, n_iter = fit(X, count)
    unit = "threads" if where == "memory" else "workers"
    return [{"rows in": f"{where}, {count} {unit}", "fit, s": seconds, "passes": n_iter}]


def _fit_in_memory(X: np.ndarray, n_threads: int) -> tuple[float, int]:
    detector = EOSDetector()
    with threadpool_limits(n_threads):
        detector.fit(X[:100_000])  # loads compiled code
        times = [measure_seconds(lambda: detector.fit(X)) for _ in range(5)]
    return statistics.median(times), detector.n_iter_


def _fit_on_workers(X: np.ndarray, n_workers: int) -> tuple[float, int]:
    detector = EOSDetector()
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        rows = client.persist(da.from_array(X, chunks=(_CHUNK, X.shape[1])))
        detector.fit(rows)  # loads compiled code in every worker
        times = [measure_seconds(lambda: EOSDetector().fit(rows)) for _ in range(3)]
    return statistics.median(times), detector.n_iter_


def run(bench: Bench) -> None:
    n_rows = max(10_000, round(bench.scale * _SHAPE[0]))
    settings = [
        {"n_rows": n_rows, "where": where, "count": count}
        for where in ("memory", "Dask")
        for count in (1, 2)
    ]
    result = bench.run_units("speed_e", measure, settings, ALONE)
    result["times memory, 1 thread"] = result["fit, s"] / result["fit, s"].iloc[0]
    result["passes"] = result.pop("passes")  # the last column
    bench.report("speed_e", f"e. {n_rows:,} × 20 on a local cluster", None, result)
