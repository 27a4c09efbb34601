"""The summary of a search for wrong labels: plain data, ready for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import eosparse
from eosparse.core import BoolArray, FloatArray
from eosparse.estimators import LabelIssues
from eosparse.report.detection import (
    Summary,
    column_summaries,
    most_of,
    reason_column,
    shown,
    usual_values,
)
from eosparse.tables import Column, Numbers, Role, TableFile
from eosparse.tables.columns import name_of_rows

if TYPE_CHECKING:
    import pandas as pd

_MOST_CLASSES = 30


def default_learner(is_regression: bool) -> Any:
    """Return the learner that judges labels: linear, on standardised columns."""
    if is_regression:
        return make_pipeline(StandardScaler(), LinearRegression())
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


@dataclass(frozen=True)
class Audit:
    """Labels of a table and what was found about them.

    Attributes
    ----------
    table : TableFile
        The table.
    columns : list of Column
        What its columns were taken for.
    features : Numbers
        What labels were judged by.
    labels : array of shape (n_kept,)
        Given labels of the rows of the features.
    issues : LabelIssues
        What was found.
    is_regression : bool
        Whether the labels are numbers to predict.
    fdr : float
        Wanted share of right labels among those flagged.
    """

    table: TableFile
    columns: list[Column]
    features: Numbers
    labels: Any
    issues: LabelIssues
    is_regression: bool
    fdr: float

    @property
    def found(self) -> pd.DataFrame:
        """The table of issues, one line per row, most suspicious first."""
        found: pd.DataFrame = self.issues.table
        return found


def summarise(audit: Audit, *, notes: tuple[str, ...] = ()) -> Summary:
    """Return all that is worth saying of an audit; rows are counted from 1."""
    found = audit.found
    flagged = found[found["is_issue"]]
    return {
        "kind": "labels",
        "eosparse": eosparse.__version__,
        "task": "regression" if audit.is_regression else "classification",
        "target": next(c.name for c in audit.columns if c.role is Role.TARGET),
        "table": {
            "name": audit.table.name,
            "n_rows": len(audit.table.frame),
            "n_used": len(audit.labels),
        },
        "columns": column_summaries(audit.columns),
        "notes": [*audit.table.notes, *audit.features.notes, *notes],
        "model": {"fdr": audit.fdr, "n_columns": len(audit.features.names)},
        "noise_rates": {str(k): float(v) for k, v in audit.issues.noise_rates.items()},
        "n_flagged": len(flagged),
        "flagged": _flagged(audit, flagged),
        "matrix": None if audit.is_regression else _matrix(flagged, audit.labels),
        "quality": quality(audit),
        "usual": usual_values(
            audit.table.frame, audit.columns, audit.features, np.zeros(len(audit.labels), bool)
        ),
    }


def _flagged(audit: Audit, flagged: pd.DataFrame) -> list[Summary]:
    frame, rows = audit.table.frame, np.asarray(flagged["row"], dtype=int)
    place = np.flatnonzero(audit.features.is_kept)[rows]
    name = name_of_rows(audit.columns)
    reasons = _reasons(audit, flagged, frame.iloc[place])
    weights, chances = flagged["weight"].to_numpy(), flagged["probability_wrong"].to_numpy()
    return [
        {
            "row": int(place[i]) + 1,
            "id": None if name is None else shown(frame[name].iat[place[i]]),
            "given": shown(line.given),
            "suggested": shown(line.suggested),
            "weight": float(weights[i]),
            "probability_wrong": float(chances[i]),
            "reasons": reasons[i],
        }
        for i, line in enumerate(flagged.itertuples())
    ]


def _reasons(audit: Audit, flagged: pd.DataFrame, cells: pd.DataFrame) -> list[list[Summary]]:
    """Return the columns that speak for the suggested labels; none if the learner is not linear."""
    model = audit.issues.model.estimator_
    if len(flagged) == 0 or not isinstance(model, Pipeline) or not hasattr(model[-1], "coef_"):
        return [[] for _ in range(len(flagged))]
    own = model[:-1].transform(audit.features.values[np.asarray(flagged["row"], dtype=int)])
    sources = list(dict.fromkeys(audit.features.sources))
    numbered = {source: n for n, source in enumerate(sources)}
    source_of = np.array([numbered[source] for source in audit.features.sources])
    found = []
    for i, line in enumerate(flagged.itertuples()):
        pull = _direction(audit, model[-1], line) * own[i]
        parts = np.maximum(np.bincount(source_of, pull, len(sources)), 0.0)
        shares = parts / max(parts.sum(), 1e-300)
        found.append(
            [
                {"column": sources[n], "value": shown(cells[sources[n]].iat[i])}
                | {"share": float(shares[n])}
                for n in most_of(shares)
                if shares[n] > 0
            ]
        )
    return found


def _direction(audit: Audit, linear: Any, line: Any) -> FloatArray:
    """Coefficients that lead from the given label to the suggested one."""
    coefficients = np.atleast_2d(np.asarray(linear.coef_))
    if audit.is_regression:
        return np.asarray(coefficients[0] * np.sign(line.suggested - line.given))
    classes = list(linear.classes_)
    given, suggested = classes.index(line.given), classes.index(line.suggested)
    if len(coefficients) == 1:
        return np.asarray(coefficients[0] * (1.0 if suggested > given else -1.0))
    return np.asarray(coefficients[suggested] - coefficients[given])


def _matrix(flagged: pd.DataFrame, labels: Any) -> Summary:
    """Count flagged rows by given and suggested label."""
    classes = sorted({str(label) for label in np.unique(labels)})[:_MOST_CLASSES]
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    places = {name: i for i, name in enumerate(classes)}
    for given, suggested in zip(
        flagged["given"].astype(str), flagged["suggested"].astype(str), strict=True
    ):
        if given in places and suggested in places:
            counts[places[given], places[suggested]] += 1
    return {"classes": classes, "counts": counts.tolist()}


def quality(audit: Audit, n_folds: int = 5) -> Summary:
    """Return how well a learner does with all rows, and without the doubtful ones.

    Both are asked about the same held-out rows: those that are not doubted.
    """
    is_doubted: BoolArray = np.zeros(len(audit.labels), dtype=np.bool_)
    found = audit.found
    is_doubted[np.asarray(found["row"][found["is_issue"]], dtype=int)] = True
    scores = {"with": [], "without": []}  # type: dict[str, list[float]]
    for train, test in _folds(audit, n_folds):
        asked = test[~is_doubted[test]]
        for name, rows in (("with", train), ("without", train[~is_doubted[train]])):
            scores[name].append(_score(audit, rows, asked))
    what = "R²" if audit.is_regression else "balanced accuracy"
    return {"measure": what, "n_folds": n_folds} | {
        name: float(np.nanmean(values)) if np.isfinite(values).any() else None
        for name, values in scores.items()
    }


def _folds(audit: Audit, n_folds: int) -> Any:
    rows = np.arange(len(audit.labels))
    if audit.is_regression:
        return KFold(n_folds, shuffle=True, random_state=0).split(rows)
    _, counts = np.unique(audit.labels, return_counts=True)
    folds = max(2, min(n_folds, int(counts.min())))
    return StratifiedKFold(folds, shuffle=True, random_state=0).split(rows, audit.labels)


def _score(audit: Audit, rows: Any, asked: Any) -> float:
    labels, values = audit.labels, audit.features.values
    if len(asked) < 2 or (not audit.is_regression and len(np.unique(labels[rows])) < 2):
        return float("nan")
    learner = clone(audit.issues.model.estimator_).fit(values[rows], labels[rows])
    predicted = learner.predict(values[asked])
    score = r2_score if audit.is_regression else balanced_accuracy_score
    return float(score(labels[asked], predicted))


def with_findings(audit: Audit, summary: Summary) -> pd.DataFrame:
    """Return all rows in their order with what was found; rows left out have no findings."""
    judged = audit.table.frame.copy()
    kept = np.flatnonzero(audit.features.is_kept)
    found = audit.found
    place = kept[np.asarray(found["row"], dtype=int)]
    for name, column in (("eos_weight", "weight"), ("eos_p_wrong", "probability_wrong")):
        whole = np.full(len(judged), np.nan)
        whole[place] = found[column]
        judged[name] = whole
    suggested = np.full(len(judged), None, dtype=object)
    suggested[place] = found["suggested"]
    judged["eos_suggested"] = suggested
    is_issue = np.zeros(len(judged), dtype=bool)
    is_issue[place] = found["is_issue"]
    judged["eos_is_outlier"] = is_issue
    judged["eos_reason"] = reason_column(summary)
    return judged
