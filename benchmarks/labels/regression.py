"""f. Regression with gross outliers in y, and in X: error of the coefficients."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.bench import Bench, count_repetitions
from eosparse.comparison.intervals import summarise
from eosparse.comparison.peers import PEERS, Task, list_peers
from eosparse.comparison.runner import Row
from eosparse.core import FloatArray


def make_rows(
    where: str, p: float, n_features: int, repetition: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return 300 Gaussian rows, y with unit noise, and the true coefficients.

    Outliers are 10 to 40 off in y, or 5 to 10 off in every column of X.
    """
    rng = np.random.default_rng(repetition)
    X = rng.standard_normal((300, n_features))
    truth = rng.uniform(-3, 3, n_features)
    y = X @ truth + rng.standard_normal(300)
    count = round(p * 300)
    if where == "y":
        y[:count] += rng.uniform(10, 40, count)
    else:
        X[:count] += rng.uniform(5, 10, (count, n_features))
    return X, y, truth


def measure(where: str, p: float, n_features: int, repetition: int) -> list[Row]:
    X, y, truth = make_rows(where, p, n_features, repetition)
    rows = []
    for name in list_peers(Task.REGRESS):
        begun = time.perf_counter()
        error = float(np.linalg.norm(PEERS[name].run(X, y) - truth))
        rows.append(
            {"outliers in": where, "p": p, "columns": n_features, "method": name}
            | {"error": error, "seconds": time.perf_counter() - begun}
        )
    return rows


def run(bench: Bench) -> None:
    settings = [
        {"where": where, "p": p, "n_features": d, "repetition": r}
        for where in ("y", "X")
        for p in (0.0, 0.1, 0.2, 0.3, 0.4)
        for d in (2, 10)
        for r in range(count_repetitions(bench.scale, 30))
    ]
    raw = bench.run_units("labels_f", measure, settings)
    key = ["outliers in", "columns", "p"]
    summary = summarise(raw, [*key, "method"], ["error", "seconds"])
    bench.report("labels_f", "f. Error of the coefficients", raw, summary)
    wide = summary.pivot_table(index=key, columns="method", values="error")
    print("\n" + wide.round(3).to_string(), flush=True)
