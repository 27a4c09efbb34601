"""g. Cost in plain fits of the wrapped model, beside cleanlab's CleanLearning; one thread."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.reporting import report
from eosparse import EOSClassifier, SPAClassifier
from eosparse.comparison.classifiers import boosting, forest, logistic
from eosparse.comparison.label_sets import split

_RUNS = 5


def _median(fit: Callable[[], object]) -> float:
    times = []
    for _ in range(_RUNS):
        begun = time.perf_counter()
        fit()
        times.append(time.perf_counter() - begun)
    return float(np.median(times))


def run(scale: float) -> None:  # noqa: ARG001  # figures share a signature
    from cleanlab.classification import CleanLearning

    rows = []
    table = split("wdbc", "exact", 0.2, 0)
    X, y = table.X, table.given
    with threadpool_limits(1):
        for name, make in (("LogReg", logistic), ("forest", forest), ("boosting", boosting)):
            counts = {}
            for label, model in (
                ("α given", EOSClassifier(make(), 1.0)),
                ("auto", EOSClassifier(make())),
            ):
                counts[f"{label}, times plain"] = _median(lambda model=model: model.fit(X, y))
                counts[f"{label}, fits"] = model.n_fits_
            counts["CleanLearning, times plain"] = _median(
                lambda make=make: CleanLearning(
                    make(), seed=0, find_label_issues_kwargs={"n_jobs": 1}
                ).fit(X, y)
            )
            plain = _median(lambda make=make: make().fit(X, y))
            ratios = {k: v / plain if "times" in k else v for k, v in counts.items()}
            rows.append({"model": name, "plain, s": plain} | ratios)
        report("labels_g", "g. Cost (WDBC, p = .2, one thread)", None, pd.DataFrame(rows))
        report("labels_g_spa", "g. SPA, α and boxes given: seconds", None, _linear())


def _linear() -> pd.DataFrame:
    """SPA's time against rows, columns and boxes, one varied at a time."""
    rng = np.random.default_rng(0)
    rows = []
    for n, d, k in (
        (20_000, 20, 8), (40_000, 20, 8), (80_000, 20, 8),
        (20_000, 40, 8), (20_000, 80, 8), (20_000, 20, 16), (20_000, 20, 32),
    ):  # fmt: skip
        X = rng.standard_normal((n, d))
        y = (X[:, 0] > 0).astype(int)
        spa = SPAClassifier(k, temperature=1.0, alpha=1.0, tol=0.0, max_iter=20)
        seconds = _median(lambda spa=spa, X=X, y=y: _quiet_fit(spa, X, y))
        per_pass = seconds / spa.n_iter_
        rows.append({"rows": n, "columns": d, "boxes": k, "seconds": seconds, "per pass": per_pass})
    table = pd.DataFrame(rows)
    base = table["per pass"].iloc[0]
    table["times the first"] = table["per pass"] / base
    return table


def _quiet_fit(model, X, y):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)
