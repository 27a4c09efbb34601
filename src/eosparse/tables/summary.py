"""What a command found in a table, as plain data that text, JSON and HTML are made of.

The names of the fields are those of the JSON output.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from eosparse import __version__
from eosparse.tables.columns import Column
from eosparse.tables.reasons import Reason


@dataclass(frozen=True)
class TableSummary:
    """A table and its size; `n_used` rows had no missing values."""

    name: str
    n_rows: int
    n_used: int


@dataclass(frozen=True)
class ModelSummary:
    """How a detector reached its result.

    Attributes
    ----------
    rung : str or None
        The rung of the ladder that was taken; None for a model that was asked for.
    reason : str
        Why, in a sentence.
    promise : bool
        Whether the false-discovery rate can be promised.
    promise_reason : str
        Why, or why not.
    shrinkage : float or None
        Of the covariance; None for models without one.
    alpha, is_alpha_chosen, fdr, n_columns, passes, status, effective_rows, objective
        As in `EOSDetector`.
    """

    rung: str | None
    reason: str
    promise: bool
    promise_reason: str
    alpha: float
    is_alpha_chosen: bool
    fdr: float
    shrinkage: float | None
    n_columns: int
    passes: int
    status: str
    effective_rows: float
    objective: tuple[float, ...]


@dataclass(frozen=True)
class ScoringSummary(ModelSummary):
    """A saved model, and how it flagged new rows.

    No false-discovery rate is promised about new rows: it depends on how many of them are wrong.
    Only the chance of a false alarm is known, and only if the training table kept its promise.

    Attributes
    ----------
    level : float or None
        P-values below it were flagged; None is the cut-off of the model.
    chance : float or None
        The chance that a row like the good rows of the training table is flagged; None if that
        table promised nothing, so that its p-values only rank rows.
    """

    level: float | None
    chance: float | None


@dataclass(frozen=True)
class FlaggedRow:
    """An outlier, its row counted from 1, and why."""

    row: int
    id: str | None
    p_value: float
    distance: float
    weight: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class GroupSummary:
    """A group of rows: good ones, or outliers that sit apart together.

    Attributes
    ----------
    n_rows : int
        Number of rows, estimated where there are many.
    share : float
        Their share of all rows.
    is_outlier : bool
        Whether its rows count as outliers.
    columns : tuple of str
        The columns that set it apart, most telling first.
    centre : dict
        By column of numbers, the middle of the group: a number, or a date as text.
    """

    n_rows: int
    share: float
    is_outlier: bool
    columns: tuple[str, ...]
    centre: dict[str, float | str]


@dataclass(frozen=True)
class DetectionSummary:
    """Outliers of a table, the most outlying first.

    Attributes
    ----------
    kind : str
        "detection".
    eosparse : str
        The version of eosparse.
    table : TableSummary
        The table.
    columns : tuple of Column
        Its columns and their roles.
    notes : tuple of str
        Assumptions and warnings.
    model : ModelSummary
        How the result was reached.
    n_flagged : int
        Number of flagged rows.
    flagged : tuple of FlaggedRow
        The flagged rows; of a streamed table, the most outlying of them.
    usual : dict
        By column, the values that are usual among rows that are not flagged.
    groups : tuple of GroupSummary
        Groups of rows that sit apart: among the flagged rows, or kinds of good rows.
    """

    kind: Literal["detection"] = field(default="detection", init=False)
    eosparse: str = field(default=__version__, init=False)
    table: TableSummary
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    model: ModelSummary
    n_flagged: int
    flagged: tuple[FlaggedRow, ...]
    usual: dict[str, str]
    groups: tuple[GroupSummary, ...] = ()


@dataclass(frozen=True)
class LabelModelSummary:
    """What labels were checked with, and whether the false-discovery rate can be promised."""

    fdr: float
    n_columns: int
    learner: str
    promise: bool
    promise_reason: str


@dataclass(frozen=True)
class FlaggedLabel:
    """A label that is probably wrong, its row counted from 1, and why."""

    row: int
    id: str | None
    given: str
    suggested: str
    weight: float
    probability_wrong: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class LabelMatrix:
    """Numbers of flagged rows by given (row) and suggested (column) class.

    Classes with most flagged rows come first; with many classes, the others are left out.
    """

    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ConfusedPair:
    """Number of flagged rows given one class instead of another, and their share of the first."""

    given: str
    suggested: str
    count: int
    share: float


@dataclass(frozen=True)
class Quality:
    """Cross-validated score of a model trained with and without the flagged rows.

    In JSON, the scores are named "with" and "without"; None if there are too few rows.
    """

    measure: str
    n_folds: int
    score_with: float | None
    score_without: float | None


@dataclass(frozen=True)
class LabelSummary:
    """Labels of a table that are probably wrong, the most suspicious first.

    Attributes
    ----------
    kind : str
        "labels".
    eosparse : str
        The version of eosparse.
    task : str
        "classification" or "regression".
    target : str
        The column with the labels.
    table, columns, notes, n_flagged, usual
        As in `DetectionSummary`.
    model : LabelModelSummary
        What labels were checked with.
    noise_rates : dict
        Estimated share of wrong labels by class, or under "all" for a regression.
    flagged : tuple of FlaggedLabel
        The flagged labels.
    matrix : LabelMatrix or None
        Their numbers by class; None for a regression.
    pairs : tuple of ConfusedPair
        The same as pairs of classes, the most frequent first.
    quality : Quality
        What a model gains without them.
    """

    kind: Literal["labels"] = field(default="labels", init=False)
    eosparse: str = field(default=__version__, init=False)
    task: Literal["classification", "regression"]
    target: str
    table: TableSummary
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    model: LabelModelSummary
    noise_rates: dict[str, float]
    n_flagged: int
    flagged: tuple[FlaggedLabel, ...]
    matrix: LabelMatrix | None
    quality: Quality
    usual: dict[str, str]
    pairs: tuple[ConfusedPair, ...] = ()


Summary = DetectionSummary | LabelSummary
