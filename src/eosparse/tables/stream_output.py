"""Write a table batch by batch: Parquet, Arrow or text, complete or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from eosparse.rows.compression import compression_of_name, open_compressed
from eosparse.rows.formats import ARROW, PARQUET, TSV, find_format
from eosparse.rows.whole_file import replace_when_complete
from eosparse.tables.reading import TableError

if TYPE_CHECKING:
    from pyarrow import Table

    from eosparse.rows.dialect import Dialect


class RowWriter(Protocol):
    """What takes rows, batch by batch."""

    def write(self, table: Table) -> None:
        """Write some rows."""


def check_stream_format(path: Path) -> None:
    """Refuse a format that is written only as a whole."""
    found = find_format(path)
    if found.separator is None and found not in (PARQUET, ARROW):
        raise TableError(
            f"{path}: the output of a streamed table must be CSV, TSV, Parquet or Arrow."
        )


@contextmanager
def write_rows(path: Path, dialect: Dialect | None) -> Iterator[RowWriter]:
    """Yield what rows are written to; the file appears when the block ends.

    Parameters
    ----------
    path : Path
        The file; its extension stands for the format.
    dialect : Dialect or None
        How the input is written, if it is text: a text file is written with the same separator.
    """
    found = find_format(path)
    with replace_when_complete(path) as partial:
        if found.separator is None:
            writer = _Columnar(partial, is_parquet=found is PARQUET)
            try:
                yield writer
            finally:
                writer.close()
            return
        separator = "," if dialect is None else dialect.separator
        with open_compressed(partial, compression_of_name(path)) as stream:
            yield _Text(stream, "\t" if found is TSV else separator)


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
class _Text:
    """Text: cells as they are, in quotes where they need them."""

    stream: BinaryIO
    separator: str
    _has_header: bool = False

    def write(self, table: Table) -> None:
        if not self._has_header:
            self.stream.write(self._format_lines([table.column_names]))
            self._has_header = True
        self.stream.write(self._format(table))

    def _format(self, table: Table) -> bytes:
        """Return rows as lines, by pyarrow unless a cell needs quotes."""
        import pyarrow as pa
        import pyarrow.csv

        options = pyarrow.csv.WriteOptions(
            include_header=False, delimiter=self.separator, quoting_style="none"
        )
        text = pa.BufferOutputStream()
        try:
            pyarrow.csv.write_csv(table, text, options)
            return bytes(text.getvalue())
        except pa.ArrowInvalid:
            as_text = [_to_text(column) for column in table.columns]
            return self._format_lines(zip(*as_text, strict=True))

    def _format_lines(self, lines: Any) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.separator, lineterminator="\n")
        writer.writerows(lines)
        return text.getvalue().encode("utf-8")


def _to_text(column: Any) -> list[Any]:
    """Return cells as pyarrow writes them."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        return [None if cell is None else str(cell).lower() for cell in column.to_pylist()]
    return list(column.to_pylist())
