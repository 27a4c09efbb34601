"""Panels G to I, and the table of other data: learning from wrong labels, and finding them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict

from eosparse.comparison.classifiers import FAST, SLOW, area, forest, logistic
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.label_sets import Labels, split
from eosparse.comparison.ledger import Grid, Setting
from eosparse.comparison.store import Row
from eosparse.core import FloatArray
from eosparse.estimators import find_label_issues

CLASSIFIERS = FAST | SLOW
# The author's figure has longevity as H; the paper's text calls it I, and Pollen's cells H.
PANELS = {"g": "wdbc", "h": "longevity", "i": "pollen2014"}
_EXACT, _PAPER = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
# With 7000 columns a fit takes seconds: fewer points.
_POINTS = {"g": (_EXACT, _PAPER), "h": (_EXACT, _PAPER), "i": ((0.0, 0.2, 0.4), (0.2, 0.4, 0.6))}


def learn(setting: Setting, method: str, repetition: int) -> Row:
    """Learn from labels of which some are wrong; the area under the curve is that of right ones."""
    table = split(setting["data"], setting["noise"], setting["p"], repetition)
    model = CLASSIFIERS[method]()
    begun = time.process_time()
    model.fit(table.X, table.given)
    seconds = time.process_time() - begun
    return {"AUC": area(model, table.X_test, table.y_test), "seconds": seconds}


def load_peers(method: str) -> None:  # noqa: ARG001  # all of them at once
    """Load what only some methods need; without it they cannot be asked for."""
    with suppress(ImportError):
        import cleanlab.classification  # noqa: F401


def panel(letter: str, quick: bool, data: DataFolder) -> Grid:  # noqa: ARG001  # every panel's
    """Return both axes of noise on the data of a panel; p = 0 is the same on both."""
    exact, paper = _POINTS[letter] if not quick else ((0.0, 0.4), (0.3,))
    points = [("exact", p) for p in exact] + [("paper", p) for p in paper]
    settings = [{"data": PANELS[letter], "noise": noise, "p": p} for noise, p in points]
    return Grid(letter, tuple(settings), tuple(CLASSIFIERS), learn, load_peers)


def others(quick: bool, data: DataFolder) -> Grid:
    """Return other data, with exact flips."""
    names = ("wine",) if quick else ("heart_failure", "neurons", "wine", "digits")
    settings = [
        {"data": name, "noise": "exact", "p": p}
        for name in names
        if name in ("wine", "digits") or data.has(f"{name}.npz")
        for p in (0.0, 0.2, 0.4)
    ]
    return Grid("labels", tuple(settings), tuple(CLASSIFIERS), learn, load_peers, ("data",), 10)


def _by_eos(X: FloatArray, y: Labels, make: Callable[[], Any]) -> FloatArray:
    table = find_label_issues(X, y, make()).table
    suspicion = np.empty(len(y))
    # The table is sorted by suspicion: the order is the ranking.
    suspicion[table["row"]] = -np.arange(len(y))
    return suspicion


def _by_cleanlab(X: FloatArray, y: Labels, make: Callable[[], Any]) -> FloatArray:
    from cleanlab.classification import CleanLearning

    learning = CleanLearning(make(), seed=0, find_label_issues_kwargs={"n_jobs": 1})
    return -np.asarray(learning.find_label_issues(X, y)["label_quality"], dtype=np.float64)


def _by_confidence(X: FloatArray, y: Labels, make: Callable[[], Any]) -> FloatArray:
    probabilities = cross_val_predict(make(), X, y, cv=5, method="predict_proba")
    return -np.asarray(probabilities)[np.arange(len(y)), y]


RANKINGS = {
    "find_label_issues": _by_eos,
    "cleanlab": _by_cleanlab,
    "self-confidence": _by_confidence,
}
_LEARNERS = {"LogReg": logistic, "forest": forest}


def find_wrong(setting: Setting, method: str, repetition: int) -> Row:
    """Rank rows by how much their label is doubted."""
    table = split(setting["data"], "exact", setting["p"], repetition)
    rank, make = RANKINGS[method], _LEARNERS[setting["learner"]]
    begun = time.process_time()
    suspicion = rank(table.X, table.given, make)
    seconds = time.process_time() - begun
    is_wrong = table.given != table.truth
    return {
        "average precision": float(average_precision_score(is_wrong, suspicion)),
        "seconds": seconds,
    }


def finding(quick: bool, data: DataFolder) -> Grid:
    """Return the search for wrong labels."""
    names = ("wdbc",) if quick else ("wdbc", "heart_failure", "neurons", "wine", "digits")
    settings = [
        {"data": name, "p": p, "learner": learner}
        for name in names
        if name in ("wdbc", "wine", "digits") or data.has(f"{name}.npz")
        for p in (0.05, 0.2, 0.4)
        for learner in _LEARNERS
    ]
    return Grid(
        "finding", tuple(settings), tuple(RANKINGS), find_wrong, load_peers, ("data", "learner"), 10
    )
