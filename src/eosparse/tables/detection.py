"""Score the rows of a table by a detector, and summarise what it flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.fitting.table_input import read_new, warn_of_empty
from eosparse.rows import Kind, TableView
from eosparse.tables.blame import blame_levels
from eosparse.tables.cells import Cells, extract_numbers
from eosparse.tables.columns import NO_EFFECT, Column, Role, find_identifier
from eosparse.tables.dates import find_date_format, parse_dates
from eosparse.tables.reading import TableFile
from eosparse.tables.reasons import Reason, choose_reasons, format_cell, list_reasons
from eosparse.tables.summary import (
    DetectionSummary,
    FlaggedRow,
    GroupSummary,
    ModelSummary,
    ScoringSummary,
    TableSummary,
)

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.estimators import EOSDetector

SCORES = ("eos_weight", "eos_p_value", "eos_is_outlier", "eos_reason")
"""Columns that are added to a table."""
# A row with a smaller weight (1 is average) plays no part in the fit.
_HARDLY_ANY_WEIGHT = 1e-3
# If more of the new rows than this are flagged, and at least so many, it is not by single mistakes.
_TOO_MANY, _SEVERAL = 0.25, 3
_NEW_ROWS = "the share of false alarms among new rows depends on how many of them are wrong"
_OTHER_TABLE = (
    "So many flagged rows are no single mistakes: the table differs from the one that the model "
    "was fitted to. Check that the columns have the same units and meaning, or fit this table by "
    "itself."
)
# If more of the rows than this play no part and are not flagged, that is no accident.
_MAX_DOUBTFUL = 0.1


@dataclass(frozen=True)
class ScoredTable:
    """A table whose rows a detector has scored.

    Attributes
    ----------
    source : TableFile
        The table.
    columns : list of Column
        Its columns and their roles.
    cells : Cells
        The cells the detector was given.
    detector : EOSDetector
        The fitted detector.
    p_values, weights : array of shape (n_kept,)
        Of the rows in `cells`; a weight of 1 is average.
    is_outlier : array of bool of shape (n_kept,)
        Rows that are flagged.
    """

    source: TableFile
    columns: list[Column]
    cells: Cells
    detector: EOSDetector
    p_values: FloatArray
    weights: FloatArray
    is_outlier: BoolArray


def score_training_rows(
    source: TableFile, columns: list[Column], cells: Cells, detector: EOSDetector
) -> ScoredTable:
    """Score the rows that the detector was fitted to."""
    weights = np.asarray(detector.weights_)
    return ScoredTable(
        source,
        columns,
        cells,
        detector,
        p_values=np.asarray(detector.p_values_),
        weights=len(weights) * weights,
        is_outlier=np.asarray(detector.is_outlier_),
    )


def score_new_rows(
    source: TableFile,
    columns: list[Column],
    cells: Cells,
    detector: EOSDetector,
    level: float | None = None,
) -> ScoredTable:
    """Score new rows; flag p-values below `level`, or by default distances beyond the cut-off."""
    p_values = np.asarray(detector.p_values(cells.frame))
    judge, values = detector._judge, read_new(detector, cells.frame, "score")
    weights = judge.relative_weights(judge.fit.measure(values))
    is_outlier = p_values < level if level is not None else detector.predict(cells.frame) == -1
    is_empty = np.isnan(values).all(axis=1)
    if is_empty.any():  # as for training rows
        warn_of_empty(int(np.count_nonzero(is_empty)))
        p_values, weights = np.where(is_empty, 1.0, p_values), np.where(is_empty, 0.0, weights)
        is_outlier = is_outlier & ~is_empty
    cells = replace(cells, notes=(*cells.notes, *_note_unseen_levels(detector, cells)))
    return ScoredTable(source, columns, cells, detector, p_values, weights, np.asarray(is_outlier))


def _note_unseen_levels(detector: EOSDetector, cells: Cells) -> list[str]:
    """Name the categories that the model does not know."""
    reader = getattr(detector, "_reader", None)
    return note_unseen({} if reader is None else reader.unseen(cells.frame))


def note_unseen(found: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Say by column which categories a model does not know, and how such rows are judged."""
    return [
        f"The model has not seen {_list_levels(levels)} in column {name!r}: such rows are judged "
        "by the numbers that do not depend on it, and by others only if they are far from every "
        "level."
        for name, levels in found.items()
    ]


def _list_levels(levels: tuple[str, ...]) -> str:
    shown = ", ".join(repr(format_cell(level, 30)) for level in levels[:5])
    return shown if len(levels) <= 5 else f"{shown} and {len(levels) - 5} more categories"


