"""b. False-discovery proportion and recall at fdr=0.05, beside FastMCD with its usual cut."""

from __future__ import annotations

import numpy as np

from benchmarks.bench import Bench, count_repetitions
from eosparse import EOSDetector
from eosparse.comparison.intervals import summarise
from eosparse.comparison.peers import PEERS
from eosparse.comparison.runner import Row
from eosparse.datasets import make_contaminated

# FastMCD is slow, and its excess of false discoveries shows in a few repetitions.
_REPETITIONS_MCD = 4


def _measure_flags(flagged: np.ndarray, is_outlier: np.ndarray) -> Row:
    """Return the false-discovery proportion, 0 if nothing is flagged, and the recall."""
    n_flagged = np.count_nonzero(flagged)
    n_false = np.count_nonzero(flagged & ~is_outlier)
    return {
        "false discoveries": n_false / max(n_flagged, 1),
        "recall": flagged[is_outlier].mean() if is_outlier.any() else np.nan,
    }


def measure(outliers: str, contamination: float, n_features: int, repetition: int) -> list[Row]:
    n_samples = max(1000, 20 * n_features)
    X, truth = make_contaminated(
        n_samples, n_features, contamination, outliers=outliers, random_state=repetition
    )
    flagged = {"eosparse": EOSDetector(fdr=0.05).fit(X).is_outlier_}
    if repetition < _REPETITIONS_MCD:
        flagged["FastMCD, χ² 0.975"] = PEERS["FastMCD (scikit-learn)"].run(X, 0).flagged
    key = {"outliers": outliers, "contamination": contamination, "columns": n_features}
    return [key | {"method": name} | _measure_flags(one, truth) for name, one in flagged.items()]


def _count_full(n_features: int, contamination: float) -> int:
    """Return the repetitions of a setting: fewer where a fit takes longer."""
    return {2: 200, 10: 100}.get(n_features, 24) if contamination else 160


def run(bench: Bench) -> None:
    settings = [
        {"outliers": outliers, "contamination": p, "n_features": d, "repetition": r}
        for p in (0.0, 0.02, 0.1, 0.3)
        for outliers in (("uniform", "clustered", "radial") if p else ("uniform",))
        for d in (2, 10, 50, 100)
        for r in range(count_repetitions(bench.scale, _count_full(d, p), least=3))
    ]
    raw = bench.run_units("detector_b", measure, settings)
    by = ["contamination", "outliers", "columns", "method"]
    table = summarise(raw, by, ["false discoveries", "recall"])
    table = table.sort_values(by, kind="stable")
    bench.report("detector_b", "b. False discoveries and recall at fdr=0.05", raw, table)
    ours = table[table["method"] == "eosparse"]
    n_above = np.count_nonzero(ours["false discoveries"] - ours["false discoveries ±"] > 0.05)
    print(f"\nsettings whose interval lies above .05: {n_above} of {len(ours)}")
