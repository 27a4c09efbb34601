"""h. Groups of outliers that pull the fit towards themselves: is the answer right, or warned of?"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.stats import chi2

from benchmarks.bench import Bench, count_repetitions
from eosparse import DegenerateDataWarning, EOSDetector, MaskingWarning
from eosparse.comparison.runner import Row
from eosparse.datasets.contaminated import compute_inlier_covariance

_COLUMNS = (2, 5, 10, 20, 50, 100, 200)
_SHARES = (0.1, 0.2, 0.3, 0.4, 0.45)
# Fewer where a fit takes seconds.
_REPETITIONS, _REPETITIONS_WIDE, _WIDE = 2, 1, 100
# Our rules were developed on tables with smaller seeds.
_FIRST_SEED = 90_000
# Level at which the true Gaussian of the inliers calls an outlier gross: one inlier in ten
# thousand lies as far out. Only these can be asked for.
_GROSS = 1e-4
# Precision of the flagged rows, and recall of the gross outliers.
_LEAST_PRECISION, _LEAST_RECALL = 0.9, 0.8
# Where fewer outliers are gross, the group lies among the inliers, and nothing has to be found.
_LEAST_GROSS = 0.5
# Where hardly any row is flagged, a few false alarms are no failure: a share of the inliers.
_FEW = 0.01
_OUTCOMES = ("right", "warned", "neither")
_GAUSSIAN, _DEFAULT = "gaussian", "auto"


def _draw_random_covariance(rng: np.random.Generator, d: int) -> np.ndarray:
    """Return random directions, whose variances differ by up to a factor of a hundred."""
    directions = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return directions * 10.0 ** rng.uniform(-2, 0, d) @ directions.T


def _draw_factor_covariance(rng: np.random.Generator, d: int) -> np.ndarray:
    """Return the covariance of as many random factors as columns, as `make_contaminated` does."""
    loadings = rng.standard_normal((d, d))
    return loadings @ loadings.T / d + 0.1 * np.eye(d)


def _make_autoregressive_covariance(rng: np.random.Generator, d: int) -> np.ndarray:  # noqa: ARG001
    # `make_contaminated` has 0.5 to the power of the distance between columns.
    return compute_inlier_covariance(d, "autoregressive") ** (np.log(0.9) / np.log(0.5))


_COVARIANCES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "independent": lambda rng, d: np.eye(d),  # noqa: ARG005
    "autoregressive": _make_autoregressive_covariance,
    "random": _draw_random_covariance,
    "factor": _draw_factor_covariance,
}


def _draw_two_clusters(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return two boxes: at 3.5 in every column, and with every second sign turned."""
    rows = rng.uniform(3, 4, (n, d))
    rows[n // 2 :, ::2] *= -1
    return rows


# From the number of outliers and columns to outliers; "axis" is made from inliers instead.
_OUTLIERS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "cluster": lambda rng, n, d: rng.uniform(3, 4, (n, d)),
    "tight": lambda rng, n, d: 3.5 + 0.05 * rng.standard_normal((n, d)),
    "two": _draw_two_clusters,
    "radial": lambda rng, n, d: 3 * rng.standard_normal((n, d)),
    "uniform": lambda rng, n, d: rng.uniform(1, 6, (n, d)),
}
_AXIS = "axis"
_KINDS = ("cluster", "tight", "two", _AXIS, "radial", "uniform")


def _draw_table(
    kind: str, inliers: str, share: float, d: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, which of them are outliers, and the covariance of the others."""
    rng = np.random.default_rng(seed)
    n = max(1000, 20 * d)
    covariance = _COVARIANCES[inliers](rng, d)
    sizes = np.sqrt(np.diag(covariance))
    covariance /= np.outer(sizes, sizes)  # columns of variance one
    X = rng.standard_normal((n, d)) @ np.linalg.cholesky(covariance).T
    truth = np.arange(n) < round(share * n)
    if kind == _AXIS:
        X[truth, 0] += 8 * np.sqrt(d)
    else:
        X[truth] = _OUTLIERS[kind](rng, np.count_nonzero(truth), d)
    order = rng.permutation(n)
    return X[order], truth[order], covariance


def _is_gross(X: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return the rows that lie apart by the law of the true inliers."""
    distances = np.einsum("ij,ij->i", np.linalg.solve(covariance, X.T).T, X)
    return chi2.sf(distances, X.shape[1]) < _GROSS


def _name_outcome(found: Row, is_warned: bool) -> str:
    is_precise = found["precision"] >= _LEAST_PRECISION or found["false alarms"] <= _FEW
    lies_apart = found["gross"] >= _LEAST_GROSS
    if is_precise and (found["recall"] >= _LEAST_RECALL or not lies_apart):
        return "right"
    return "warned" if is_warned else "neither"


def measure(
    outliers: str, inliers: str, share: float, n_features: int, repetition: int
) -> list[Row]:
    seed = _FIRST_SEED + repetition
    X, truth, covariance = _draw_table(outliers, inliers, share, n_features, seed)
    gross = truth & _is_gross(X, covariance)
    key = {"outliers": outliers, "share": share, "columns": n_features, "inliers": inliers}
    return [key | _judge(X, truth, gross, model) for model in (_GAUSSIAN, _DEFAULT)]


def _judge(X: np.ndarray, truth: np.ndarray, gross: np.ndarray, model: str) -> Row:
    """Return what a model says; the default also warns by promising nothing."""
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        detector = EOSDetector(model=model).fit(X)
    flagged = detector.is_outlier_
    is_warned = any(
        issubclass(one.category, MaskingWarning | DegenerateDataWarning) for one in issued
    )
    is_warned |= model == _DEFAULT and not detector.promise_
    found = {
        "precision": np.mean(truth[flagged]) if flagged.any() else np.nan,
        "false alarms": np.mean(flagged[~truth]),
        "recall": np.mean(flagged[gross]) if gross.any() else np.nan,
        "gross": np.mean(gross[truth]),
    }
    said = {"is warned": is_warned, "outcome": _name_outcome(found, is_warned)}
    return {"model": model} | found | said


def run(bench: Bench) -> None:
    settings = [
        {"outliers": kind, "inliers": inliers, "share": p, "n_features": d, "repetition": r}
        for d in _COLUMNS
        for kind in _KINDS
        for p in _SHARES
        for inliers in _COVARIANCES
        for r in range(_count_tables(bench.scale, d))
    ]
    raw = bench.run_units("detector_h", measure, settings)
    for model, name in ((_GAUSSIAN, "detector_h"), (_DEFAULT, "detector_h_auto")):
        part = raw[raw["model"] == model]
        table = _count_outcomes(part)
        bench.report(name, f"h. Masking, model={model!r}: numbers of tables", part, table)
        print(f"\nneither right nor warned: {table['neither'].sum()} of {len(part)} (wanted: 0)")


def _count_tables(scale: float, n_features: int) -> int:
    full = _REPETITIONS_WIDE if n_features >= _WIDE else _REPETITIONS
    return count_repetitions(scale, full, least=1)


def _count_outcomes(raw: pd.DataFrame) -> pd.DataFrame:
    key = ["outliers", "share", "columns"]
    counts = raw.groupby([*key, "outcome"], sort=False).size().unstack(fill_value=0)
    counts = counts.reindex(columns=list(_OUTCOMES), fill_value=0)
    means = raw.groupby(key, sort=False)[["recall", "gross"]].mean()
    return counts.join(means).reset_index()
