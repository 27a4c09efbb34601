"""d. The points of the paper's panels E and F."""

from __future__ import annotations

import numpy as np

from benchmarks.bench import Bench, count_repetitions
from eosparse import EOSDetector
from eosparse.comparison.intervals import summarise
from eosparse.comparison.panels.contamination import ALPHA_BY_COLUMNS, ALPHA_BY_SHARE
from eosparse.comparison.peers.eos import AUTHOR_OPTIONS
from eosparse.comparison.runner import Row
from eosparse.datasets import make_contaminated
from eosparse.fitting.judge import Rule, find_judge
from eosparse.models import Fit, Normal
from eosparse.rows import MemoryRows


def _list_points() -> list[Row]:
    """Return each point with the α that the author tuned for it."""
    in_e = [
        {"panel": "E", "n_samples": 2000, "n_features": d, "contamination": 0.02, "alpha": alpha}
        for d, alpha in ALPHA_BY_COLUMNS.items()
    ]
    in_f = [
        {"panel": "F", "n_samples": 1000, "n_features": 150, "contamination": p, "alpha": alpha}
        for p, alpha in ALPHA_BY_SHARE.items()
    ]
    return in_e + in_f


def measure(
    panel: str, n_samples: int, n_features: int, contamination: float, alpha: float, repetition: int
) -> list[Row]:
    X, truth = make_contaminated(n_samples, n_features, contamination, random_state=repetition)
    default = EOSDetector().fit(X)
    author = EOSDetector(alpha, **AUTHOR_OPTIONS, random_state=repetition).fit(X)
    flagged = {
        # One fit, judged at three rates.
        f"fdr={fdr:g}": _flag(default._judge.fit, X, fdr)
        for fdr in (0.05, 0.01, 0.001)
    }
    flagged["author's α and rule"] = author.is_outlier_
    key = {"panel": panel, "columns": n_features, "contamination": contamination}
    return [key | {"method": name} | _measure_flags(rows, truth) for name, rows in flagged.items()]


def _flag(fit: Fit[Normal], X: np.ndarray, fdr: float) -> np.ndarray:
    distances = MemoryRows(X).map(fit.measure)
    return find_judge(fit, distances, Rule("fdr", fdr)).is_outlier(distances.values)


def _measure_flags(flagged: np.ndarray, truth: np.ndarray) -> Row:
    found = np.count_nonzero(flagged & truth)
    return {
        "precision": found / max(np.count_nonzero(flagged), 1),
        "recall": found / np.count_nonzero(truth),
    }


def _count_full(n_features: int) -> int:
    """Return the repetitions of a point: fewer where a fit takes seconds."""
    return 50 if n_features <= 200 else 16 if n_features <= 500 else 4


def run(bench: Bench) -> None:
    settings = [
        point | {"repetition": r}
        for point in _list_points()
        for r in range(count_repetitions(bench.scale, _count_full(point["n_features"])))
    ]
    raw = bench.run_units("detector_d", measure, settings)
    by = ["panel", "columns", "contamination", "method"]
    table = summarise(raw, by, ["precision", "recall"])
    bench.report("detector_d", "d. Points of panels E and F", raw, table)
    from_ten = table[table["columns"] >= 10].groupby("method", sort=False)
    print("\nlowest means from D = 10 on:")
    print(from_ten[["precision", "recall"]].min().round(4).to_string())
