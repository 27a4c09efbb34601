"""h. Ways to choose α without right labels, around logistic regression."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.labels.accuracy import paired
from benchmarks.reporting import Row, report, run_resumable, summarise
from eosparse import EOSClassifier
from eosparse.comparison.classifiers import area, logistic
from eosparse.comparison.label_sets import available, split
from eosparse.core import longest_plateau
from eosparse.inference import compute_mean_auc, estimate_label_noise

ALPHAS = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25)
_DATA = ("wdbc", "heart_failure", "neurons", "wine", "digits")


def _fits(X, y):
    """EOS at every α of the grid, with the errors of held-out rows."""
    return [EOSClassifier(logistic(), alpha, out_of_fold=True).fit(X, y) for alpha in ALPHAS]


def by_noisy_cv(X, y):
    """The α, or none, whose cross-validated probabilities rank the given labels best."""
    scores = np.zeros(len(ALPHAS) + 1)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        models = [logistic().fit(X[train], y[train]), *_fits(X[train], y[train])]
        ones = np.ones(len(test))
        scores += [compute_mean_auc(m.predict_proba(X[test]), y[test], ones) for m in models]
    best = int(np.argmax(scores))
    if best == 0:
        return logistic().fit(X, y)
    return EOSClassifier(logistic(), ALPHAS[best - 1], out_of_fold=True).fit(X, y)


def by_plateau(X, y):
    """The middle of the longest stretch of the α-path on which the doubted rows stay the same."""
    fits = _fits(X, y)
    doubted = [float((m.weights_ * len(y) < 0.5).sum()) for m in fits]
    stretch = longest_plateau(doubted, 0.03 * len(y))
    return fits[(stretch.start + stretch.stop - 1) // 2]


class Average:
    """Mean of the probabilities along the α-path."""

    def __init__(self, models):
        self.models = models

    def predict_proba(self, X):
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)


def with_overlap(X, y):
    """Like "auto", with a larger α where classes overlap, as SPA has it; never the plain model."""
    plain = EOSClassifier(logistic(), np.inf, out_of_fold=True, max_iter=1).fit(X, y)
    noise = estimate_label_noise(plain.probabilities_, y, np.ones(len(y)))
    return EOSClassifier(logistic(), noise.cautious_gap, out_of_fold=True).fit(X, y)


RULES = {
    "plain": lambda X, y: logistic().fit(X, y),
    "auto": lambda X, y: EOSClassifier(logistic()).fit(X, y),
    "noise rate and overlap": with_overlap,
    "noisy-label CV": by_noisy_cv,
    "plateau": by_plateau,
    "average over α": lambda X, y: Average(_fits(X, y)),
    "α = 1": lambda X, y: EOSClassifier(logistic(), 1.0, out_of_fold=True).fit(X, y),
}


def unit(data: str, p: float, repetition: int) -> list[Row]:
    table = split(data, "exact", p, repetition)
    key = {"data": data, "noise": "exact", "p": p, "repetition": repetition}
    return [
        key | {"method": name, "auc": area(rule(table.X, table.given), table.X_test, table.y_test)}
        for name, rule in RULES.items()
    ]


def run(scale: float) -> None:
    settings = [
        {"data": data, "p": p, "repetition": r}
        for data in available()
        if data in _DATA
        for p in (0.0, 0.2, 0.4)
        for r in range(max(2, round((8 if data != "digits" else 2) * scale)))
    ]
    raw = run_resumable("labels_h", unit, settings)
    table = summarise(raw, ["data", "p", "method"], ["auc"])
    report("labels_h", "h. Ways to choose α (logistic regression)", raw, table)
    print(
        "\n"
        + table.pivot_table(index=["data", "p"], columns="method", values="auc")
        .round(4)
        .to_string()
    )
    gains = pd.concat([paired(raw, rule, "plain") for rule in RULES if rule != "plain"])
    report("labels_h_gains", "h. Less the plain model, same splits", None, gains)
