"""e. The development half of the ADBench sets, one setting for all."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.covariance import MinCovDet
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.reporting import Row, report, run_units
from eosparse import EOSDetector

# Real tables are not Gaussian, and many have several groups. A little shrinkage keeps directions of
# almost no variance, which rounding, ties and dependent columns make, from deciding the distance;
# equal weights at the start keep the groups together, where a robust start would choose one.
SETTING = {"shrinkage": 0.1, "start": "uniform"}


def data_folder() -> Path:
    """Return the folder with ``adbench/*.npz`` and ``adbench_published.csv``."""
    return Path(os.environ.get("EOSPARSE_DATA", Path(__file__).parents[3] / "shared" / "data"))


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows with constant columns dropped and the others standardised, and the labels."""
    with np.load(path) as stored:
        X, y = stored["X"].astype(np.float64), stored["y"].astype(int)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _eos(X: np.ndarray) -> np.ndarray:
    return EOSDetector(**SETTING).fit(X).mahalanobis(X)


def _eos_default(X: np.ndarray) -> np.ndarray:
    return EOSDetector().fit(X).mahalanobis(X)


def _forest(X: np.ndarray) -> np.ndarray:
    return -IsolationForest(random_state=0).fit(X).score_samples(X)


def _mcd(X: np.ndarray) -> np.ndarray:
    if X.shape[1] > 1000:
        raise ValueError("left out: takes more than ten minutes with over 1000 columns")
    return MinCovDet(random_state=0).fit(X).mahalanobis(X)


METHODS = {
    "eosparse, shrinkage=0.1, uniform": _eos,
    "eosparse, default": _eos_default,
    "isolation forest": _forest,
    "FastMCD": _mcd,
}


def unit(path: Path, method: str) -> list[Row]:
    X, y = load(path)
    row: Row = {"set": path.stem, "method": method, "rows": len(X), "columns": X.shape[1]}
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = METHODS[method](X)
    except Exception as error:  # a method that fails is a row that says so
        return [row | {"failed": f"{type(error).__name__}: {error}"[:200]}]
    row["seconds"] = time.perf_counter() - begun
    scores = np.nan_to_num(scores, nan=0.0, posinf=1e300)
    row["AUC-ROC"] = 100 * roc_auc_score(y, scores)
    row["AUC-PR"] = 100 * average_precision_score(y, scores)
    return [row]


def run(scale: float) -> None:
    folder = data_folder()
    paths = sorted((folder / "adbench").glob("*.npz"))
    if not paths:
        print(f"\n## e. not run: no ADBench sets in {folder}/adbench; set EOSPARSE_DATA.")
        return
    if scale < 1:
        paths = [path for path in paths if path.stat().st_size < 200_000]
    raw = run_units(unit, [{"path": p, "method": m} for p in paths for m in METHODS])
    print(
        "\nnot run or failed:",
        raw.loc[raw["AUC-ROC"].isna(), ["set", "method"]].to_numpy().tolist(),
    )
    wide = raw.pivot_table(index="set", columns="method", values="AUC-ROC")[list(METHODS)]
    published = pd.read_csv(folder / "adbench_published.csv", index_col=0)
    best = published.mean().nlargest(4).index
    wide = wide.join(published.loc[:, best].add_suffix(" (published)"))
    report("detector_e", "e. AUC-ROC on the ADBench sets", raw, wide.reset_index())
    grouped = raw.groupby("method", sort=False)[["AUC-ROC", "AUC-PR", "seconds"]]
    means = grouped.agg({"AUC-ROC": "mean", "AUC-PR": "mean", "seconds": "sum"})
    means["sets"] = raw.groupby("method", sort=False)["AUC-ROC"].count()
    for name, value in published.loc[wide.index].mean().nlargest(8).items():
        means.loc[f"{name} (published)", ["AUC-ROC", "sets"]] = [value, len(wide)]
    ranks = wide.rank(axis=1, ascending=False).mean()
    means["mean rank"] = ranks.reindex(means.index)
    table = means.sort_values("AUC-ROC", ascending=False).reset_index(names="method")
    report("detector_e_means", "e. Means over the sets", None, table)
