"""Panels G to I, and the table of other data: learning from wrong labels, and finding them."""

from __future__ import annotations

import time
from contextlib import suppress

from sklearn.metrics import average_precision_score

from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.label_sets import FROM_FOLDER, split_set
from eosparse.comparison.peers import PEERS, Task, list_peers
from eosparse.comparison.peers.classifiers import (
    make_boosting,
    make_forest,
    make_logistic,
    score_auc,
)
from eosparse.comparison.runner import Grid, Row, Setting

CLASSIFIERS = list_peers(Task.CLASSIFY)
RANKINGS = list_peers(Task.RANK_LABELS)
# The author's figure has longevity as H; the paper's text calls it I, and Pollen's cells H.
PANELS = {"g": "wdbc", "h": "longevity", "i": "pollen2014"}
_EXACT, _PAPER = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
# With 7000 columns a fit takes seconds: fewer points.
_POINTS = {"g": (_EXACT, _PAPER), "h": (_EXACT, _PAPER), "i": ((0.0, 0.2, 0.4), (0.2, 0.4, 0.6))}
# Other data serve as a check, for which fewer repetitions are enough.
_REPETITIONS = 10
_LEARNERS = {"LogReg": make_logistic, "forest": make_forest}
FLAGGERS = _LEARNERS | {"boosting": make_boosting}


def learn(setting: Setting, method: str, repetition: int) -> Row:
    """Fit a classifier to partly wrong labels; measure the area under the curve on right ones.

    Examples
    --------
    >>> setting = {"data": "wdbc", "noise": "exact", "p": 0.2}
    >>> learn(setting, "naive Bayes", 0)["AUC"] > 0.9
    True
    """
    table = split_set(setting["data"], setting["noise"], setting["p"], repetition)
    model = PEERS[method].run()
    begun = time.process_time()
    model.fit(table.X, table.given)
    seconds = time.process_time() - begun
    return {"AUC": score_auc(model, table.X_test, table.y_test), "seconds": seconds}


def load_packages(method: str) -> None:  # noqa: ARG001  # all of them at once
    """Import packages that only some methods need, before the clock starts."""
    with suppress(ImportError):
        import cleanlab.classification  # noqa: F401


def make_panel(letter: str, quick: bool, data: DataFolder) -> Grid:  # noqa: ARG001  # shared signature
    """Return both axes of noise on the data of a panel; p = 0 is the same on both."""
    exact, paper = _POINTS[letter] if not quick else ((0.0, 0.4), (0.3,))
    points = [("exact", p) for p in exact] + [("paper", p) for p in paper]
    settings = [{"data": PANELS[letter], "noise": noise, "p": p} for noise, p in points]
    return Grid(letter, tuple(settings), CLASSIFIERS, learn, load_packages)


def make_others(quick: bool, data: DataFolder) -> Grid:
    """Return the grid of other data, with exact flips."""
    names = ("wine",) if quick else ("heart_failure", "neurons", "wine", "digits")
    settings = [
        {"data": name, "noise": "exact", "p": p}
        for name in names
        if _is_available(name, data)
        for p in (0.0, 0.2, 0.4)
    ]
    return Grid(
        "labels", tuple(settings), CLASSIFIERS, learn, load_packages, ("data",), _REPETITIONS
    )


def find_wrong_labels(setting: Setting, method: str, repetition: int) -> Row:
    """Rank rows by how much their label is doubted, and compare with the truth.

    Examples
    --------
    >>> setting = {"data": "wine", "p": 0.2, "learner": "LogReg"}
    >>> find_wrong_labels(setting, "self-confidence", 0)["average precision"] > 0.8
    True
    """
    table = split_set(setting["data"], "exact", setting["p"], repetition)
    rank, make = PEERS[method].run, _LEARNERS[setting["learner"]]
    begun = time.process_time()
    suspicion = rank(table.X, table.given, make)
    seconds = time.process_time() - begun
    is_wrong = table.given != table.truth
    return {
        "average precision": float(average_precision_score(is_wrong, suspicion)),
        "seconds": seconds,
    }


def make_finding(quick: bool, data: DataFolder) -> Grid:
    """Return the grid of the search for wrong labels."""
    names = ("wdbc",) if quick else ("wdbc", "heart_failure", "neurons", "wine", "digits")
    settings = [
        {"data": name, "p": p, "learner": learner}
        for name in names
        if _is_available(name, data)
        for p in (0.05, 0.2, 0.4)
        for learner in _LEARNERS
    ]
    family = ("data", "learner")
    return Grid(
        "finding", tuple(settings), RANKINGS, find_wrong_labels, load_packages, family, _REPETITIONS
    )


def _is_available(name: str, data: DataFolder) -> bool:
    return name not in FROM_FOLDER or data.has(f"{name}.npz")
