"""e. Dask: one worker process against two, and against the same fit in memory."""

from __future__ import annotations

import statistics
import warnings

import dask.array as da
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from benchmarks.reporting import report
from benchmarks.speed.timing import seconds, table
from eosparse import EOSDetector

_SHAPE, _CHUNK = (4_000_000, 20), 250_000


def run() -> None:
    X = table(*_SHAPE)
    detector = EOSDetector()
    rows = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            detector.fit(X[:100_000])
            spent = statistics.median(seconds(lambda: detector.fit(X)) for _ in range(5))
        rows.append({"rows in": f"memory, {threads} threads", "fit, s": spent})
    for workers in (1, 2):
        rows.append({"rows in": f"Dask, {workers} workers", "fit, s": _on_workers(X, workers)})
    result = pd.DataFrame(rows)
    result["times memory, 1 thread"] = result["fit, s"] / result["fit, s"].iloc[0]
    result["passes"] = detector.n_iter_
    report("speed_e", "e. 4,000,000 × 20 on a local cluster", None, result)


def _on_workers(X: np.ndarray, n_workers: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            rows = client.persist(da.from_array(X, chunks=(_CHUNK, X.shape[1])))
            EOSDetector().fit(rows)  # compiled code is loaded once in every worker
            return statistics.median(seconds(lambda: EOSDetector().fit(rows)) for _ in range(3))
