"""c. Time of cells, in units of np.cov, how it grows, and that of DDC.

Seconds are those of the processor, on one thread: other work on the machine adds less to them.
Fits, passes and np.cov take turns, and medians are shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.bench import ALONE_ON_ONE_THREAD, Bench
from benchmarks.cells.robpy import has_robpy, run_robpy
from eosparse import EOSCells
from eosparse.comparison.runner import Row
from eosparse.core import FloatArray, visit
from eosparse.rows import MemoryRows

# Rows and columns.
SIZES = ((25_000, 50), (100_000, 50), (400_000, 50), (100_000, 25), (100_000, 100))
# The largest takes DDC of robpy minutes on a busy machine.
PEER_SIZES = ((10_000, 50), (40_000, 50), (100_000, 50))
_REPEATS = 3


def draw(n_rows: int, n_columns: int) -> FloatArray:
    rng = np.random.default_rng(82_000)
    factors = rng.normal(size=(n_rows, 5)) @ rng.normal(size=(5, n_columns))
    X = factors + rng.normal(size=(n_rows, n_columns))
    X[rng.random(X.shape) < 0.01] += 20
    return np.asarray(X)


def _time(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def measure(n_rows: int, n_columns: int) -> list[Row]:
    X = draw(n_rows, n_columns)
    model = EOSCells(margins=False).fit(X)  # compiles
    result, rows = model._fit.fit.result, MemoryRows(X).prepare_with(model._fit.view)
    works: dict[str, Callable[[], object]] = {
        "fit": lambda: EOSCells(margins=False).fit(X),
        "np.cov": lambda: np.cov(X.T),
        "pass": lambda: visit(model._fit.fit.model, rows, result.theta, result.alpha),
    }
    times = pd.DataFrame(
        {name: _time(work) for name, work in works.items()} for _ in range(_REPEATS)
    ).median()
    return [
        {
            "rows": n_rows,
            "columns": n_columns,
            "seconds": times["fit"],
            "np.cov": times["np.cov"],
            "times np.cov": times["fit"] / times["np.cov"],
            "passes": model.n_iter_,
            "a pass, times np.cov": times["pass"] / times["np.cov"],
        }
    ]


def measure_peer(n_rows: int, n_columns: int) -> list[Row]:
    """Time a fit and DDC on the same table."""
    X = draw(n_rows, n_columns)
    EOSCells(margins=False).fit(X)
    row: Row = {"rows": n_rows, "columns": n_columns}
    row["EOSCells, seconds"] = _time(lambda: EOSCells(margins=False).fit(X))
    found = run_robpy(X, "DDC")
    row["DDC, seconds"] = np.nan if found is None else float(found["work"])
    return [row]


def find_growth(table: pd.DataFrame, along: str, seconds: str) -> float:
    """Return the exponent of a power law."""
    return float(np.polyfit(np.log(table[along]), np.log(table[seconds]), 1)[0])


def run(bench: Bench) -> None:
    sizes = SIZES if bench.scale >= 1 else [(int(n * bench.scale), d) for n, d in SIZES]
    settings = [{"n_rows": n, "n_columns": d} for n, d in sizes]
    table = bench.run_units("cells_c", measure, settings, ALONE_ON_ONE_THREAD)
    (n_rows, n_columns) = sizes[1]
    for along, part in (
        ("rows", table[table["columns"] == n_columns]),
        ("columns", table[table["rows"] == n_rows]),
    ):
        table[f"growth in {along}"] = find_growth(part, along, "seconds")
    bench.report("cells_c", "c. Time of cells", None, table)
    if has_robpy():
        settings = [{"n_rows": n, "n_columns": d} for n, d in PEER_SIZES]
        peer = bench.run_units("cells_c_peer", measure_peer, settings, ALONE_ON_ONE_THREAD)
        for name in ("EOSCells", "DDC"):
            peer[f"{name}, growth"] = find_growth(peer, "rows", f"{name}, seconds")
        bench.report("cells_c_peer", "c. Time of DDC", None, peer)
