"""A first pass over a table on disk: what its columns hold, and some of its rows from all over.

Roles and formats of columns are recognised from these rows, as they are from all rows of a table in
memory. What they may not show is collected from every row: the categories of columns of text, which
numbers are missing, and whether text is a plain number everywhere.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eosparse.core import FloatArray
from eosparse.rows.dataset import (
    check_same_columns,
    find_text_dialect,
    list_columns,
    list_index,
    open_text,
)
from eosparse.rows.files import FileRows, open_rows
from eosparse.rows.formats import JSON_LINES, find_format
from eosparse.rows.records import TextFile
from eosparse.rows.unchanged import Ledger
from eosparse.tables.originals import GAPS, ArrowOriginal, TextType
from eosparse.tables.reading import TableError, TableFile, make_frame, read_table
from eosparse.tables.written_numbers import read_written_numbers

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow import Array, RecordBatch, Table

    from eosparse.rows.dialect import Dialect, Hints
    from eosparse.rows.number_text import Notation

# Rows that are kept, or half of them; fewer of wide tables and of long text.
_MOST_ROWS, _MOST_CELLS, _MOST_BYTES = 20_000, 4_000_000, 2**28
_FEWEST_ROWS = 1000
# More different texts are no categories; in memory, too, twice twenty is the most.
_MOST_LEVELS = 1000


@dataclass(frozen=True)
class StoredTable:
    """A table on disk, of which nothing is in memory.

    Attributes
    ----------
    source : str
        The folder or file.
    dialect : Dialect or None
        How it is written, if it is text.
    names : list of str
        Columns that its files hold.
    index : list of str
        Columns that pandas stores its index in.
    ledger, verbatim : Ledger
        How the files were: as they are read for a fit, and with all cells as they are written.
    dataset : Dataset or None
        The files, unless they are read as text.
    """

    source: str
    dialect: Dialect | None
    names: list[str]
    index: list[str]
    ledger: Ledger
    verbatim: Ledger
    dataset: Any = None

    @classmethod
    def open(cls, source: str, hints: Hints | None = None) -> StoredTable:
        """Find the files of a folder or file, and the columns that all of them have."""
        dialect = find_text_dialect(source, hints)
        if dialect is not None:
            dataset = open_text(source, "hive", dialect, (), is_verbatim=True)
            ledger = Ledger.of(list(dataset.files))
            return cls(source, dialect, list(dialect.names), [], ledger, ledger.fork())
        dataset = open_rows(source, ()).dataset
        check_same_columns(dataset)
        ledger = Ledger.of(list(dataset.files))
        names, index = list_columns(dataset), list_index(dataset)
        return cls(source, None, names, index, ledger, ledger, dataset)

    @property
    def has_lines(self) -> bool:
        """Whether the files are JSON lines, whose lines can be read as they are."""
        return self.dialect is None and find_format(min(self.ledger.stamps)) is JSON_LINES

    def list_all(self) -> list[str]:
        """Return the columns that a copy of the table has."""
        return [*self.names, *self.index]

    def read_header(self) -> dict[str, str]:
        """Return, by column, its name as it is written: empty where text has none."""
        if self.dialect is None:
            return {}
        file = TextFile(Path(min(self.ledger.stamps)), self.source, self.dialect)
        return dict(zip(self.dialect.names, file.read_header(), strict=True))

    def read(self, numbers: list[str]) -> Any:
        """Open the files; of text, some columns as numbers."""
        if self.dialect is None:
            return self.dataset
        return open_text(self.source, "hive", self.dialect, numbers, is_verbatim=False)

    def read_verbatim(self) -> Any:
        """Open the files; text with all of its cells as they are written."""
        if self.dialect is None:
            return self.dataset
        return open_text(self.source, "hive", self.dialect, (), is_verbatim=True)

    def list_batches(self) -> Iterator[RecordBatch]:
        """Read all columns, batch by batch."""
        rows = FileRows(self.read_verbatim(), (), ledger=self.verbatim)
        for batch in rows.batches(self.names):
            yield batch.records.select(self.names)


@dataclass
class Thinning:
    """Every k-th row of a table, with a k that doubles whenever there are too many.

    Examples
    --------
    >>> import pyarrow as pa
    >>> thinned = Thinning(4)
    >>> for start in (0, 5):
    ...     thinned.add(pa.record_batch({"row": range(start, start + 5)}))
    >>> thinned.collect()["row"].to_pylist()
    [0, 4, 8]
    """

    most_rows: int
    step: int = 1
    n_seen: int = 0
    n_rows: int = 0
    n_bytes: int = 0
    kept: list[RecordBatch] = field(default_factory=list)

    def add(self, records: RecordBatch) -> None:
        """Keep every k-th of some rows."""
        first = -self.n_seen % self.step
        if first < len(records):
            self._keep(_take(records, np.arange(first, len(records), self.step)))
        self.n_seen += len(records)
        while self._is_full:
            self._halve()

    def collect(self) -> Table:
        """Return the rows that were kept."""
        import pyarrow as pa

        return pa.Table.from_batches(self.kept)

    def _keep(self, records: RecordBatch) -> None:
        self.kept.append(records)
        self.n_rows, self.n_bytes = self.n_rows + len(records), self.n_bytes + records.nbytes

    @property
    def _is_full(self) -> bool:
        is_large = self.n_bytes > _MOST_BYTES and self.n_rows > _FEWEST_ROWS
        return self.n_rows > self.most_rows or is_large

    def _halve(self) -> None:
        table = self.collect().combine_chunks()
        self.step, self.kept, self.n_rows, self.n_bytes = 2 * self.step, [], 0, 0
        for part in table.to_batches():
            self._keep(_take(part, np.arange(0, len(part), 2)))


def _take(records: RecordBatch, rows: Any) -> RecordBatch:
    """Copy some rows: a slice would keep the whole batch in memory."""
    import pyarrow as pa

    return records.take(pa.array(rows))


@dataclass
class ColumnFacts:
    """What all cells of a column have shown.

    Attributes
    ----------
    is_number : bool
        Whether every cell is a number that pyarrow reads, or missing.
    n_missing : int
        Cells without a value; numbers that are not finite are none.
    low, high : float
        The least and the largest number.
    is_counted : bool
        Whether each number is the one before and one more.
    texts : set of str or None
        The different texts; None if there are too many.
    """

    is_number: bool = True
    n_missing: int = 0
    low: float = np.inf
    high: float = -np.inf
    is_counted: bool = True
    texts: set[str] | None = field(default_factory=set)

    def add(self, cells: Array, decimal: str, *, is_written: bool) -> None:
        """Look at the cells of a batch; `is_written` means that they are text of a file."""
        import pyarrow.compute as pc

        numbers = read_plain_numbers(cells, decimal) if self.is_number else None
        if numbers is None and self.is_number and is_written:
            numbers = read_plain_numbers(mark_missing(cells), decimal)
        if numbers is not None:
            known = numbers.filter(pc.is_finite(numbers))
            self.n_missing += len(numbers) - len(known)
            self._widen(known.to_numpy(zero_copy_only=False))
            return
        self.is_number = False
        text = _read_text(cells, is_written=is_written)
        self.n_missing += cells.null_count if text is None else text.null_count
        if text is not None and self.texts is not None:
            self.texts |= set(text.unique().drop_null().to_pylist())
            if len(self.texts) > _MOST_LEVELS:
                self.texts = None

    def _widen(self, known: FloatArray) -> None:
        if not len(known):
            return
        if self.is_counted:
            first = self.high + 1 if np.isfinite(self.high) else known[0]
            self.is_counted = known[0] == first and bool((np.diff(known) == 1).all())
        self.low, self.high = min(self.low, known.min()), max(self.high, known.max())


def _read_text(cells: Array, *, is_written: bool) -> Array | None:
    """Return cells as text, without spaces before them in a file of text; None if they are none."""
    text = as_text(cells)
    return text if text is None or not is_written else trim_and_mark(text)


def as_text(cells: Array) -> Array | None:
    """Return cells as plain text; None if they are none."""
    import pyarrow as pa

    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if pa.types.is_large_string(cells.type):
        return cells.cast(pa.string()) if cells.nbytes < 2**31 else cells
    return cells if pa.types.is_string(cells.type) else None


def read_plain_numbers(cells: Array, decimal: str = ".") -> Array | None:
    """Return cells as numbers in double precision; None if one of them is no plain number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_boolean(cells.type) or pa.types.is_integer(cells.type):
        return cells.cast(pa.float64(), safe=False)
    if pa.types.is_floating(cells.type):
        return cells.cast(pa.float64())
    if not pa.types.is_string(cells.type):
        return None
    if decimal != ".":
        cells = pc.replace_substring(cells, ".", "?")  # a thousands mark is not plain
        cells = pc.replace_substring(cells, decimal, ".")
    for is_trimmed in (False, True):
        try:
            return (pc.ascii_trim(cells, " \t") if is_trimmed else cells).cast(pa.float64())
        except pa.ArrowInvalid:
            continue
    return None


