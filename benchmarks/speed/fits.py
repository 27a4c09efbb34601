"""a. A whole fit against one ``np.cov`` of the same rows, both on all cores."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reporting import report
from benchmarks.speed.timing import THREADS, ratio, table
from eosparse import EOSDetector

_WANTED = {(10**6, 20): 3.5, (10**6, 5): 6.0, (200_000, 100): 6.0, (20_000, 500): 10.0}


def run() -> None:
    rows = []
    for (n, d), wanted in _WANTED.items():
        X = table(n, d)
        detector = EOSDetector()
        fit, cov, times = ratio(
            lambda detector=detector, X=X: detector.fit(X),
            lambda X=X: np.cov(X, rowvar=False),
            runs=3 if d > 100 else 11,
        )
        rows.append(
            {"rows": n, "columns": d, "np.cov, s": cov, "fit, s": fit, "times np.cov": times}
            | {"wanted": wanted, "passes": detector.n_iter_, "threads": THREADS}
            | {"error of Σ": np.linalg.norm(detector.covariance_ - np.eye(d)) / np.sqrt(d)}
        )
    report("speed_a", "a. A fit in units of np.cov (20 % outliers)", None, pd.DataFrame(rows))
