"""f. Scoring: rows per second, beside scikit-learn's isolation forest."""

from __future__ import annotations

import statistics

import pandas as pd
from sklearn.ensemble import IsolationForest

from benchmarks.reporting import report
from benchmarks.speed.timing import THREADS, seconds, table
from eosparse import EOSDetector


def run() -> None:
    rows = []
    for d in (5, 20, 100):
        X = table(1_000_000 if d < 100 else 200_000, d)
        detector = EOSDetector().fit(X)
        forest = IsolationForest(random_state=0, n_jobs=-1).fit(X[:100_000])
        some = X[:50_000]
        for name, score, block, runs in (
            ("eosparse, scores", detector.score_samples, X, 7),
            ("eosparse, p-values", detector.p_values, X, 3),
            ("isolation forest", forest.score_samples, some, 3),
        ):
            score(block)
            spent = statistics.median(
                seconds(lambda score=score, block=block: score(block)) for _ in range(runs)
            )
            rows.append({"columns": d, "method": name, "rows per second": len(block) / spent})
    result = pd.DataFrame(rows)
    forests = result[result["method"] == "isolation forest"].set_index("columns")
    result["times isolation forest"] = result["rows per second"] / result["columns"].map(
        forests["rows per second"]
    )
    result["threads"] = THREADS
    report("speed_f", "f. Scoring", None, result)
