"""b. False-discovery proportion and recall at fdr=0.05, beside FastMCD with its usual cut."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2
from sklearn.covariance import MinCovDet

from benchmarks.reporting import Row, report, run_units, summarise
from eosparse import EOSDetector
from eosparse.datasets import make_contaminated


def outcome(flagged: np.ndarray, is_outlier: np.ndarray) -> Row:
    """False-discovery proportion (0 if nothing is flagged) and recall."""
    n_flagged = np.count_nonzero(flagged)
    false = np.count_nonzero(flagged & ~is_outlier)
    return {
        "false discoveries": false / max(n_flagged, 1),
        "recall": flagged[is_outlier].mean() if is_outlier.any() else np.nan,
    }


def unit(outliers: str, contamination: float, n_features: int, repetition: int) -> list[Row]:
    n_samples = max(1000, 20 * n_features)
    X, truth = make_contaminated(
        n_samples, n_features, contamination, outliers=outliers, random_state=repetition
    )
    key = {"outliers": outliers, "contamination": contamination, "columns": n_features}
    rows = [key | {"method": "eosparse"} | outcome(EOSDetector(fdr=0.05).fit(X).is_outlier_, truth)]
    if repetition < 4:
        mcd = MinCovDet(random_state=0).fit(X)
        flagged = mcd.mahalanobis(X) > chi2.ppf(0.975, n_features)
        rows.append(key | {"method": "FastMCD, χ² 0.975"} | outcome(flagged, truth))
    return rows


def run(scale: float) -> None:
    settings = [
        {"outliers": outliers, "contamination": p, "n_features": d, "repetition": r}
        for p in (0.0, 0.02, 0.1, 0.3)
        for outliers in (("uniform", "clustered", "radial") if p else ("uniform",))
        for d in (2, 10, 50, 100)
        for r in range(max(3, round(scale * ({2: 200, 10: 100}.get(d, 24) if p else 160))))
    ]
    raw = run_units(unit, settings)
    by = ["contamination", "outliers", "columns", "method"]
    table = summarise(raw, by, ["false discoveries", "recall"])
    table = table.sort_values(by, kind="stable")
    report("detector_b", "b. False discoveries and recall at fdr=0.05", raw, table)
    ours = table[table["method"] == "eosparse"]
    n_above = np.count_nonzero(ours["false discoveries"] - ours["false discoveries ±"] > 0.05)
    print(f"\nsettings whose interval lies above .05: {n_above} of {len(ours)}")
