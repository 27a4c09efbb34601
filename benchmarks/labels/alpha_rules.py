"""h. Ways to choose α without right labels, around logistic regression."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.bench import Bench, count_repetitions
from benchmarks.labels.accuracy import compare_auc
from eosparse import EOSClassifier
from eosparse.comparison.intervals import summarise
from eosparse.comparison.label_sets import list_available, split_set
from eosparse.comparison.peers.classifiers import make_logistic, score_auc
from eosparse.comparison.runner import Row
from eosparse.core import longest_plateau
from eosparse.inference import compute_mean_auc, estimate_label_noise

ALPHAS = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25)
_DATA = ("wdbc", "heart_failure", "neurons", "wine", "digits")


def _fit_all(X, y):
    """Fit EOS at every α of the grid, with the errors of held-out rows."""
    return [EOSClassifier(make_logistic(), alpha, out_of_fold=True).fit(X, y) for alpha in ALPHAS]


def fit_by_noisy_cv(X, y):
    """Choose the α, or none, whose cross-validated probabilities rank the given labels best."""
    scores = np.zeros(len(ALPHAS) + 1)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        models = [make_logistic().fit(X[train], y[train]), *_fit_all(X[train], y[train])]
        ones = np.ones(len(test))
        scores += [compute_mean_auc(m.predict_proba(X[test]), y[test], ones) for m in models]
    best = int(np.argmax(scores))
    if best == 0:
        return make_logistic().fit(X, y)
    return EOSClassifier(make_logistic(), ALPHAS[best - 1], out_of_fold=True).fit(X, y)


def fit_by_plateau(X, y):
    """Choose the middle of the longest part of the α-path with the same doubted rows."""
    fits = _fit_all(X, y)
    doubted = [float((m.weights_ * len(y) < 0.5).sum()) for m in fits]
    stretch = longest_plateau(doubted, 0.03 * len(y))
    return fits[(stretch.start + stretch.stop - 1) // 2]


class Average:
    """Mean of the probabilities along the α-path."""

    def __init__(self, models):
        self.models = models

    def predict_proba(self, X):
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)


def fit_with_overlap(X, y):
    """Choose like "auto", but with a larger α where classes overlap, as SPA does."""
    plain = EOSClassifier(make_logistic(), np.inf, out_of_fold=True, max_iter=1).fit(X, y)
    noise = estimate_label_noise(plain.probabilities_, y, np.ones(len(y)))
    return EOSClassifier(make_logistic(), noise.cautious_gap, out_of_fold=True).fit(X, y)


RULES = {
    "plain": lambda X, y: make_logistic().fit(X, y),
    "auto": lambda X, y: EOSClassifier(make_logistic()).fit(X, y),
    "noise rate and overlap": fit_with_overlap,
    "noisy-label CV": fit_by_noisy_cv,
    "plateau": fit_by_plateau,
    "average over α": lambda X, y: Average(_fit_all(X, y)),
    "α = 1": lambda X, y: EOSClassifier(make_logistic(), 1.0, out_of_fold=True).fit(X, y),
}


def measure(data: str, p: float, repetition: int) -> list[Row]:
    table = split_set(data, "exact", p, repetition)
    key = {"data": data, "noise": "exact", "p": p, "repetition": repetition}
    models = {name: rule(table.X, table.given) for name, rule in RULES.items()}
    return [
        key | {"method": name, "auc": score_auc(model, table.X_test, table.y_test)}
        for name, model in models.items()
    ]


def run(bench: Bench) -> None:
    settings = [
        {"data": data, "p": p, "repetition": r}
        for data in list_available()
        if data in _DATA
        for p in (0.0, 0.2, 0.4)
        for r in range(count_repetitions(bench.scale, 8 if data != "digits" else 2))
    ]
    raw = bench.run_units("labels_h", measure, settings)
    table = summarise(raw, ["data", "p", "method"], ["auc"])
    bench.report("labels_h", "h. Ways to choose α (logistic regression)", raw, table)
    wide = table.pivot_table(index=["data", "p"], columns="method", values="auc")
    print("\n" + wide.round(4).to_string())
    gains = pd.concat([compare_auc(raw, rule, "plain") for rule in RULES if rule != "plain"])
    bench.report("labels_h_gains", "h. Minus the plain model, same splits", None, gains)
