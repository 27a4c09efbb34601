"""f. Time of robust covariances at 20,000 rows, 20 columns, 20 % outliers, one thread."""

from __future__ import annotations

import os
import statistics
import time

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.detector.peers import available, has_robustbase
from benchmarks.reporting import report
from eosparse.datasets import make_contaminated


def run(scale: float) -> None:
    X, _ = make_contaminated(20_000, 20, 0.2, random_state=0)
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # for R
    repeats = max(1, round(3 * scale))
    rows = []
    with threadpool_limits(1):
        reference = statistics.median(_seconds_of_cov(X) for _ in range(15))
        for name, fit in available().items():
            many = 5 * repeats if name == "eosparse" else repeats
            fits = [fit(X) for _ in range(many)]
            error = np.linalg.norm(fits[-1].covariance - np.eye(20)) / np.linalg.norm(np.eye(20))
            seconds = statistics.median(found.seconds for found in fits)
            rows.append({"estimator": name, "seconds": seconds, "error of Σ": error})
    table = pd.DataFrame(rows)
    ours = table.loc[table["estimator"] == "eosparse", "seconds"].item()
    table["times np.cov"] = table["seconds"] / reference
    table["times eosparse"] = table["seconds"] / ours
    report("detector_f", "f. Seconds at 20,000 × 20, 20 % outliers, one thread", None, table)
    if not has_robustbase():
        print("not run: R's robustbase (Rscript or the package is missing)")


def _seconds_of_cov(X: np.ndarray) -> float:
    begun = time.perf_counter()
    np.cov(X, rowvar=False)
    return time.perf_counter() - begun
