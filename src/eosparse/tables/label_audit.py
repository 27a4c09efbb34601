"""Find the wrong labels of a table, and summarise them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from eosparse.core import BoolArray, FloatArray
from eosparse.fitting.targets import is_regression_target
from eosparse.tables.cells import Missing
from eosparse.tables.columns import Column, Role, find_identifier, leave_out, parse_numbers
from eosparse.tables.detection import describe_usual_values
from eosparse.tables.numbers import Numbers, encode_table
from eosparse.tables.reading import TableError, TableFile
from eosparse.tables.reasons import Reason, choose_reasons, format_cell, list_reasons
from eosparse.tables.summary import (
    ConfusedPair,
    FlaggedLabel,
    LabelMatrix,
    LabelModelSummary,
    LabelSummary,
    Quality,
    TableSummary,
)
from eosparse.tables.written_numbers import is_text

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.estimators import LabelIssues

Task = Literal["auto", "classification", "regression"]
Learner = Literal["auto", "linear", "boosted"]
_LEARNERS = {"linear": "a linear model", "boosted": "boosted trees"}
_WHY_CHOSEN = {
    "linear": "; boosted trees are not clearly better",
    "boosted": ", which predict held-out labels better than a linear model",
}
# A matrix of more classes cannot be read.
_MAX_CLASSES = 30


@dataclass(frozen=True)
class LabelAudit:
    """A table and what was found about its labels.

    Attributes
    ----------
    source : TableFile
        The table.
    columns : list of Column
        Its columns and their roles.
    features : Numbers
        The numbers that the labels were predicted from.
    labels : array of shape (n_kept,)
        The labels of the rows of `features`.
    issues : LabelIssues
        What was found.
    is_regression : bool
        Whether the labels are numbers to predict.
    fdr : float
        Intended share of correct labels among the flagged ones.
    notes : tuple of str
        What was assumed about the labels.
    """

    source: TableFile
    columns: list[Column]
    features: Numbers
    labels: NDArray[Any]
    issues: LabelIssues
    is_regression: bool
    fdr: float
    notes: tuple[str, ...]

    @property
    def flagged(self) -> pd.DataFrame:
        """The flagged rows of the table of issues, the most suspicious first."""
        found: pd.DataFrame = self.issues.table
        return found[found["is_issue"]]


def audit_labels(
    source: TableFile,
    columns: list[Column],
    target: str,
    *,
    missing: Missing = "error",
    task: Task = "auto",
    learner: Learner = "auto",
    fdr: float = 0.1,
) -> LabelAudit:
    """Check the labels of a table by a linear model or boosted trees."""
    from eosparse.estimators import find_label_issues

    has_label = source.frame[target].notna().to_numpy(copy=True)
    notes = []
    if not has_label.all():
        n_unlabelled = np.count_nonzero(~has_label)
        without = "row without a label was" if n_unlabelled == 1 else "rows without a label were"
        notes.append(f"{n_unlabelled} {without} left out.")
    labelled = source.frame[has_label]
    is_regression = task == "regression" or (
        task == "auto" and is_regression_target(_read_numbers(labelled[target]))
    )
    columns = leave_out(columns, "dates are not used for labels", Role.DATE)
    meaning = "numbers to predict" if is_regression else "classes"
    notes.append(f"The labels in {target} are treated as {meaning}.")
    features = encode_table(labelled, columns, missing=missing, indicate=True)
    labels = _extract_labels(labelled[target], is_regression)[features.is_kept]
    has_label[has_label] = features.is_kept  # rows keep their numbers in the whole table
    found_task: Task = "regression" if is_regression else "classification"
    issues = find_label_issues(features.values, labels, learner, task=found_task, fdr=fdr)
    why = _WHY_CHOSEN[issues.learner] if learner == "auto" else ""
    notes.append(f"The labels are predicted by {_LEARNERS[issues.learner]}{why}.")
    return LabelAudit(
        source,
        columns,
        replace(features, is_kept=has_label),
        labels,
        issues,
        is_regression,
        fdr,
        tuple(notes),
    )


def _read_numbers(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Return labels in text as numbers if all of them are, such as 007; others as they are."""
    if not is_text(cells):
        return cells
    numbers = parse_numbers(cells)
    return cells if numbers.isna().any() else numbers


