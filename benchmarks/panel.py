"""A panel of fits on fixed seeds, to show that a change leaves all numbers as they are.

``python -m benchmarks.panel before.npz`` runs every estimator, model and storage and keeps what
they return. After a change, ``python -m benchmarks.panel after.npz --against before.npz`` runs it
again and names every array that differs by more than 1e-12, relative to its size if above 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

from eosparse import (
    EOSPCA,
    EOSClassifier,
    EOSDetector,
    EOSGaussianMixture,
    EOSKMeans,
    EOSRegressor,
    SPAClassifier,
    entropic_affinities,
    find_label_issues,
    open_rows,
)
from eosparse.datasets import make_contaminated
from eosparse.models import ClusterModel, GaussianModel, LinearModel, MixtureModel, SubspaceModel

TOLERANCE = 1e-12
Arrays = dict[str, Any]


def read_attributes(fitted: Any) -> Arrays:
    """Return all fitted attributes that are numbers."""
    names = {name for name in dir(fitted) if name.endswith("_") and not name.startswith("_")}
    found = {}
    for name in sorted(names - {"feature_names_in_"}):
        try:
            value = getattr(fitted, name)
        except AttributeError:  # not kept for this storage, or not of this model
            continue
        value = np.asarray(value.compute() if hasattr(value, "compute") else value)
        if value.dtype.kind in "fiub":
            found[name] = value
    return found


def make_tables() -> dict[str, Any]:
    """Return tables: clean, contaminated, grouped, skewed, tied, dependent, wide and long."""
    rng = np.random.default_rng(0)
    long, _ = make_contaminated(30_000, 8, 0.05, random_state=0)
    clustered, _ = make_contaminated(1000, 10, 0.4, outliers="clustered", random_state=0)
    base = rng.normal(size=(500, 5))
    base[:50] += 6
    groups = np.concatenate([base[:, :3], base[:, :3] + 12])
    return {
        "clean": rng.normal(size=(500, 10)),
        "contaminated": base,
        "clustered": clustered,
        "groups": groups,
        "skewed": np.exp(rng.normal(size=(600, 4))),
        "tied": np.column_stack([base[:, :2], np.round(2 * base[:, 2])]),
        "dependent": np.column_stack([base, base[:, 0] + base[:, 1]]),
        "wide": rng.normal(size=(60, 200)),
        "long": long,
        "single precision": base.astype(np.float32),
    }


def store(X: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield a table in every storage but memory."""
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    for i, part in enumerate(np.array_split(np.arange(len(X)), 3)):
        frame.iloc[part].to_parquet(folder / f"part-{i}.parquet", row_group_size=1 + len(X) // 7)
    yield "parquet", open_rows(folder)
    yield "dask array", da.from_array(X, chunks=(1 + len(X) // 4, X.shape[1]))
    yield "dask frame", dd.from_pandas(frame, npartitions=3)


def detect(tables: dict[str, Any]) -> Iterator[tuple[str, Arrays]]:
    """Yield the detector with every model and option, on every table and storage."""
    models = ("gaussian", "clusters", "subspace", "mixture", "regression")
    base, groups = tables["contaminated"], tables["groups"]
    counts = 1.0 + np.arange(len(base)) % 3
    for name, X in tables.items():
        yield f"gaussian/{name}", judge(EOSDetector().fit(X), X[:40])
    for model in models:
        for name in ("contaminated", "groups", "skewed"):
            yield f"{model}/{name}", read_attributes(EOSDetector(model=model).fit(tables[name]))
        weighted = EOSDetector(model=model).fit(base, sample_weight=counts)
        yield f"{model}/weighted", judge(weighted, base[:40])
    given = (ClusterModel(2), SubspaceModel(1), MixtureModel(2), LinearModel(target=0))
    for model in (*given, GaussianModel(covariance="diag"), GaussianModel(shrinkage=0.2)):
        yield f"given {model}", judge(EOSDetector(model=model).fit(groups), groups[:40])
    for options in (
        {"alpha": 1.0},
        {"efficiency": 0.9},
        {"perplexity": 350.0},
        {"level": 0.01},
        {"weight_cut": 0.01},
        {"contamination": 0.07},
        {"start": "uniform"},
        {"start": "random", "random_state": 3},
    ):
        yield f"{options}", judge(EOSDetector(**options).fit(base), base[:40])
    for name in ("contaminated", "long"):
        for storage, rows in store(tables[name], Path(tempfile.mkdtemp())):
            for model in models if name == "contaminated" else models[:1]:
                yield f"{storage}/{model}/{name}", judge(EOSDetector(model=model).fit(rows), rows)
    path = EOSDetector().path(base)
    yield "path", {"alphas": path.alphas, "weights": path.weights, "flags": path.is_outlier}


def judge(detector: EOSDetector, rows: Any) -> Arrays:
    """Return the fitted attributes, and what is said about some rows."""
    said = {name: getattr(detector, name)(rows) for name in ("score_samples", "p_values")}
    return read_attributes(detector) | {
        name: np.asarray(value.compute() if hasattr(value, "compute") else value)
        for name, value in said.items()
    }


def cluster_and_reduce(tables: dict[str, Any]) -> Iterator[tuple[str, Arrays]]:
    """Yield robust clusters, components and mixtures."""
    for name in ("contaminated", "groups", "skewed"):
        X = tables[name]
        for estimator in (EOSKMeans(2), EOSKMeans(5, alpha=3.0), EOSPCA(2), EOSGaussianMixture(2)):
            yield f"{estimator}/{name}", read_attributes(estimator.fit(X))


def learn() -> Iterator[tuple[str, Arrays]]:
    """Yield classifiers and regressors on labels of which a part is wrong, and affinities."""
    rng = np.random.default_rng(0)
    for name, load in (("wdbc", load_breast_cancer), ("iris", load_iris)):
        X, y = load(return_X_y=True)
        X, noisy = (X - X.mean(0)) / X.std(0), np.where(rng.random(len(y)) < 0.25, 0, y)
        for classifier in (
            EOSClassifier(),
            EOSClassifier(LogisticRegression(), alpha=1.5),
            EOSClassifier(LogisticRegression(), alpha=np.inf),
            EOSClassifier(RandomForestClassifier(20, random_state=0)),
            SPAClassifier(random_state=0),
        ):
            fitted = classifier.fit(X, noisy)
            yield f"{name}/{classifier}", read_attributes(fitted) | {"p": fitted.predict_proba(X)}
        issues = find_label_issues(X, noisy, random_state=0).table
        yield f"{name}/issues", dict(issues.select_dtypes("number").items())
    X, y = load_diabetes(return_X_y=True)
    y[::9] += 400
    forest = RandomForestRegressor(20, random_state=0)
    for regressor in (EOSRegressor(), EOSRegressor(forest), EOSRegressor(LinearRegression(), 2.0)):
        yield f"diabetes/{regressor}", read_attributes(regressor.fit(X, y))
    for options in ({"perplexity": 10.0}, {"n_neighbors": 50}, {"error": "cosine"}):
        P = entropic_affinities(X, **options).P
        yield f"affinities {options}", {"P": P.toarray() if hasattr(P, "toarray") else P}


def compare(before: Arrays, after: Arrays) -> list[str]:
    """Return the names of arrays that differ."""
    differing = sorted(set(before) ^ set(after))
    for name in sorted(set(before) & set(after)):
        one, other = before[name], after[name]
        if one.shape != other.shape:
            differing.append(name)
            continue
        tolerance = TOLERANCE * np.maximum(1.0, np.abs(one))
        with np.errstate(invalid="ignore"):
            is_equal = (one == other) | (np.isnan(one) & np.isnan(other))
            if not (is_equal | (np.abs(one - other) <= tolerance)).all():
                differing.append(name)
    return differing


def main() -> int:
    """Run the panel, keep it, and compare it with an earlier one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--against", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    tables, arrays = make_tables(), {}
    for part in (detect(tables), cluster_and_reduce(tables), learn()):
        for name, found in part:
            print(name, file=sys.stderr)
            for key, value in found.items():
                arrays[f"{name}/{key}"] = np.asarray(value, dtype=np.float64)
    np.savez(arguments.output, **arrays)
    if arguments.against is None:
        print(f"{len(arrays)} arrays.")
        return 0
    with np.load(arguments.against) as before:
        differing = compare(dict(before), arrays)
    print(f"{len(arrays)} arrays; {len(differing)} differ by more than {TOLERANCE:g}.")
    print(*differing, sep="\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
