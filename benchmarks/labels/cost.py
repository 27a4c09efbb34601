"""g. Cost in plain fits of the wrapped model, beside cleanlab's CleanLearning; one thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.bench import ALONE_ON_ONE_THREAD, Bench
from benchmarks.speed.timing import measure_seconds
from eosparse import EOSClassifier, SPAClassifier
from eosparse.comparison.label_sets import split_set
from eosparse.comparison.peers import PEERS
from eosparse.comparison.runner import Row

_RUNS = 5
_MODELS = ("LogReg", "forest", "boosting")
# Rows, columns and boxes of SPA, one varied at a time.
_SIZES = (
    (20_000, 20, 8), (40_000, 20, 8), (80_000, 20, 8),
    (20_000, 40, 8), (20_000, 80, 8), (20_000, 20, 16), (20_000, 20, 32),
)  # fmt: skip


def _measure_median(fit: Callable[[], object]) -> float:
    return float(np.median([measure_seconds(fit) for _ in range(_RUNS)]))


def measure_wrapped(model: str) -> list[Row]:
    """Return the cost of EOS and of CleanLearning around a model, in fits of the model itself."""
    from cleanlab.classification import CleanLearning

    table, make = split_set("wdbc", "exact", 0.2, 0), PEERS[model].run
    X, y = table.X, table.given
    row: Row = {}
    for label, wrapped in (
        ("α given", EOSClassifier(make(), 1.0)),
        ("auto", EOSClassifier(make())),
    ):
        seconds = _measure_median(lambda wrapped=wrapped: wrapped.fit(X, y))
        row |= {f"{label}, times plain": seconds, f"{label}, fits": wrapped.n_fits_}
    options = {"seed": 0, "find_label_issues_kwargs": {"n_jobs": 1}}
    row["CleanLearning, times plain"] = _measure_median(
        lambda: CleanLearning(make(), **options).fit(X, y)
    )
    plain = _measure_median(lambda: make().fit(X, y))
    ratios = {name: value / plain if "times" in name else value for name, value in row.items()}
    return [{"model": model, "plain, s": plain} | ratios]


def measure_spa(n_rows: int, n_columns: int, n_boxes: int) -> list[Row]:
    """Return the time of plain SPA with α and boxes given."""
    X = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    y = (X[:, 0] > 0).astype(int)
    plain = {"epsilon_features": None, "units": "equal", "temperature": 1.0}
    spa = SPAClassifier(n_boxes, **plain, alpha=1.0, tol=0.0, max_iter=20)
    seconds = _measure_median(lambda: spa.fit(X, y))
    size = {"rows": n_rows, "columns": n_columns, "boxes": n_boxes}
    return [size | {"seconds": seconds, "per pass": seconds / spa.n_iter_}]


def run(bench: Bench) -> None:
    models = [{"model": name} for name in _MODELS]
    wrapped = bench.run_units("labels_g", measure_wrapped, models, ALONE_ON_ONE_THREAD)
    bench.report("labels_g", "g. Cost (WDBC, p = .2, one thread)", None, wrapped)
    sizes = [{"n_rows": n, "n_columns": d, "n_boxes": k} for n, d, k in _SIZES]
    table = bench.run_units("labels_g_spa", measure_spa, sizes, ALONE_ON_ONE_THREAD)
    table["times the first"] = table["per pass"] / table["per pass"].iloc[0]
    bench.report("labels_g_spa", "g. SPA, α and boxes given: seconds", None, table)