def _extract_labels(cells: pd.Series[Any], is_regression: bool) -> NDArray[Any]:
    if not is_regression:
        return cells.astype(str).to_numpy(dtype=object).astype(str)
    try:
        return _read_numbers(cells).to_numpy(dtype=np.float64)
    except ValueError as error:
        raise TableError(f"Column {cells.name!r} does not hold numbers: {error}") from None


def summarise_labels(audit: LabelAudit) -> LabelSummary:
    """Summarise an audit; rows are counted from 1, the first below the header."""
    frame, flagged = audit.source.frame, audit.flagged
    return LabelSummary(
        task="regression" if audit.is_regression else "classification",
        target=next(column.name for column in audit.columns if column.role is Role.TARGET),
        table=TableSummary(audit.source.name, len(frame), len(audit.labels)),
        columns=tuple(audit.columns),
        notes=(*audit.source.notes, *audit.features.notes, *audit.notes),
        model=LabelModelSummary(
            audit.fdr,
            len(audit.features.names),
            audit.issues.learner,
            bool(audit.issues.promise),
            audit.issues.promise.reason,
        ),
        noise_rates={str(name): float(rate) for name, rate in audit.issues.noise_rates.items()},
        n_flagged=len(flagged),
        flagged=_describe_flagged(audit),
        matrix=None if audit.is_regression else _count_by_class(flagged, audit.labels),
        pairs=() if audit.is_regression else _count_pairs(flagged, audit.labels),
        quality=measure_quality(audit),
        usual=describe_usual_values(frame.iloc[audit.features.is_kept], audit.columns),
    )


def _describe_flagged(audit: LabelAudit) -> tuple[FlaggedLabel, ...]:
    frame, flagged = audit.source.frame, audit.flagged
    places = np.flatnonzero(audit.features.is_kept)[flagged["row"].to_numpy(dtype=int)]
    name = find_identifier(audit.columns)
    reasons = _find_reasons(audit, flagged, frame.iloc[places])
    weights, chances = flagged["weight"].to_numpy(), flagged["probability_wrong"].to_numpy()
    return tuple(
        FlaggedLabel(
            row=int(places[i]) + 1,
            id=None if name is None else format_cell(frame[name].iat[places[i]]),
            given=format_cell(line.given),
            suggested=format_cell(line.suggested),
            weight=float(weights[i]),
            probability_wrong=float(chances[i]),
            reasons=reasons[i],
        )
        for i, line in enumerate(flagged.itertuples())
    )


def _find_reasons(
    audit: LabelAudit, flagged: pd.DataFrame, cells: pd.DataFrame
) -> list[tuple[Reason, ...]]:
    """Find the columns that support the suggested labels.

    The support of a column is what the prediction loses if the column has its mean: with a linear
    model, its coefficient times the deviation from the mean.
    """
    if flagged.empty:
        return []
    values = audit.features.values[flagged["row"].to_numpy(dtype=int)]
    means = audit.features.values.mean(axis=0)
    sources = list(dict.fromkeys(audit.features.sources))
    source_of = np.array(audit.features.sources)
    full = _measure_preference(audit, values, flagged)
    support = np.empty((len(flagged), len(sources)))
    for n, source in enumerate(sources):
        without = np.where(source_of == source, means, values)
        support[:, n] = full - _measure_preference(audit, without, flagged)
    parts = np.maximum(support, 0.0)
    shares = parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)
    return [
        tuple(
            Reason(sources[n], format_cell(cells[sources[n]].iat[i]), float(line[n]))
            for n in choose_reasons(line)
            if line[n] > 0
        )
        for i, line in enumerate(shares)
    ]


def _measure_preference(audit: LabelAudit, values: FloatArray, flagged: pd.DataFrame) -> FloatArray:
    """Return how much the model prefers the suggested to the given label: log-odds, or units."""
    model: Any = audit.issues.model
    if audit.is_regression:
        sign = np.sign(flagged["suggested"].to_numpy() - flagged["given"].to_numpy())
        return np.asarray(model.predict(values) * sign)
    logs = np.log(np.maximum(model.predict_proba(values), 1e-300))
    rows = np.arange(len(values))
    suggested, given = (
        np.searchsorted(model.classes_, flagged[name]) for name in ("suggested", "given")
    )
    return np.asarray(logs[rows, suggested] - logs[rows, given])


