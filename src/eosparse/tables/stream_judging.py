"""Judge each row of a table on disk in one pass: write it, and keep the most outlying ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.rows import FileRows, single_threaded_blas
from eosparse.rows.memory import block_slices
from eosparse.rows.parallel import map_in_order
from eosparse.tables.cells import take_cells
from eosparse.tables.detection import (
    SCORES,
    add_kinds,
    count_doubtful,
    describe_rows,
    note_doubtful_rows,
    note_unseen,
    summarise_groups,
    summarise_model,
)
from eosparse.tables.reasons import list_reasons
from eosparse.tables.stream_output import (
    RowWriter,
    append_scores,
    check_destination,
    list_copied,
    write_rows,
)
from eosparse.tables.streaming import StreamedTable, count_rows
from eosparse.tables.summary import DetectionSummary, FlaggedRow, TableSummary
from eosparse.tables.survey import Survey, Thinning
from eosparse.tables.writing import warn_of_replaced

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow import RecordBatch

    from eosparse.estimators import EOSDetector

# Flagged rows that the summary describes, so that it fits into memory; the output has all of them.
_MAX_DESCRIBED = 2000
MAX_SHOWN = 4000
"""Rows of each kind, flagged or not, that are kept for the pictures of a report, as in memory."""
# Columns of the rows that are kept, which no table has.
P_VALUE, WEIGHT, PLACE = "\0p", "\0w", "\0i"


@dataclass(frozen=True)
class Verdict:
    """How rows are judged, and what is done with them.

    Attributes
    ----------
    detector : EOSDetector
        The fitted detector.
    is_new : bool
        Whether it was fitted to other rows.
    level : float or None
        Flag p-values of new rows below it; by default, distances beyond the cut-off.
    output : Path or None
        The file to write all rows to.
    safe : bool
        Whether text that a spreadsheet would take for a formula is neutralised in it.
    has_report : bool
        Whether rows are kept for a report.
    """

    detector: EOSDetector
    is_new: bool = False
    level: float | None = None
    output: Path | None = None
    safe: bool = False
    has_report: bool = False

    def judge(self, values: FloatArray, n_rows: int) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return p-values, weights and flags of rows; a weight of 1 is average."""
        judge = self.detector._judge
        blocks = [judge.fit.measure(values[part]) for part in block_slices(values.shape)]
        fitted = np.concatenate([np.zeros(0), *blocks])
        if not self.is_new:
            p_values, weights = judge.training_p_values(fitted), judge.weigh(fitted) * n_rows
            return p_values, weights, np.asarray(judge.is_outlier(fitted))
        p_values, weights = judge.p_values(fitted), judge.relative_weights(fitted)
        is_outlier = judge.is_outlier(fitted) if self.level is None else p_values < self.level
        return p_values, weights, np.asarray(is_outlier)


@dataclass(frozen=True)
class _JudgedBatch:
    """Rows of the table with what the detector says about them; `first` counts from 0."""

    records: RecordBatch
    first: int
    p_values: FloatArray
    weights: FloatArray
    is_outlier: BoolArray
    unseen: dict[str, set[str]]
    reasons: Any = None

    def take(self, places: IntArray, names: list[str]) -> RecordBatch:
        """Return some of the rows, with what is said about them."""
        import pyarrow as pa

        some = self.records.select(names).take(pa.array(places))
        scores = (self.p_values[places], self.weights[places], self.first + places)
        return pa.RecordBatch.from_arrays(
            [*some.columns, *map(pa.array, scores)], names=[*names, P_VALUE, WEIGHT, PLACE]
        )


@dataclass
class Findings:
    """What is kept of the rows that were judged.

    Attributes
    ----------
    n_flagged, n_doubtful : int
        Numbers of rows.
    best : list of DataFrame
        The most outlying of the flagged rows, as a table in memory holds them.
    others : Thinning or None
        Every k-th of the rows that are not flagged, for a report.
    unseen : dict
        By column, categories that the model does not know.
    """

    n_flagged: int = 0
    n_doubtful: int = 0
    best: list[pd.DataFrame] = field(default_factory=list)
    others: Thinning | None = None
    unseen: dict[str, set[str]] = field(default_factory=dict)

    def add(self, judged: _JudgedBatch, table: StreamedTable, names: list[str]) -> None:
        """Keep what is needed of a batch."""
        flagged = judged.take(np.flatnonzero(judged.is_outlier), names)
        self.n_flagged += len(flagged)
        self.n_doubtful += count_doubtful(judged.weights, judged.is_outlier)
        self.best.append(table.read_frame(flagged))
        if sum(map(len, self.best)) > 2 * MAX_SHOWN:
            self.best = [self.list_best(MAX_SHOWN)]
        for name, texts in judged.unseen.items():
            self.unseen.setdefault(name, set()).update(texts)
        if self.others is not None:
            is_other = ~judged.is_outlier & ~np.isnan(judged.p_values)
            self.others.add(judged.take(np.flatnonzero(is_other), names))

    def list_best(self, most: int = _MAX_DESCRIBED) -> pd.DataFrame:
        """Return the most outlying of the flagged rows, in the order of the table."""
        import pandas as pd

        best = pd.concat(self.best, ignore_index=True)
        return best.nsmallest(most, P_VALUE, keep="first").sort_values(PLACE)


