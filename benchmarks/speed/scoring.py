"""f. Scoring: rows per second, beside scikit-learn's isolation forest."""

from __future__ import annotations

import statistics

from benchmarks.bench import ALONE, Bench
from benchmarks.speed.timing import THREADS, make_table, measure_seconds
from eosparse import EOSDetector
from eosparse.comparison.peers.detectors import make_isolation_forest
from eosparse.comparison.runner import Row

_FOREST = "isolation forest"


def measure(n_rows: int, n_columns: int) -> list[Row]:
    X = make_table(n_rows, n_columns)
    detector = EOSDetector().fit(X)
    forest = make_isolation_forest(0, n_jobs=-1).fit(X[:100_000])
    rows = []
    for name, score, block, runs in (
        ("eosparse, scores", detector.score_samples, X, 7),
        ("eosparse, p-values", detector.p_values, X, 3),
        # Its time per row does not depend on their number.
        (_FOREST, forest.score_samples, X[:50_000], 3),
    ):
        score(block)  # loads compiled code
        times = [
            measure_seconds(lambda score=score, block=block: score(block)) for _ in range(runs)
        ]
        speed = len(block) / statistics.median(times)
        rows.append({"columns": n_columns, "method": name, "rows per second": speed})
    return rows


def run(bench: Bench) -> None:
    sizes = {5: 1_000_000, 20: 1_000_000, 100: 200_000}
    settings = [
        {"n_rows": max(1000, round(bench.scale * n)), "n_columns": d} for d, n in sizes.items()
    ]
    result = bench.run_units("speed_f", measure, settings, ALONE)
    forests = result[result["method"] == _FOREST].set_index("columns")
    result["times isolation forest"] = result["rows per second"] / result["columns"].map(
        forests["rows per second"]
    )
    result["threads"] = THREADS
    bench.report("speed_f", "f. Scoring", None, result)
