"""Detect outliers in a table that does not fit into memory.

The files are read once to see what they hold (`survey`), a few times to fit the detector, and once
more to judge each row, to write the output and to keep the most outlying rows. Only a few batches
are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.rows import FileRows, single_threaded_blas
from eosparse.rows.formats import find_format
from eosparse.rows.memory import block_slices
from eosparse.rows.parallel import map_in_order
from eosparse.tables.cells import Missing, take_cells
from eosparse.tables.columns import Column, Role, find_identifier
from eosparse.tables.detection import (
    SCORES,
    add_kinds,
    count_doubtful,
    describe_rows,
    note_doubtful_rows,
    summarise_groups,
    summarise_model,
)
from eosparse.tables.fitting import stop_if_interrupted
from eosparse.tables.reading import TableError
from eosparse.tables.reasons import list_reasons
from eosparse.tables.stream_cells import TRUTHS, StreamedCells, count_gaps, settle_gaps
from eosparse.tables.stream_output import RowWriter, check_stream_format, write_rows
from eosparse.tables.summary import DetectionSummary, FlaggedRow, TableSummary
from eosparse.tables.survey import Survey, mark_missing, read_plain_numbers, trim_and_mark
from eosparse.tables.writing import warn_of_replaced
from eosparse.tables.written_numbers import is_text

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow import RecordBatch, Table

    from eosparse.estimators import EOSDetector

# Flagged rows that the summary describes, so that it fits into memory; the output has all of them.
_MAX_DESCRIBED = 2000


@dataclass(frozen=True)
class StreamedTable:
    """A table on disk, and how its cells become numbers.

    Attributes
    ----------
    survey : Survey
        What the first pass has shown.
    columns : list of Column
        The columns and their roles.
    cells : StreamedCells
        How the cells that are used become numbers.
    notes : tuple of str
        What was assumed, and what is done about missing values.
    """

    survey: Survey
    columns: list[Column]
    cells: StreamedCells
    notes: tuple[str, ...]

    @classmethod
    def prepare(cls, survey: Survey, columns: list[Column], missing: Missing) -> StreamedTable:
        """Find out how cells are read, and what to do about missing values."""
        cells = StreamedCells.learn(survey, columns)
        rows = _open_rows(survey, cells)
        cells, notes = settle_gaps(cells, count_gaps(rows, cells, survey), survey.n_rows, missing)
        said = "The table was streamed"
        if not survey.is_whole:
            said += f"; the roles of columns were recognised from {len(survey.sample):,} rows"
        return cls(survey, columns, cells, (*survey.notes, f"{said}.", *notes))

    @property
    def n_used(self) -> int:
        """Number of rows that were not left out."""
        is_dropping = self.cells.leaves_out == "gaps"
        return self.cells.n_present if is_dropping else self.survey.n_rows

    @property
    def rows(self) -> FileRows:
        """The rows as a detector takes them."""
        return _open_rows(self.survey, self.cells)


def _open_rows(survey: Survey, cells: StreamedCells) -> FileRows:
    table, facts = survey.table, survey.facts
    numbers = [
        c.name
        for c in cells.columns
        if c.role is Role.NUMBER and facts[c.name].is_number and c.name not in cells.notations
    ]
    return FileRows(table.read(numbers), cells.names, decoder=cells, ledger=table.ledger)


def fit_streamed(detector: EOSDetector, table: StreamedTable) -> None:
    """Fit a detector to rows on disk as to the same rows in memory."""
    given = dict(detector.kinds or {})
    detector.set_params(kinds=table.cells.list_kinds(given)).fit(table.rows)
    reader = table.cells.make_reader(given)
    if reader is not None:
        detector._reader = reader  # explains rows with text and dates
    stop_if_interrupted(detector)


@dataclass(frozen=True)
class _JudgedBatch:
    """Rows of the table with what the detector says about them; `first` counts from 0."""

    records: RecordBatch
    first: int
    p_values: FloatArray
    weights: FloatArray
    is_outlier: BoolArray
    reasons: Any = None


@dataclass
class _Findings:
    """What is kept of the rows that were judged: counts, and the most outlying rows."""

    n_flagged: int = 0
    n_doubtful: int = 0
    best: list[pd.DataFrame] = field(default_factory=list)

    def add(self, judged: _JudgedBatch, flagged: pd.DataFrame) -> None:
        import pandas as pd

        self.n_flagged += len(flagged)
        self.n_doubtful += count_doubtful(judged.weights, judged.is_outlier)
        self.best.append(flagged)
        if sum(map(len, self.best)) > 2 * _MAX_DESCRIBED:
            best = pd.concat(self.best, ignore_index=True)
            self.best = [best.nsmallest(_MAX_DESCRIBED, _P_VALUE, keep="first")]

    def list_best(self) -> pd.DataFrame:
        import pandas as pd

        best = pd.concat(self.best, ignore_index=True)
        return best.nsmallest(_MAX_DESCRIBED, _P_VALUE, keep="first").sort_values(_PLACE)


# Columns of the rows that are kept, which no table has.
_P_VALUE, _WEIGHT, _PLACE = "\0p", "\0w", "\0i"


def judge_streamed(
    table: StreamedTable, detector: EOSDetector, output: Path | None
) -> DetectionSummary:
    """Judge each row in a last pass, write the output if there is any, and summarise."""
    survey, found = table.survey, _Findings()
    is_text = output is not None and find_format(output).separator is not None
    with _open_output(table, output) as writer:
        for judged in _judge_batches(table, detector, with_reasons=writer is not None):
            found.add(judged, _read_flagged(judged, table))
            if writer is not None:
                writer.write(_append(judged, table, is_text=is_text))
    best = found.list_best()
    names = list(table.cells.names)
    notes = [*table.notes, *note_doubtful_rows(found.n_doubtful, table.n_used)]
    if found.n_flagged > len(best):
        notes.append(f"Only the {len(best):,} most outlying rows are described here.")
    return DetectionSummary(
        table=TableSummary(Path(survey.table.source).name, survey.n_rows, table.n_used),
        columns=add_kinds(table.columns, detector),
        notes=tuple(notes),
        model=summarise_model(detector, len(names)),
        n_flagged=found.n_flagged,
        flagged=_describe(best, table, detector),
        usual={},
        groups=summarise_groups(detector),
    )


def check_output(survey: Survey, output: Path | None) -> None:
    """Raise before the fit if the output cannot be written beside this table."""
    if output is None:
        return
    check_stream_format(output)
    if str(output.resolve()) in {str(Path(file).resolve()) for file in survey.table.ledger.stamps}:
        raise TableError(f"{output} is one of the input files. Write to another file.")
    replaced = [name for name in SCORES if name in survey.table.names]
    if replaced:
        warn_of_replaced(output, replaced)


@contextmanager
def _open_output(table: StreamedTable, output: Path | None) -> Iterator[RowWriter | None]:
    if output is None:
        yield None
        return
    with write_rows(output, table.survey.table.dialect) as writer:
        yield writer


def _judge_batches(
    table: StreamedTable, detector: EOSDetector, *, with_reasons: bool
) -> Iterator[_JudgedBatch]:
    """Read all rows once more; the cells of text as they are written if they are copied."""
    stored, name = table.survey.table, find_identifier(table.columns)
    dataset, ledger = table.rows.dataset, stored.ledger
    if with_reasons:
        dataset, ledger = stored.read_verbatim(), stored.verbatim
    rows = FileRows(dataset, table.cells.names, ledger=ledger)
    others = stored.list_all() if with_reasons else [name] if name is not None else []

    def number(batches: Iterator[Any]) -> Iterator[tuple[RecordBatch, int]]:
        seen = 0
        for batch in batches:
            yield batch.records, seen
            seen += len(batch.records)

    def one(item: tuple[RecordBatch, int]) -> _JudgedBatch:
        judged = _judge_records(*item, table, detector)
        return _add_reasons(judged, table, detector) if with_reasons else judged

    with single_threaded_blas() as n_threads:
        yield from map_in_order(number(rows.batches(others)), one, n_threads=n_threads)


def _judge_records(
    records: RecordBatch, first: int, table: StreamedTable, detector: EOSDetector
) -> _JudgedBatch:
    judge, cells, values = detector._judge, table.cells, table.cells.decode_all(records)
    is_kept = cells.find_kept(values)
    counted = values if is_kept.all() else values[is_kept]
    blocks = [judge.fit.measure(counted[part]) for part in block_slices(counted.shape)]
    fitted = np.concatenate([np.zeros(0), *blocks])
    # As in memory: rows without any value have no weight, and of rows left out nothing is known.
    is_dropped = cells.leaves_out == "gaps"
    p_values = np.full(len(values), np.nan if is_dropped else 1.0)
    weights = np.full(len(values), np.nan if is_dropped else 0.0)
    is_outlier = np.zeros(len(values), dtype=np.bool_)
    p_values[is_kept] = judge.training_p_values(fitted)
    weights[is_kept] = judge.weigh(fitted) * table.n_used
    is_outlier[is_kept] = judge.is_outlier(fitted)
    return _JudgedBatch(records, first, p_values, weights, is_outlier)


def _add_reasons(judged: _JudgedBatch, table: StreamedTable, detector: EOSDetector) -> _JudgedBatch:
    """Return a batch with the reasons of its flagged rows in words."""
    flagged = _read_flagged(replace(judged, first=0), table)
    rows = _describe(flagged, table, detector)
    return replace(judged, reasons=list_reasons(len(judged.records), rows))


def _read_flagged(judged: _JudgedBatch, table: StreamedTable) -> pd.DataFrame:
    """Return the flagged rows of a batch, in the types of a table in memory."""
    import pyarrow as pa

    places = np.flatnonzero(judged.is_outlier)
    name = find_identifier(table.columns)
    names = [*table.cells.names, *([] if name is None else [name])]
    some = judged.records.select(names).take(pa.array(places))
    frame = table.cells.read_frame(some, names)
    if table.survey.table.dialect is not None:
        frame = frame.assign(**{name: restore_type(frame[name], name, table) for name in names})
    scores = {_P_VALUE: judged.p_values[places], _WEIGHT: judged.weights[places]}
    return frame.assign(**scores, **{_PLACE: judged.first + places})


def restore_type(cells: pd.Series[Any], name: str, table: StreamedTable) -> pd.Series[Any]:
    """Return text of a file in the type that a table in memory has, where all of it fits."""
    import pyarrow as pa
    from pandas.api.types import is_numeric_dtype

    kind = table.survey.sample[name].dtype
    if name in table.cells.notations:
        return cells
    if str(kind) == "bool":
        cells = cells.map(TRUTHS)
    elif is_text(cells) and table.survey.facts[name].is_number and is_numeric_dtype(kind):
        text = pa.array(cells, pa.string())
        numbers = read_plain_numbers(text, table.cells.decimal)
        cells = cells if numbers is None else numbers.to_pandas()
    try:
        return cells.astype(kind)
    except (ValueError, TypeError):  # a cell that the sample does not show
        return cells


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
        places=cells[_PLACE].to_numpy(),
        p_values=cells[_P_VALUE].to_numpy(),
        weights=cells[_WEIGHT].to_numpy(),
    )


def _append(judged: _JudgedBatch, table: StreamedTable, *, is_text: bool) -> Table:
    """Return a batch with its scores; text that is written to text stays as it is."""
    import pyarrow as pa

    stored = table.survey.table
    records = judged.records.select([n for n in stored.list_all() if n not in SCORES])
    columns = list(records.columns)
    if stored.dialect is not None and not is_text:
        columns = [read_typed(cells, name, table)
                   for name, cells in zip(records.schema.names, columns, strict=True)]  # fmt: skip
    flags: Any = judged.is_outlier
    scores = (
        pa.array(judged.weights, from_pandas=True),
        pa.array(judged.p_values, from_pandas=True),
        pa.array(np.where(flags, "True", "False") if is_text else flags),
        pa.array(judged.reasons, pa.string()),
    )
    found = pa.table([*columns, *scores], names=[*records.schema.names, *SCORES])
    return found.replace_schema_metadata(records.schema.metadata)


def read_typed(cells: Any, name: str, table: StreamedTable) -> Any:
    """Return text of a file as numbers where they are used as such, else without missing cells."""
    is_number = any(c.name == name and c.role is Role.NUMBER for c in table.cells.columns)
    if is_number and table.survey.facts[name].is_number:
        return read_plain_numbers(mark_missing(cells), table.cells.decimal)
    return trim_and_mark(cells)