def summarise_detection(scored: ScoredTable) -> DetectionSummary:
    """Summarise a scored table; rows are counted from 1, the first below the header."""
    frame, is_kept = scored.source.frame, scored.cells.is_kept
    rows = np.flatnonzero(scored.is_outlier)
    return DetectionSummary(
        table=TableSummary(scored.source.name, len(frame), int(np.count_nonzero(is_kept))),
        columns=add_kinds(scored.columns, scored.detector),
        notes=(
            *scored.source.notes,
            *scored.cells.notes,
            *note_doubtful_rows(
                count_doubtful(scored.weights, scored.is_outlier), len(scored.weights)
            ),
        ),
        model=summarise_model(scored.detector, len(scored.cells.names)),
        n_flagged=len(rows),
        flagged=_describe_flagged(scored, rows),
        usual=describe_usual_values(
            frame.iloc[np.flatnonzero(is_kept)[~scored.is_outlier]], scored.columns
        ),
        groups=summarise_groups(scored.detector),
    )


def summarise_scoring(
    summary: DetectionSummary, detector: EOSDetector, level: float | None
) -> DetectionSummary:
    """Return the summary of a table that was scored by a saved model."""
    chance, judge = level, detector._judge
    if chance is None:
        chance = float(judge.law.p_values(np.array([judge.cut]))[0])
    share = summary.n_flagged / max(summary.table.n_used, 1)
    is_other = summary.n_flagged >= _SEVERAL and share > max(_TOO_MANY, 2 * chance)
    return replace(
        summary,
        notes=(*summary.notes, _OTHER_TABLE) if is_other else summary.notes,
        model=_judge_new_rows(summary.model, level, chance),
    )


def _judge_new_rows(model: ModelSummary, level: float | None, chance: float) -> ScoringSummary:
    """Return what a model says about new rows: the chance of a false alarm, if anything."""
    if not model.promise:
        return ScoringSummary(**vars(model), level=level, chance=None)
    told = {"promise": False, "promise_reason": _NEW_ROWS}
    return ScoringSummary(**vars(model) | told, level=level, chance=chance)


def summarise_model(detector: EOSDetector, n_columns: int) -> ModelSummary:
    """Summarise how a detector reached its result."""
    return ModelSummary(
        rung=detector.rung_,
        reason=detector.reason_,
        promise=bool(detector.promise_),
        promise_reason=detector.promise_.reason,
        alpha=float(detector.alpha_),
        is_alpha_chosen=detector.alpha == "auto",
        fdr=float(detector.fdr),
        shrinkage=getattr(detector, "shrinkage_", None),
        n_columns=n_columns,
        passes=int(detector.n_iter_),
        status=str(detector.status_),
        effective_rows=float(detector.effective_sample_size_),
        objective=tuple(float(value) for value in detector.objective_history_),
    )


def add_kinds(columns: Sequence[Column], detector: EOSDetector) -> tuple[Column, ...]:
    """Return columns with the kinds that a detector saw."""
    kinds = {column.name: column for column in detector.columns_}
    without = _list_without_effect(detector)
    return tuple(
        replace(
            column,
            kind=str(kinds[column.name].kind),
            kind_why=NO_EFFECT if column.name in without else kinds[column.name].why,
        )
        if column.role.is_used and column.name in kinds
        else column
        for column in columns
    )


def _list_without_effect(detector: EOSDetector) -> set[str]:
    """Return the categories between which numbers differ by chance only."""
    view = detector._judge.fit.coordinates
    if not isinstance(view, TableView):
        return set()
    pairs = zip(view.levels.tolist(), view.effects.steps, strict=True)
    columns = [detector.columns_[place] for place, steps in pairs if not steps.any()]
    return {column.name for column in columns if column.kind is Kind.CATEGORY}


def summarise_groups(detector: EOSDetector) -> tuple[GroupSummary, ...]:
    """Summarise the groups that a detector found, with centres in the units of the columns."""
    reader = getattr(detector, "_reader", None)
    are_text = set() if reader is None else set(reader.levels)
    return tuple(
        GroupSummary(
            n_rows=int(group.n_rows),
            share=float(group.share),
            is_outlier=bool(group.is_outlier),
            columns=tuple(group.columns),
            centre={
                column.name: _format_middle(float(value), column.kind)
                for column, value in zip(detector.columns_, group.centre, strict=True)
                if np.isfinite(value) and column.name not in are_text
            },
        )
        for group in detector.groups_
    )


def _format_middle(value: float, kind: Kind) -> float | str:
    if kind is Kind.DATE:
        return str(np.datetime64(0, "D") + np.timedelta64(round(value), "D"))
    return float(f"{value:.6g}")


def count_doubtful(weights: FloatArray, is_outlier: BoolArray) -> int:
    """Count the rows that play no part in the fit and yet are not flagged."""
    return int(np.count_nonzero((weights < _HARDLY_ANY_WEIGHT) & ~is_outlier))


