"""e. Finding the wrong labels: average precision of rankings, and their times."""

from __future__ import annotations

import time

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict

from benchmarks.labels.methods import forest, logistic
from benchmarks.labels.tables import available, split
from benchmarks.reporting import Row, report, run_resumable, summarise
from eosparse import find_label_issues


def unit(data: str, p: float, learner: str, repetition: int) -> list[Row]:
    table = split(data, "exact", p, repetition)
    make = {"LogReg": logistic, "forest": forest}[learner]
    is_wrong = table.given != table.truth
    rankings = {"find_label_issues": _ours, "cleanlab": _cleanlab, "self-confidence": _confidence}
    rows = []
    for name, rank in rankings.items():
        begun = time.perf_counter()
        suspicion = rank(table.X, table.given, make)
        seconds = time.perf_counter() - begun
        rows.append(
            {"data": data, "p": p, "learner": learner, "method": name, "seconds": seconds}
            | {"average precision": float(average_precision_score(is_wrong, suspicion))}
        )
    return rows


def _ours(X, y, make):
    table = find_label_issues(X, y, make()).table
    suspicion = np.empty(len(y))
    # The table is sorted by suspicion: the order is the ranking.
    suspicion[table["row"]] = -np.arange(len(y))
    return suspicion


def _cleanlab(X, y, make):
    from cleanlab.classification import CleanLearning

    learning = CleanLearning(make(), seed=0, find_label_issues_kwargs={"n_jobs": 1})
    issues = learning.find_label_issues(X, y)
    return -issues["label_quality"].to_numpy()


def _confidence(X, y, make):
    probabilities = cross_val_predict(make(), X, y, cv=5, method="predict_proba")
    return -probabilities[np.arange(len(y)), y]


def run(scale: float) -> None:
    settings = [
        {"data": data, "p": p, "learner": learner, "repetition": r}
        for data in available()
        if data in ("wdbc", "heart_failure", "neurons", "wine", "digits")
        for p in (0.05, 0.2, 0.4)
        for learner in ("LogReg", "forest")
        for r in range(max(2, round((12 if data != "digits" else 3) * scale)))
    ]
    raw = run_resumable("labels_e", unit, settings)
    by = ["data", "learner", "p", "method"]
    table = summarise(raw, by, ["average precision", "seconds"])
    report("labels_e", "e. Finding the wrong labels", raw, table)
