"""Fit a detector to a table that does not fit into memory.

The files are read once to see what they hold (`survey`), a few times to fit the detector, and once
more to judge each row, to write the output and to keep the most outlying rows (`stream_judging`).
Only a few batches are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eosparse.rows import FileRows
from eosparse.tables.cells import Missing, note_unreadable
from eosparse.tables.columns import Column, Role, find_identifier
from eosparse.tables.fitting import stop_if_interrupted
from eosparse.tables.stream_cells import TRUTHS, StreamedCells, count_gaps, settle_gaps
from eosparse.tables.survey import Survey, read_plain_numbers
from eosparse.tables.written_numbers import is_text

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow import RecordBatch

    from eosparse.estimators import EOSDetector
    from eosparse.tables.models import SavedModel


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
        return cls._settle(survey, columns, StreamedCells.learn(survey, columns), missing)

    @classmethod
    def prepare_new(cls, survey: Survey, saved: SavedModel, missing: Missing) -> StreamedTable:
        """Read cells as those of the table that a saved model was fitted to."""
        n_missing = {name: facts.n_missing for name, facts in survey.facts.items()}
        columns = saved.match_names(survey.name, survey.table.names, n_missing)
        unread = note_unreadable(survey.sample, columns, saved.encoding)
        if not survey.is_whole:
            unread = tuple(f"Of {len(survey.sample):,} rows, {note}" for note in unread)
        reader = getattr(saved.detector, "_reader", None)
        levels = {} if reader is None else reader.levels
        cells = StreamedCells.learn(survey, columns, saved.encoding, levels)
        table = cls._settle(survey, columns, cells, missing)
        return replace(table, notes=(*table.notes, *unread))

    @classmethod
    def _settle(
        cls, survey: Survey, columns: list[Column], cells: StreamedCells, missing: Missing
    ) -> StreamedTable:
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

    def list_described(self) -> list[str]:
        """Return the columns that a flagged row is described by."""
        name = find_identifier(self.columns)
        return [*self.cells.names, *([] if name is None else [name])]

    def read_frame(self, records: RecordBatch) -> pd.DataFrame:
        """Return rows as a table in memory holds them; columns of numbers that are not its own."""
        names = [name for name in records.schema.names if name in self.survey.facts]
        others = [name for name in records.schema.names if name not in names]
        frame = self.cells.read_frame(records, names)
        if self.survey.table.dialect is not None:
            frame = frame.assign(**{name: self._restore_type(frame[name], name) for name in names})
        return frame.assign(**{name: records.column(name).to_numpy() for name in others})

    def _restore_type(self, cells: pd.Series[Any], name: str) -> pd.Series[Any]:
        """Return text of a file in the type that a table in memory has, where all of it fits."""
        import pyarrow as pa
        from pandas.api.types import is_numeric_dtype

        kind = self.survey.sample[name].dtype
        if name in self.cells.notations:
            return cells
        if str(kind) == "bool":
            cells = cells.map(TRUTHS)
        elif is_text(cells) and self.survey.facts[name].is_number and is_numeric_dtype(kind):
            text = pa.array(cells, pa.string())
            numbers = read_plain_numbers(text, self.cells.decimal)
            cells = cells if numbers is None else numbers.to_pandas()
        try:
            return cells.astype(kind)
        except (ValueError, TypeError):  # a cell that the sample does not show
            return cells


def _open_rows(survey: Survey, cells: StreamedCells) -> FileRows:
    table, facts = survey.table, survey.facts
    numbers = [
        c.name
        for c in cells.columns
        if c.role is Role.NUMBER and facts[c.name].is_number and c.name not in cells.notations
    ]
    return FileRows(table.read(numbers), cells.names, decoder=cells, ledger=table.ledger)


def count_rows(batches: Iterator[Any]) -> Iterator[tuple[RecordBatch, int]]:
    """Yield batches of rows with the number of rows before them."""
    seen = 0
    for batch in batches:
        yield batch.records, seen
        seen += len(batch.records)


def fit_streamed(detector: EOSDetector, table: StreamedTable) -> None:
    """Fit a detector to rows on disk as to the same rows in memory."""
    given = dict(detector.kinds or {})
    detector.set_params(kinds=table.cells.list_kinds(given)).fit(table.rows)
    reader = table.cells.make_reader(given)
    if reader is not None:
        detector._reader = reader  # explains rows with text and dates
    stop_if_interrupted(detector)