def note_doubtful_rows(n_doubtful: int, n_rows: int) -> list[str]:
    """Warn if many rows play no part in the fit and yet are not flagged."""
    if n_doubtful <= _MAX_DOUBTFUL * n_rows:
        return []
    return [
        f"{n_doubtful:,} rows have hardly any weight but are not flagged: the "
        "model fits only the other rows, as happens with more columns than rows. You can trust the "
        "order of the rows but not the p-values, and too few rows may be flagged. Use fewer "
        "columns."
    ]


def _describe_flagged(scored: ScoredTable, rows: IntArray) -> tuple[FlaggedRow, ...]:
    if len(rows) == 0:
        return ()
    values = scored.cells.take(rows)
    places = np.flatnonzero(scored.cells.is_kept)[rows]
    return describe_rows(
        scored.source.frame.iloc[places],
        scored.columns,
        scored.detector,
        values,
        places=places,
        p_values=scored.p_values[rows],
        weights=scored.weights[rows],
    )


def describe_rows(
    cells: pd.DataFrame,
    columns: list[Column],
    detector: EOSDetector,
    values: pd.DataFrame,
    *,
    places: IntArray,
    p_values: FloatArray,
    weights: FloatArray,
) -> tuple[FlaggedRow, ...]:
    """Describe rows, the most outlying first.

    Parameters
    ----------
    cells : DataFrame
        The rows as they are in the table.
    columns : list of Column
        The columns of the table.
    detector : EOSDetector
        The fitted detector.
    values : DataFrame
        The rows as the detector sees them.
    places : array of int
        Their places in the table, from 0.
    p_values, weights : array
        What the detector says about them.
    """
    contributions = detector.explain(values).contributions
    squared = contributions.sum(axis=1)
    shares = contributions / np.maximum(squared[:, None], 1e-300)
    shares = blame_levels(shares, detector, values)
    name = find_identifier(columns)
    places_of = {column: i for i, column in enumerate(cells.columns)}
    used = [(str(column), places_of[column]) for column in values.columns]
    rows = [
        FlaggedRow(
            row=int(places[i]) + 1,
            id=None if name is None else format_cell(cells[name].iat[i]),
            p_value=float(p_values[i]),
            distance=float(np.sqrt(squared[i])),
            weight=float(weights[i]),
            reasons=tuple(
                Reason(used[n][0], format_cell(cells.iat[i, used[n][1]]), float(shares[i, n]))
                for n in choose_reasons(shares[i])
            ),
        )
        for i in range(len(cells))
    ]
    return tuple(sorted(rows, key=lambda row: (row.p_value, -row.distance)))


def describe_usual_values(frame: pd.DataFrame, columns: list[Column]) -> dict[str, str]:
    """Describe the values that are usual in each column that is used."""
    import pandas as pd

    if frame.empty:
        return {}
    names = [column.name for column in columns if column.role is Role.NUMBER]
    cells = pd.DataFrame(extract_numbers(frame, names), columns=names)
    quantiles = cells.quantile([0.05, 0.5, 0.95]).to_numpy().T
    usual = {
        name: f"{low:.4g} to {high:.4g}, median {middle:.4g}"
        for name, (low, middle, high) in zip(names, quantiles, strict=True)
    }
    for column in columns:
        if column.role is Role.DATE:
            usual[column.name] = _describe_usual_dates(frame[column.name])
        if column.role is Role.CATEGORY:
            counts = frame[column.name].value_counts(normalize=True)
            if len(counts):
                usual[column.name] = f"{format_cell(counts.index[0])} in {counts.iloc[0]:.0%}"
    return usual


def _describe_usual_dates(cells: pd.Series[Any]) -> str:
    dates = parse_dates(cells, find_date_format(cells))
    low, middle, high = (str(date).split(".")[0] for date in dates.quantile([0.05, 0.5, 0.95]))
    return f"{low} to {high}, median {middle}".replace(" 00:00:00", "")


def append_scores(scored: ScoredTable, summary: DetectionSummary) -> pd.DataFrame:
    """Return the columns to append to the table; rows that were left out have no scores."""
    import pandas as pd

    n_rows, is_kept = len(scored.source.frame), scored.cells.is_kept
    columns: dict[str, Any] = {}
    for name, values in (("eos_weight", scored.weights), ("eos_p_value", scored.p_values)):
        columns[name] = np.full(n_rows, np.nan)
        columns[name][is_kept] = values
    columns["eos_is_outlier"] = np.zeros(n_rows, dtype=bool)
    columns["eos_is_outlier"][is_kept] = scored.is_outlier
    columns["eos_reason"] = list_reasons(n_rows, summary.flagged)
    return pd.DataFrame(columns)
