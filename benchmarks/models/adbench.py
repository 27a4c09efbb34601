"""The 21 ADBench development sets with each model, one setting for all, no labels used.

A rule picks one model per set: *the one under which the bulk follows its law best*, by the
Kolmogorov distance between the p-values above 0.1 and the uniform law. The rule was fixed before it
was run. Regression has no target here and is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import kstest
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.bench import Bench
from eosparse import EOSDetector
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import compute_half_interval
from eosparse.comparison.panels.adbench import SHRUNK, SHRUNK_OPTIONS, load_set, make_grid
from eosparse.comparison.runner import Row

GAUSSIAN = "gaussian"
MODELS: dict[str, dict[str, Any]] = {
    GAUSSIAN: {},
    SHRUNK: SHRUNK_OPTIONS,
    "clusters": {"model": "clusters"},
    "subspace": {"model": "subspace"},
    "mixture": {"model": "mixture"},
}
# The rule picks among these. The plain Gaussian is left out: SHRUNK is meant for real tables.
PICKED_FROM = (SHRUNK, "clusters", "subspace", "mixture")
# Beyond this many columns three full covariances take hours.
_MOST_COLUMNS_MIXTURE = 300
# The bulk: outliers have smaller p-values.
_LEAST_P = 0.1


def measure_distance(p_values: Any) -> float:
    """Return the Kolmogorov distance of the p-values above 0.1 from the uniform law."""
    p = np.asarray(p_values, dtype=np.float64)
    bulk = (p[p > _LEAST_P] - _LEAST_P) / (1 - _LEAST_P)
    return float(kstest(bulk, "uniform").statistic) if len(bulk) else 1.0


def measure(set: str, method: str) -> list[Row]:
    X, truth = load_set(DataFolder.locate(None).path / "adbench" / f"{set}.npz")
    row: Row = {"set": set, "method": method, "columns": X.shape[1], "rows": len(X)}
    if method == "mixture" and X.shape[1] > _MOST_COLUMNS_MIXTURE:
        return [row | {"status": "too many columns"}]
    try:
        detector = EOSDetector(**MODELS[method]).fit(X)
    except ValueError as error:
        return [row | {"status": str(error)[:80]}]
    scores = -np.clip(detector.score_samples(X), -1e300, 1e300)
    found = {
        "AUC-ROC": roc_auc_score(truth, scores),
        "AUC-PR": average_precision_score(truth, scores),
    }
    return [row | {"status": "ok", "from its law": measure_distance(detector.p_values_)} | found]


def pick_models(good: pd.DataFrame) -> pd.DataFrame:
    """Return, for each set, the row of the model that the rule picks."""
    among = good[good["method"].isin(PICKED_FROM)]
    return among.loc[among.groupby("set")["from its law"].idxmin()]


def run(bench: Bench) -> None:
    data = DataFolder.locate(None)
    if (missing := data.explain_missing(["adbench"])) is not None:
        print(f"\nadbench did not run: {missing}")
        return
    settings = [
        s | {"method": m} for s in make_grid(bench.scale < 1, data).settings for m in MODELS
    ]
    raw = bench.run_units("models_adbench", measure, settings)
    failed = raw.loc[raw["status"] != "ok", ["set", "method", "status"]]
    print("\nnot finished:", failed.to_numpy().tolist())
    good = raw[raw["status"] == "ok"]
    rule = pick_models(good)
    print("\npicked:", dict(zip(rule["set"], rule["method"], strict=True)))
    both = pd.concat([good, rule.assign(method="picked by the rule")])
    bench.report("models_adbench", "ADBench sets by model: means in percent", both, _average(both))


def _average(rows: pd.DataFrame) -> pd.DataFrame:
    table = pd.DataFrame()
    for measure in ("AUC-ROC", "AUC-PR"):
        wide = 100 * rows.pivot_table(index="set", columns="method", values=measure)
        gaps = wide.sub(wide[SHRUNK], axis=0)
        table[measure] = wide.mean()
        table[f"{measure} less the Gaussian's"] = gaps.mean()
        table[f"{measure} ±"] = gaps.apply(compute_half_interval)
    table["sets"] = rows.groupby("method").size()
    return table.reset_index().sort_values("AUC-ROC", ascending=False)
