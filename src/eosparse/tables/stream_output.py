"""Write a table batch by batch: Parquet, Arrow or text, complete or not at all."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from eosparse.rows.compression import compression_of_name, open_compressed
from eosparse.rows.dialect import Dialect
from eosparse.rows.formats import ARROW, JSON_LINES, PARQUET, find_format
from eosparse.rows.json_files import LINE
from eosparse.rows.json_text import write_line
from eosparse.rows.whole_file import replace_when_complete
from eosparse.tables.detection import SCORES
from eosparse.tables.json_lines import LineCopy, write_cells, write_json_lines
from eosparse.tables.originals import write_value
from eosparse.tables.reading import TableError
from eosparse.tables.text_cells import Joiner, neutralise, neutralise_column, suit_separator

if TYPE_CHECKING:
    from pyarrow import Array, RecordBatch, Table

    from eosparse.tables.streaming import StreamedTable
    from eosparse.tables.survey import StoredTable


class RowWriter(Protocol):
    """What takes rows, batch by batch."""

    def write(self, table: Table) -> None:
        """Write some rows."""


def check_stream_format(path: Path) -> None:
    """Refuse a format that is written only as a whole."""
    if not find_format(path).is_streamed:
        raise TableError(
            f"{path}: the output of a streamed table must be CSV, TSV, JSON lines, Parquet or "
            "Arrow."
        )


def check_destination(stored: StoredTable, path: Path) -> None:
    """Raise before the fit if a file cannot be written beside the table that is read."""
    check_stream_format(path)
    if str(path.resolve()) in {str(Path(file).resolve()) for file in stored.ledger.stamps}:
        raise TableError(f"{path} is one of the input files. Write to another file.")


def list_copied(stored: StoredTable, path: Path) -> list[str]:
    """Return the columns that a copy is made of: lines of JSON are copied as they are written."""
    has_lines = stored.has_lines and find_format(path).is_compressible
    return [*stored.list_all(), *([LINE] if has_lines else [])]


def copy_cells(records: RecordBatch, table: StreamedTable, path: Path) -> Table:
    """Return the columns of a copy; text that is written to text stays as it is."""
    import pyarrow as pa

    stored, found = table.survey.table, find_format(path)
    names = list_copied(stored, path)
    columns = [records.column(name) for name in names]
    if stored.dialect is not None and found.separator is None:
        types, decimal = table.survey.text_types, stored.dialect.decimal
        pairs = zip(names, columns, strict=True)
        columns = [types[name].convert(cells, decimal) for name, cells in pairs]
    if LINE in names and found.separator is not None:
        names = names[:-1]
        columns = _write_lines(columns, names)
    return pa.table(columns, names=names).replace_schema_metadata(records.schema.metadata)


def append_scores(
    records: RecordBatch, scores: Sequence[Any], table: StreamedTable, path: Path
) -> Table:
    """Return a copy of a batch with its scores, in place of earlier ones."""
    import pyarrow as pa

    copied = copy_cells(records, table, path)
    copied = copied.drop_columns([name for name in SCORES if name in copied.column_names])
    weights, p_values, flags, reasons = scores
    added = (
        pa.array(weights, from_pandas=True),
        pa.array(p_values, from_pandas=True),
        pa.array(flags),
        pa.array(reasons, pa.string()),
    )
    made = pa.table([*copied.columns, *added], names=[*copied.column_names, *SCORES])
    return made.replace_schema_metadata(records.schema.metadata)


def _write_lines(columns: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """Return columns of JSON lines as text, with numbers as they are written in the lines."""
    import pyarrow as pa

    *values, lines = (column.to_pylist() for column in columns)
    rows = [write_cells(line, names, cells) for line, *cells in zip(lines, *values, strict=True)]
    return [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)]


@contextmanager
def write_rows(path: Path, stored: StoredTable, *, is_safe: bool = False) -> Iterator[RowWriter]:
    """Yield what rows are written to; the file appears when the block ends.

    Parameters
    ----------
    path : Path
        The file; its extension stands for the format.
    stored : StoredTable
        The input: text is written as it is.
    is_safe : bool, default=False
        Whether text that a spreadsheet would take for a formula gets an apostrophe, in text files.
    """
    found = find_format(path)
    with replace_when_complete(path) as partial:
        if found in (PARQUET, ARROW):
            writer = _Columnar(partial, is_parquet=found is PARQUET)
            try:
                yield writer
            finally:
                writer.close()
            return
        with open_compressed(partial, compression_of_name(path)) as stream:
            if found is JSON_LINES:
                yield _JsonLines(stream, frozenset(stored.names))
            else:
                dialect = suit_separator(stored.dialect or Dialect(()), found, path)
                yield _Text(stream, dialect, stored.read_header(), is_safe=is_safe)


@dataclass
class _Columnar:
    """Parquet or Arrow: the types of the first batch are those of all."""

    path: Path
    is_parquet: bool
    _writer: Any = None

    def write(self, table: Table) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            make = pq.ParquetWriter if self.is_parquet else pa.ipc.new_file
            self._writer = make(str(self.path), table.schema)
        self._writer.write_table(table.cast(self._writer.schema) if self.is_parquet else table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


@dataclass
class _JsonLines:
    """JSON lines: those of the input as they are, with the columns after them added."""

    stream: BinaryIO
    names: frozenset[str]  # that lines may have already

    def write(self, table: Table) -> None:
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        if LINE not in table.column_names:
            write_json_lines(self.stream, table.column_names, rows)
            return
        after = table.column_names.index(LINE) + 1
        added = table.column_names[after:]
        how = LineCopy(added, self.names & frozenset(added))
        for row in rows:
            write_line(self.stream, how.copy(row[after - 1], row[after:], {}))


class _Text:
    """Text: cells as they are, in quotes where they need them, in the dialect of the input."""

    def __init__(
        self, stream: BinaryIO, dialect: Dialect, header: Mapping[str, str], *, is_safe: bool
    ) -> None:
        self.stream, self.dialect, self.header, self.is_safe = stream, dialect, header, is_safe
        self.join = Joiner(dialect)
        self.encode = codecs.getincrementalencoder(dialect.encoding)("replace").encode
        self.has_header = False

    def write(self, table: Table) -> None:
        if not self.has_header:
            names = [self.header.get(name, name) for name in table.column_names]
            names = [neutralise(name) for name in names] if self.is_safe else names
            self.stream.write(self.encode(self.join(names)))
            self.has_header = True
        self.stream.write(self._format(table))

    def _format(self, table: Table) -> bytes:
        """Return rows as lines, by pyarrow unless a cell needs quotes."""
        import pyarrow as pa
        import pyarrow.csv

        dialect = self.dialect
        columns = [_write_column(c.combine_chunks(), dialect.decimal) for c in table.columns]
        if self.is_safe:
            columns = [neutralise_column(column) for column in columns]
        table = pa.table(columns, names=table.column_names)
        options = pyarrow.csv.WriteOptions(
            include_header=False, delimiter=dialect.separator, quoting_style="none"
        )
        text = pa.BufferOutputStream()
        try:
            if dialect.quote != '"' or table.num_columns == 1:  # other cells need quotes
                raise pa.ArrowInvalid
            pyarrow.csv.write_csv(table, text, options)
        except pa.ArrowInvalid:
            rows = zip(*map(_to_text, table.columns), strict=True)
            return self.encode("".join(map(self.join, rows)))
        lines = bytes(text.getvalue()).replace(b"\n", dialect.line_end.encode())
        return lines if dialect.encoding.startswith("utf-8") else self.encode(lines.decode())


def _write_column(column: Array, decimal: str) -> Array:
    """Return a column whose numbers and truths are written as in a copy of a table in memory."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(column.type):
        return pc.if_else(column, "True", "False")
    if decimal == "." or not pa.types.is_floating(column.type):
        return column
    return pc.replace_substring(column.cast(pa.string()), ".", decimal)


def _to_text(column: Any) -> list[str]:
    return [write_value(cell) for cell in column.to_pylist()]
