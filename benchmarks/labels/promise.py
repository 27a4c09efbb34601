"""i. Flagged labels: the share of right ones among them, and whether the rate was promised."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import make_moons
from sklearn.metrics import average_precision_score

from benchmarks.bench import Bench, count_repetitions
from eosparse import find_label_issues
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.label_sets import corrupt_labels, list_available, split_set
from eosparse.comparison.panels.labels import FLAGGERS, RANKINGS
from eosparse.comparison.peers import PEERS
from eosparse.comparison.runner import Row

# Two Gaussian classes with their means this far apart: 0.1, 7 and 16 % of the rows lie beyond the
# middle. Five classes on a sphere of this radius, two half-moons with this noise.
_GAUSSIAN = {
    "two classes apart": 6.0,
    "two classes, some overlap": 3.0,
    "two classes, overlap": 2.0,
}
_SPHERES = {"five classes, overlap": 4.0}
_MOONS = {"half-moons": 0.2}
_REAL = ("wdbc", "heart_failure", "neurons", "wine")
# Kept apart while the rules were found, and used once: the species of penguins by four measures.
HELD_BACK = "penguins"
_HELD_BACK_LABEL = "species"
_KINDS = ("exact", "one class", "pairwise", "near others")
_RATES = (0.1, 0.2, 0.4)
_ROWS = 500
_FDR = 0.1


def _draw(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and right labels of a set that is drawn."""
    if name in _MOONS:
        return make_moons(_ROWS, noise=_MOONS[name], random_state=int(rng.integers(2**31)))
    if name in _GAUSSIAN:
        truth = rng.integers(0, 2, _ROWS)
        X = rng.normal(size=(_ROWS, 4))
        X[:, 0] += _GAUSSIAN[name] * truth
        return X, truth
    truth = rng.integers(0, 5, _ROWS)
    centres = rng.normal(size=(5, 4))
    centres *= _SPHERES[name] / np.linalg.norm(centres, axis=1, keepdims=True)
    return rng.normal(size=(_ROWS, 4)) + centres[truth], truth


def _read_held_back() -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of numbers, of rows without gaps, and the classes."""
    table = pd.read_csv(DataFolder.locate(None).path / "tables" / f"{HELD_BACK}.csv.gz")
    numbers = table.select_dtypes("number").dropna()
    numbers = numbers.drop(columns=["year"], errors="ignore")
    _, classes = np.unique(table.loc[numbers.index, _HELD_BACK_LABEL], return_inverse=True)
    return numbers.to_numpy(), classes


def _load(data: str, noise: str, p: float, repetition: int):
    """Return rows, given labels and right labels."""
    if data in _REAL:
        split = split_set(data, noise, p, repetition)
        return split.X, split.given, split.truth
    rng = np.random.default_rng([31, repetition])
    X, truth = _read_held_back() if data == HELD_BACK else _draw(data, rng)
    return X, corrupt_labels(truth, noise, p, rng, X), truth


def measure(data: str, noise: str, p: float, learner: str, repetition: int) -> list[Row]:
    X, given, truth = _load(data, noise, p, repetition)
    issues = find_label_issues(X, given, FLAGGERS[learner](), fdr=_FDR)
    flagged = issues.table.loc[issues.table["is_issue"], "row"].to_numpy()
    is_wrong = given != truth
    found = int(is_wrong[flagged].sum())
    return [
        {"data": data, "noise": noise, "p": p, "learner": learner, "repetition": repetition}
        | {"flagged": len(flagged), "false share": 1 - found / max(len(flagged), 1)}
        | {"found share": found / max(int(is_wrong.sum()), 1)}
        | {"is promised": bool(issues.promise), "reason": issues.promise.reason}
    ]


def _list_settings(sets: tuple[str, ...], repetitions: int) -> list[Row]:
    points = [("exact", 0.0)] + [(noise, p) for noise in _KINDS for p in _RATES]
    return [
        {"data": data, "noise": noise, "p": p, "learner": learner, "repetition": r}
        for data in sets
        for noise, p in points
        # Of two classes, each is the next one of the other.
        if noise != "pairwise" or data in (*_SPHERES, "wine", HELD_BACK)
        for learner in FLAGGERS
        for r in range(repetitions)
    ]


def run(bench: Bench) -> None:
    available = set(list_available())
    sets = (*_GAUSSIAN, *_SPHERES, *_MOONS, *(name for name in _REAL if name in available))
    raw = bench.run_units(
        "labels_i", measure, _list_settings(sets, count_repetitions(bench.scale, 10, least=1))
    )
    raw["false share"] = raw["false share"].where(raw["flagged"] > 0, 0.0)
    bench.report("labels_i", "i. Flagged labels, by data", raw, summarise_flags(raw, ["data"]))
    kinds = raw.assign(noise=raw["noise"].where(raw["p"] > 0, "none"))
    table = summarise_flags(kinds, ["noise", "p", "learner"])
    bench.report("labels_i_kinds", "i. Flagged labels, by noise", None, table)


def run_held_back(bench: Bench) -> None:
    """Do the same on the set that was kept apart, and compare the rankings there."""
    settings = _list_settings((HELD_BACK,), count_repetitions(bench.scale, 10, least=1))
    raw = bench.run_units("labels_j", measure_held_back, settings)
    raw["false share"] = raw["false share"].where(raw["flagged"] > 0, 0.0)
    table = summarise_flags(raw, ["data", "learner"])
    bench.report("labels_j", "j. Flagged labels of the set kept apart", raw, table)
    means = raw[raw["p"] > 0].groupby(["learner", "noise", "p"], as_index=False, sort=False)
    bench.report("labels_j_ranks", "j. Average precision", None, means[list(RANKINGS)].mean())


def measure_held_back(**setting: object) -> list[Row]:
    rows = measure(**setting)  # type: ignore[arg-type]  # of the same names
    X, given, truth = _load(*(setting[name] for name in ("data", "noise", "p", "repetition")))
    make, is_wrong = FLAGGERS[setting["learner"]], given != truth
    for name in RANKINGS:
        suspicion = PEERS[name].run(X, given, make)
        score = average_precision_score(is_wrong, suspicion) if is_wrong.any() else np.nan
        rows[0][name] = float(score)
    return rows


def summarise_flags(raw: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return the mean share of right labels among flagged ones, with and without a promise.

    A run that flags nothing has none.
    """
    rows = []
    for key, mine in raw.groupby(by, sort=False):
        promised = mine[mine["is promised"]]
        others = mine[~mine["is promised"]]
        rows.append(
            dict(zip(by, key, strict=True))
            | {"runs": len(mine), "promised": len(promised)}
            | {"promised and flagged": int((promised["flagged"] > 0).sum())}
            | {"false share, promised": promised["false share"].mean()}
            | {"false share, not promised": others["false share"].mean()}
            | {"found share": mine.loc[mine["p"] > 0, "found share"].mean()}
        )
    return pd.DataFrame(rows)
