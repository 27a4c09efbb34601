"""d. Gaps: covariance, false alarms and recall with missing values, against filling or dropping.

Gaps are at random, or more frequent the larger the first column is, which itself has none. Rows of
peers are filled or dropped, and judged by FastMCD at the 1 % level of χ²; ours are judged as they
are, at p-values below 1 %.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.stats import chi2

from benchmarks.bench import Bench, count_repetitions
from eosparse import EOSDetector
from eosparse.comparison.intervals import summarise
from eosparse.comparison.runner import Row
from eosparse.core import BoolArray, FloatArray

FIRST_SEED = 83_000
N_ROWS, N_COLUMNS, N_WRONG = 500, 8, 25
SHARES = (0.05, 0.1, 0.2, 0.3)
MECHANISMS = ("at random", "by another column")
REPETITIONS = 20
_LEVEL = 0.01


def draw(share: float, mechanism: str, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return rows with gaps, and the covariance of the good ones; the first rows are wrong."""
    places = np.arange(N_COLUMNS)
    covariance = 0.8 ** np.abs(places[:, None] - places)
    X = rng.multivariate_normal(np.zeros(N_COLUMNS), covariance, N_ROWS)
    X[:N_WRONG] += 4 * rng.choice([-1, 1], (N_WRONG, N_COLUMNS))
    chance = np.full(N_ROWS, share)
    if mechanism == "by another column":
        chance = 2 * share * (X[:, 0].argsort().argsort() + 0.5) / N_ROWS
    is_missing = rng.random(X.shape) < chance[:, None]
    is_missing[:, 0] &= mechanism == "at random"
    is_missing[is_missing.all(axis=1), 0] = False
    X[is_missing] = np.nan
    return X, covariance


def measure(share: float, mechanism: str, repetition: int) -> list[Row]:
    rng = np.random.default_rng([FIRST_SEED + repetition, int(100 * share)])
    X, covariance = draw(share, mechanism, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {
            "EOSDetector": _ask_ours(X),
            "dropped, EOSDetector": _ask_ours(X[~np.isnan(X).any(axis=1)]),
            "dropped, FastMCD": _ask_mcd(X[~np.isnan(X).any(axis=1)]),
            "medians, FastMCD": _ask_mcd(_fill_medians(X)),
            "iterative imputer, FastMCD": _ask_mcd(_impute(X)),
        }
    whole = ~np.isnan(X).any(axis=1)
    key = {"gaps": share, "missing": mechanism}
    return [
        key
        | {"method": method}
        | _compare(*one, covariance, whole if "dropped" in method else None)
        for method, one in found.items()
    ]


def _ask_ours(X: FloatArray) -> tuple[FloatArray, BoolArray]:
    detector = EOSDetector(model="gaussian").fit(X)
    return detector.covariance_, detector.p_values_ < _LEVEL


def _ask_mcd(X: FloatArray) -> tuple[FloatArray, BoolArray]:
    from sklearn.covariance import MinCovDet

    fit = MinCovDet(random_state=0).fit(X)
    return fit.covariance_, fit.mahalanobis(X) > chi2.isf(_LEVEL, X.shape[1])


def _fill_medians(X: FloatArray) -> FloatArray:
    return np.where(np.isnan(X), np.nanmedian(X, axis=0), X)


def _impute(X: FloatArray) -> FloatArray:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return np.asarray(IterativeImputer(random_state=0).fit_transform(X))


def _compare(
    found: FloatArray, flagged: BoolArray, covariance: FloatArray, kept: BoolArray | None
) -> Row:
    """Compare; rows that were dropped are not flagged."""
    ratio = np.linalg.solve(covariance, found)
    flags = np.zeros(N_ROWS, dtype=bool)
    flags[np.arange(N_ROWS) if kept is None else np.flatnonzero(kept)] = flagged
    return {
        "discrepancy": np.trace(ratio) - len(ratio) - np.linalg.slogdet(ratio)[1],
        "false alarms": flags[N_WRONG:].mean(),
        "recall": flags[:N_WRONG].mean(),
    }


def run(bench: Bench) -> None:
    settings = [
        {"share": share, "mechanism": mechanism, "repetition": r}
        for share in SHARES
        for mechanism in MECHANISMS
        for r in range(count_repetitions(bench.scale, REPETITIONS, least=2))
    ]
    raw = bench.run_units("cells_d", measure, settings)
    by = ["missing", "gaps", "method"]
    table = summarise(raw, by, ["discrepancy", "false alarms", "recall"])
    table = table.sort_values(by[:2], kind="stable")
    bench.report("cells_d", "d. Gaps", None, table)