def mark_missing(cells: Array) -> Array:
    """Return text of a file, null where a cell stands for a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(cells.type):
        return cells
    is_mark = pc.is_in(cells, pa.array(GAPS))
    return pc.if_else(is_mark, pa.scalar(None, pa.string()), cells)


def trim_and_mark(cells: Array) -> Array:
    """Return text of a file as it is read in memory: without spaces before a cell."""
    import pyarrow.compute as pc

    return mark_missing(pc.utf8_ltrim(cells, " "))


@dataclass(frozen=True)
class Survey:
    """What the first pass over a table has shown.

    Attributes
    ----------
    table : StoredTable
        The table.
    n_rows : int
        Its number of rows.
    sample : DataFrame
        Every k-th row, as a table in memory would hold it.
    facts : dict of str to ColumnFacts
        What all cells of each column have shown.
    notations : dict of str to Notation
        By column of text that was read as numbers: how they are written.
    notes : tuple of str
        What was assumed about the files.
    text_types : dict of str to TextType
        Of a text file, what its columns may be stored as; only if it was asked for.
    """

    table: StoredTable
    n_rows: int
    sample: pd.DataFrame
    facts: dict[str, ColumnFacts]
    notations: Mapping[str, Notation]
    notes: tuple[str, ...] = ()
    text_types: Mapping[str, TextType] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call the table."""
        return self.table.source.rstrip("/").rsplit("/", 1)[-1]

    @property
    def is_whole(self) -> bool:
        """Whether the sample holds all rows."""
        return len(self.sample) == self.n_rows


