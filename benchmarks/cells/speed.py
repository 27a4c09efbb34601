"""c. Time of cells, in units of np.cov, and how it grows."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.bench import ALONE_ON_ONE_THREAD, Bench
from benchmarks.cells.robpy import has_robpy, run_robpy
from eosparse import EOSCells
from eosparse.comparison.runner import Row
from eosparse.core import FloatArray

# Rows and columns; DDC of robpy takes minutes for the largest.
SIZES = ((25_000, 50), (100_000, 50), (400_000, 50), (100_000, 25), (100_000, 100))
_PEER = (100_000, 50)
_REPEATS = 3


def draw(n_rows: int, n_columns: int) -> FloatArray:
    rng = np.random.default_rng(82_000)
    factors = rng.normal(size=(n_rows, 5)) @ rng.normal(size=(5, n_columns))
    X = factors + rng.normal(size=(n_rows, n_columns))
    X[rng.random(X.shape) < 0.01] += 20
    return np.asarray(X)


def measure(n_rows: int, n_columns: int) -> list[Row]:
    X = draw(n_rows, n_columns)
    covs, fits = [], []
    for _ in range(_REPEATS):
        begun = time.perf_counter()
        np.cov(X.T)
        covs.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        model = EOSCells(margins=False).fit(X)
        fits.append(time.perf_counter() - begun)
    unit, seconds = float(np.median(covs)), float(np.median(fits))
    row: Row = {"rows": n_rows, "columns": n_columns, "seconds": seconds, "np.cov": unit}
    row |= {"times np.cov": seconds / unit, "passes": model.n_iter_}
    row["a pass, times np.cov"] = _time_pass(model, X) / unit
    if has_robpy() and (n_rows, n_columns) == _PEER:
        found = run_robpy(X, "DDC")
        row["DDC, seconds"] = np.nan if found is None else float(found["seconds"])
    return [row]


def _time_pass(model: EOSCells, X: FloatArray) -> float:
    """Return the seconds of one pass over the rows."""
    fit, z, seconds = model._fit.fit, model._fit.view(X), []
    for _ in range(_REPEATS):
        begun = time.perf_counter()
        fit.model.visit(z, None, fit.result.theta, fit.result.alpha)
        seconds.append(time.perf_counter() - begun)
    return float(np.median(seconds))


def run(bench: Bench) -> None:
    sizes = SIZES if bench.scale >= 1 else [(int(n * bench.scale), d) for n, d in SIZES]
    settings = [{"n_rows": n, "n_columns": d} for n, d in sizes]
    raw = bench.run_units("cells_c", measure, settings, ALONE_ON_ONE_THREAD)
    bench.report("cells_c", "c. Time of cells", None, raw)
