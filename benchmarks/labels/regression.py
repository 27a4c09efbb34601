"""f. Regression with gross outliers in y, and in X: error of the coefficients."""

from __future__ import annotations

import time

import numpy as np
import statsmodels.api as sm
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    RANSACRegressor,
    TheilSenRegressor,
)

from benchmarks.reporting import Row, report, run_resumable, summarise
from eosparse import EOSRegressor


def _sklearn(model):
    def coefficients(X, y):
        fitted = model().fit(X, y)
        return getattr(fitted, "estimator_", fitted).coef_

    return coefficients


def _rlm(norm):
    def coefficients(X, y):
        return sm.RLM(y, sm.add_constant(X), M=norm()).fit().params[1:]

    return coefficients


METHODS = {
    "EOSRegressor": _sklearn(EOSRegressor),
    "least squares": _sklearn(LinearRegression),
    "Huber": _sklearn(lambda: HuberRegressor(max_iter=500)),
    "RANSAC": _sklearn(lambda: RANSACRegressor(random_state=0)),
    "Theil-Sen": _sklearn(lambda: TheilSenRegressor(random_state=0, max_subpopulation=2000)),
    "RLM (Huber)": _rlm(sm.robust.norms.HuberT),
    "RLM (Tukey)": _rlm(sm.robust.norms.TukeyBiweight),
}


def table(where: str, p: float, n_features: int, repetition: int):
    """Gaussian rows, unit noise; outliers 10 to 40 off in y, or 5 to 10 off in every column."""
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


def unit(where: str, p: float, n_features: int, repetition: int) -> list[Row]:
    X, y, truth = table(where, p, n_features, repetition)
    rows = []
    for name, coefficients in METHODS.items():
        begun = time.perf_counter()
        error = float(np.linalg.norm(coefficients(X, y) - truth))
        rows.append(
            {"outliers in": where, "p": p, "columns": n_features, "method": name}
            | {"error": error, "seconds": time.perf_counter() - begun}
        )
    return rows


def run(scale: float) -> None:
    settings = [
        {"where": where, "p": p, "n_features": d, "repetition": r}
        for where in ("y", "X")
        for p in (0.0, 0.1, 0.2, 0.3, 0.4)
        for d in (2, 10)
        for r in range(max(2, round(30 * scale)))
    ]
    raw = run_resumable("labels_f", unit, settings)
    by = ["outliers in", "columns", "p", "method"]
    summary = summarise(raw, by, ["error", "seconds"])
    report("labels_f", "f. Error of the coefficients", raw, summary)
    wide = summary.pivot_table(
        index=["outliers in", "columns", "p"], columns="method", values="error"
    )
    print("\n" + wide.round(3).to_string(), flush=True)