def survey_table(source: str, hints: Hints | None = None, *, needs_types: bool = False) -> Survey:
    """Read a table on disk once.

    Parameters
    ----------
    source : str
        The folder or file.
    hints : Hints, optional
        What is known about text files.
    needs_types : bool, default=False
        Whether text will be stored in a format with types.
    """
    table = StoredTable.open(source, hints)
    if not table.names:
        raise TableError(f"{source} has no columns.")
    most = max(_FEWEST_ROWS, min(_MOST_ROWS, _MOST_CELLS // len(table.names)))
    thinned, facts = Thinning(most), {name: ColumnFacts() for name in table.names}
    decimal = "." if table.dialect is None else table.dialect.decimal
    is_typed = needs_types and table.dialect is not None
    types = {name: TextType() for name in table.names} if is_typed else {}
    for records in table.list_batches():
        thinned.add(records)
        for name, kind in types.items():
            kind.add(records.column(name), decimal)
        for name, cells in zip(table.names, records.columns, strict=True):
            facts[name].add(cells, decimal, is_written=table.dialect is not None)
    if not thinned.n_seen:
        raise TableError(f"{source} has column names but no rows.")
    sample = _build_sample(table, thinned.collect())
    return Survey(table, thinned.n_seen, sample.frame, facts, sample.notations, sample.notes, types)


def _build_sample(table: StoredTable, rows: Table) -> TableFile:
    """Return rows as a table in memory holds them: text is read in the same way."""
    name = table.source.rstrip("/").rsplit("/", 1)[-1]
    if table.dialect is None:
        typed = make_frame(ArrowOriginal(rows.replace_schema_metadata()))
        frame, notations, notes = read_written_numbers(typed, ".")
        return TableFile(frame, name, notes=notes, notations=notations)
    separator, text = table.dialect.separator, io.StringIO()
    writer = csv.writer(text, delimiter=separator, quotechar=table.dialect.quote)
    writer.writerow(table.names)
    for part in rows.to_batches(max_chunksize=1000):
        writer.writerows(zip(*(cells.to_pylist() for cells in part.columns), strict=True))
    content = io.BytesIO(text.getvalue().encode("utf-8"))
    found = read_table("-", content, separator=separator, encoding="utf-8", header=True)
    return replace(found, notes=tuple(n.replace("standard input", name) for n in found.notes))