def _count_by_class(flagged: pd.DataFrame, labels: NDArray[Any]) -> LabelMatrix:
    """Count flagged labels by given and suggested class, the classes with most of them first."""
    names = [str(label) for label in np.unique(labels)]
    given, suggested = flagged["given"].astype(str), flagged["suggested"].astype(str)
    pairs = Counter(zip(given, suggested, strict=True))
    n_flagged = Counter(given) + Counter(suggested)
    classes = sorted(names, key=lambda name: -n_flagged[name])[:_MAX_CLASSES]
    counts = tuple(tuple(pairs[row, column] for column in classes) for row in classes)
    return LabelMatrix(tuple(classes), counts)


def _count_pairs(flagged: pd.DataFrame, labels: NDArray[Any]) -> tuple[ConfusedPair, ...]:
    """Return pairs of given and suggested class, the most frequent first."""
    sizes = Counter(str(label) for label in labels.tolist())
    given, suggested = flagged["given"].astype(str), flagged["suggested"].astype(str)
    pairs = Counter(zip(given, suggested, strict=True))
    return tuple(
        ConfusedPair(one, other, count, count / sizes[one])
        for (one, other), count in pairs.most_common()
    )


def measure_quality(audit: LabelAudit, n_folds: int = 5) -> Quality:
    """Measure how a model does when it learns from all rows, and without the flagged ones.

    Both are tested on the same held-out rows: those that are not flagged.
    """
    is_flagged: BoolArray = np.zeros(len(audit.labels), dtype=np.bool_)
    is_flagged[audit.flagged["row"].to_numpy(dtype=int)] = True
    scores_with, scores_without = [], []
    for train, test in _split_folds(audit, n_folds):
        tested = test[~is_flagged[test]]
        scores_with.append(_score_model(audit, train, tested))
        scores_without.append(_score_model(audit, train[~is_flagged[train]], tested))
    return Quality(
        measure="R²" if audit.is_regression else "balanced accuracy",
        n_folds=n_folds,
        score_with=_average(scores_with),
        score_without=_average(scores_without),
    )


def _average(scores: list[float]) -> float | None:
    return float(np.nanmean(scores)) if np.isfinite(scores).any() else None


def _split_folds(audit: LabelAudit, n_folds: int) -> Any:
    from sklearn.model_selection import KFold, StratifiedKFold

    rows = np.arange(len(audit.labels))
    if audit.is_regression:
        return KFold(n_folds, shuffle=True, random_state=0).split(rows)
    _, counts = np.unique(audit.labels, return_counts=True)
    n_folds = max(2, min(n_folds, int(counts.min())))
    return StratifiedKFold(n_folds, shuffle=True, random_state=0).split(rows, audit.labels)


def _score_model(audit: LabelAudit, train: Any, test: Any) -> float:
    from sklearn.base import clone
    from sklearn.metrics import balanced_accuracy_score, r2_score

    labels, values = audit.labels, audit.features.values
    if len(test) < 2 or (not audit.is_regression and len(np.unique(labels[train])) < 2):
        return float("nan")
    fitted: Any = audit.issues.model
    model = clone(fitted.estimator_).fit(values[train], labels[train])
    score = r2_score if audit.is_regression else balanced_accuracy_score
    return float(score(labels[test], model.predict(values[test])))


def append_issues(audit: LabelAudit, summary: LabelSummary) -> pd.DataFrame:
    """Return the columns to append to the table; rows that were left out have nothing."""
    import pandas as pd

    n_rows, found = len(audit.source.frame), audit.issues.table
    places = np.flatnonzero(audit.features.is_kept)[found["row"].to_numpy(dtype=int)]
    columns: dict[str, Any] = {}
    for name, source in (("eos_weight", "weight"), ("eos_p_wrong", "probability_wrong")):
        columns[name] = np.full(n_rows, np.nan)
        columns[name][places] = found[source]
    columns["eos_suggested"] = np.full(n_rows, None, dtype=object)
    columns["eos_suggested"][places] = found["suggested"]
    columns["eos_is_outlier"] = np.zeros(n_rows, dtype=bool)
    columns["eos_is_outlier"][places] = found["is_issue"]
    columns["eos_reason"] = list_reasons(n_rows, summary.flagged)
    return pd.DataFrame(columns)
