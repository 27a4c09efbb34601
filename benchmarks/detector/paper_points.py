"""d. The points of the paper's panels E and F."""

from __future__ import annotations

import warnings

import numpy as np
from eosparse.fitting.gaussian_fit import GaussianFit
from eosparse.fitting.read_out import Judgement, Rule, read_out

from benchmarks.reporting import Row, report, run_units, summarise
from eosparse import EOSDetector
from eosparse.comparison.contamination import ALPHA_BY_COLUMNS, ALPHA_BY_SHARE
from eosparse.datasets import make_contaminated
from eosparse.rows import MemoryRows


def _points() -> list[Row]:
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


def unit(
    panel: str, n_samples: int, n_features: int, contamination: float, alpha: float, repetition: int
) -> list[Row]:
    X, truth = make_contaminated(n_samples, n_features, contamination, random_state=repetition)
    # The author's run: random weights, T·w < .01. Singular tables need no rule of their own here.
    author = EOSDetector(
        alpha, weight_cut=0.01, start="random", random_state=repetition, shrinkage=0.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default = EOSDetector().fit(X)
        author.fit(X)
    flagged = {
        # The fit does not depend on the rate: it is read out at three.
        f"fdr={fdr:g}": _flagged(default._fit_, X, fdr)
        for fdr in (0.05, 0.01, 0.001)
    }
    flagged["author's α and rule"] = author.is_outlier_
    key = {"panel": panel, "columns": n_features, "contamination": contamination}
    return [key | {"method": name} | _outcome(rows, truth) for name, rows in flagged.items()]


def _flagged(fit: GaussianFit, X: np.ndarray, fdr: float) -> np.ndarray:
    distances = MemoryRows(X).map(fit.uncorrected_distances)
    judge = read_out(fit, distances, Rule("fdr", fdr)).judge
    return Judgement(judge, "is_outlier").of(distances.values)


def _outcome(flagged: np.ndarray, truth: np.ndarray) -> Row:
    found = np.count_nonzero(flagged & truth)
    return {
        "precision": found / max(np.count_nonzero(flagged), 1),
        "recall": found / np.count_nonzero(truth),
    }


def _repetitions(n_features: int) -> int:
    """Fewer where one fit takes seconds."""
    return 50 if n_features <= 200 else 16 if n_features <= 500 else 4


def run(scale: float) -> None:
    settings = [
        point | {"repetition": r}
        for point in _points()
        for r in range(max(2, round(scale * _repetitions(point["n_features"]))))
    ]
    raw = run_units(unit, settings)
    by = ["panel", "columns", "contamination", "method"]
    table = summarise(raw, by, ["precision", "recall"])
    report("detector_d", "d. Points of panels E and F", raw, table)
    from_ten = table[table["columns"] >= 10].groupby("method", sort=False)
    print("\nlowest means from D = 10 on:")
    print(from_ten[["precision", "recall"]].min().round(4).to_string())