def judge_streamed(table: StreamedTable, verdict: Verdict) -> tuple[DetectionSummary, Findings]:
    """Judge each row, write the output if there is any, and summarise."""
    found = Findings(others=Thinning(2 * MAX_SHOWN) if verdict.has_report else None)
    names = table.list_described()
    if verdict.has_report:
        names = list(dict.fromkeys([*names, *table.survey.table.names]))
    with _open_output(table, verdict) as writer:
        for judged in _judge_batches(table, verdict):
            found.add(judged, table, names)
            if writer is not None and verdict.output is not None:
                scores = (judged.weights, judged.p_values, judged.is_outlier, judged.reasons)
                writer.write(append_scores(judged.records, scores, table, verdict.output))
    return _summarise(table, verdict.detector, found), found


def _summarise(table: StreamedTable, detector: EOSDetector, found: Findings) -> DetectionSummary:
    survey, best = table.survey, found.list_best()
    notes = [*table.notes, *note_doubtful_rows(found.n_doubtful, table.n_used)]
    notes += note_unseen({name: tuple(sorted(texts)) for name, texts in found.unseen.items()})
    if found.n_flagged > len(best):
        notes.append(f"Only the {len(best):,} most outlying rows are described here.")
    return DetectionSummary(
        table=TableSummary(Path(survey.table.source).name, survey.n_rows, table.n_used),
        columns=add_kinds(table.columns, detector),
        notes=tuple(notes),
        model=summarise_model(detector, len(table.cells.names)),
        n_flagged=found.n_flagged,
        flagged=_describe(best, table, detector),
        usual={},
        groups=summarise_groups(detector),
    )


def check_output(survey: Survey, output: Path | None) -> None:
    """Raise before the fit if the output cannot be written beside this table."""
    if output is None:
        return
    check_destination(survey.table, output)
    replaced = [name for name in SCORES if name in survey.table.names]
    if replaced:
        warn_of_replaced(output, replaced)


@contextmanager
def _open_output(table: StreamedTable, verdict: Verdict) -> Iterator[RowWriter | None]:
    if verdict.output is None:
        yield None
        return
    with write_rows(verdict.output, table.survey.table, is_safe=verdict.safe) as writer:
        yield writer


def _judge_batches(table: StreamedTable, verdict: Verdict) -> Iterator[_JudgedBatch]:
    """Read all rows once more; the cells of text as they are written if they are copied."""
    stored, is_written = table.survey.table, verdict.output is not None
    dataset, ledger, others = table.rows.dataset, stored.ledger, table.list_described()
    if is_written or verdict.has_report:
        dataset, ledger, others = stored.read_verbatim(), stored.verbatim, stored.list_all()
    if verdict.output is not None:
        others = list_copied(stored, verdict.output)
    rows = FileRows(dataset, table.cells.names, ledger=ledger)

    def one(item: tuple[RecordBatch, int]) -> _JudgedBatch:
        judged = _judge_records(*item, table, verdict)
        return _add_reasons(judged, table, verdict.detector) if is_written else judged

    with single_threaded_blas() as n_threads:
        yield from map_in_order(count_rows(rows.batches(others)), one, n_threads=n_threads)


def _judge_records(
    records: RecordBatch, first: int, table: StreamedTable, verdict: Verdict
) -> _JudgedBatch:
    cells, values = table.cells, table.cells.decode_all(records)
    is_kept = cells.find_kept(values)
    counted = values if is_kept.all() else values[is_kept]
    # As in memory: rows without any value have no weight, and of rows left out nothing is known.
    is_dropped = cells.leaves_out == "gaps"
    p_values = np.full(len(values), np.nan if is_dropped else 1.0)
    weights = np.full(len(values), np.nan if is_dropped else 0.0)
    is_outlier = np.zeros(len(values), dtype=np.bool_)
    found = verdict.judge(counted, table.n_used)
    p_values[is_kept], weights[is_kept], is_outlier[is_kept] = found
    unseen = cells.list_unseen(records, values) if verdict.is_new else {}
    return _JudgedBatch(records, first, p_values, weights, is_outlier, unseen)


def _add_reasons(judged: _JudgedBatch, table: StreamedTable, detector: EOSDetector) -> _JudgedBatch:
    """Return a batch with the reasons of its flagged rows in words."""
    places = np.flatnonzero(judged.is_outlier)
    flagged = table.read_frame(replace(judged, first=0).take(places, table.list_described()))
    rows = _describe(flagged, table, detector)
    return replace(judged, reasons=list_reasons(len(judged.records), rows))


def _describe(
    flagged: pd.DataFrame, table: StreamedTable, detector: EOSDetector
) -> tuple[FlaggedRow, ...]:
    if flagged.empty:
        return ()
    cells, encoding = flagged.reset_index(drop=True), table.cells.encoding
    parsed = table.cells.parse_written(cells)
    values = take_cells(parsed, table.cells.columns, missing="keep", encoding=encoding).frame
    return describe_rows(
        parsed,
        table.columns,
        detector,
        values,
        places=cells[PLACE].to_numpy(),
        p_values=cells[P_VALUE].to_numpy(),
        weights=cells[WEIGHT].to_numpy(),
    )
