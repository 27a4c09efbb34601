"""Tables as they were brought, so that a copy of them has every cell as it was.

What a detector sees are numbers, categories and dates. A copy is never made from these: "00123"
would become 123. It is made from the original, which gives its cells as text, as values or as an
Arrow table, whichever the format of the copy needs.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

from eosparse.rows.dialect import Dialect
from eosparse.rows.formats import TableError
from eosparse.rows.records import TextFile
from eosparse.rows.text_files import MISSING_TEXT

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_Row = TypeVar("_Row")
# Rows of text that are turned into columns at a time.
_BATCH_ROWS = 50_000
# Text that is a number, and nothing else: "00123", "+49" and "1E5" may be codes.
_WHOLE = r"^-?(0|[1-9][0-9]{0,17})$"
_SHORT = r"^-?(0|[1-9][0-9]{0,14})$"
_DECIMAL = r"^-?(0|[1-9][0-9]*)?(\.[0-9]+)([eE][-+]?[0-9]{1,3})?$|^-?[1-9]e[-+][0-9]{1,3}$"
# What stands for a missing value in text.
GAPS = MISSING_TEXT


class Original(ABC):
    """A table as it was brought."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """Return the table with the types of its columns."""

    @property
    def header(self) -> Sequence[str]:
        """The names as they are written; empty where a column has none."""
        return self.names

    @property
    def dialect(self) -> Dialect | None:
        """How it is written, if it is text."""
        return None

    def read_values(self) -> Iterator[Sequence[Any]]:
        """Yield the values of each row; None where there is none."""
        for batch in self.to_arrow().to_batches(_BATCH_ROWS):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def read_cells(self) -> Iterator[Sequence[str]]:
        """Yield the cells of each row as text."""
        for values in self.read_values():
            yield [write_value(value) for value in values]

    def read_json(self) -> Iterator[str] | None:
        """Yield each row as it is written, if the table is JSON lines; else return None."""
        return None


@dataclass(frozen=True)
class TextOriginal(Original):
    """Cells of a text file, read again whenever they are needed."""

    file: TextFile

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.file.dialect.names

    @property
    def header(self) -> Sequence[str]:
        """The names as they are written."""
        return self.file.read_header()

    @property
    def dialect(self) -> Dialect:
        """How the file is written."""
        return self.file.dialect

    def read_cells(self) -> Iterator[Sequence[str]]:
        """Yield the cells of each row as text."""
        return self._check_rows(self.file.read_cells())

    def read_texts(self) -> Iterator[str]:
        """Yield each row as it is written."""
        return self._check_rows(self.file.read_texts())

    def _check_rows(self, rows: Iterator[_Row]) -> Iterator[_Row]:
        """Yield rows; raise if there are more or fewer than when the file was read first."""
        n_rows = 0
        for n_rows, row in enumerate(rows, 1):  # the last number is that of the rows
            if n_rows > self.file.n_rows:
                break
            yield row
        if n_rows != self.file.n_rows:
            raise TableError(f"{self.file.name} was changed while it was read. Run it again.")

    def to_arrow(self) -> pa.Table:
        """Return columns of numbers as numbers, all others as text; an empty cell is missing."""
        import pyarrow as pa

        rows, parts = self.read_cells(), list[pa.Table]()
        while batch := list(islice(rows, _BATCH_ROWS)):
            columns = [pa.array(column, pa.string()) for column in zip(*batch, strict=True)]
            parts.append(pa.table(columns, names=list(self.names)))
        text = pa.concat_tables(parts)
        decimal, kinds = self.dialect.decimal, [TextType() for _ in text.columns]
        for kind, column in zip(kinds, text.columns, strict=True):
            kind.add(column, decimal)
        pairs = zip(kinds, text.columns, strict=True)
        return pa.table([kind.convert(c, decimal) for kind, c in pairs], names=list(self.names))


@dataclass
class TextType:
    """What a column of text may be stored as without any loss, seen batch by batch.

    Attributes
    ----------
    is_whole, is_decimal : bool
        Whether each cell that is not missing is a whole number, or any number.
    is_empty : bool
        Whether all cells are missing: then nothing is known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells, kind = pa.array(["1", "NA", "20"]), TextType()
    >>> kind.add(cells, ".")
    >>> kind.convert(cells, ".").type, kind.convert(pa.array(["NA", ""]), ".").null_count
    (DataType(int64), 2)
    """

    is_whole: bool = True
    is_decimal: bool = True
    is_empty: bool = True

    def add(self, text: Any, decimal: str) -> None:
        """Look at some cells."""
        import pyarrow.compute as pc

        if not (self.is_whole or self.is_decimal):
            return
        number = _unify_marks(text, decimal)

        def fit(*patterns: str) -> bool:
            found = [pc.match_substring_regex(number, pattern) for pattern in patterns]
            return pc.all(found[0] if len(found) == 1 else pc.or_(*found)).as_py() is not False

        self.is_empty = self.is_empty and number.null_count == len(number)
        self.is_whole = self.is_whole and fit(_WHOLE)
        self.is_decimal = self.is_decimal and fit(_SHORT, _DECIMAL)

    def convert(self, text: Any, decimal: str) -> Any:
        """Return cells as numbers if that loses nothing; else as text, null where it is empty."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.is_empty or not (self.is_whole or self.is_decimal):
            return pc.if_else(pc.equal(text, ""), None, text)
        kind = pa.int64() if self.is_whole else pa.float64()
        return _unify_marks(text, decimal).cast(kind)


def _unify_marks(text: Any, decimal: str) -> Any:
    """Return text with a decimal point, null where a value is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    number = pc.if_else(pc.is_in(text, value_set=pa.array(GAPS, text.type)), None, text)
    if decimal == ".":
        return number
    # A point separates thousands then: such cells stay text.
    return pc.replace_substring(pc.replace_substring(number, ".", "'"), decimal, ".")


@dataclass(frozen=True)
class ArrowOriginal(Original):
    """A Parquet or Arrow file, with its schema, metadata and the index of pandas."""

    table: pa.Table

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, also of those that hold an index."""
        return tuple(self.table.column_names)

    def to_arrow(self) -> pa.Table:
        """Return the table."""
        return self.table


@dataclass(frozen=True)
class FrameOriginal(Original):
    """A data frame that was never a file; its index is left out."""

    frame: pd.DataFrame
    decimal: str = "."

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(str(name) for name in self.frame.columns)

    def read_values(self) -> Iterator[Sequence[Any]]:
        """Yield the values of each row."""
        cells = self.frame.astype(object)
        yield from zip(*(list_values(cells.iloc[:, i]) for i in range(cells.shape[1])), strict=True)

    def read_cells(self) -> Iterator[Sequence[str]]:
        """Yield the cells of each row as text, with the decimal mark."""
        for values in self.read_values():
            yield [write_value(value, self.decimal) for value in values]

    def to_arrow(self) -> pa.Table:
        """Return the frame."""
        import pyarrow as pa

        return pa.Table.from_pandas(self.frame, preserve_index=False)


def list_values(column: pd.Series[Any]) -> list[Any]:
    """Return the values of a column; None where there is none."""
    return [None if gap else v for v, gap in zip(column.tolist(), column.isna(), strict=True)]


@dataclass(frozen=True)
class ValuesOriginal(Original):
    """Rows of Python values, as a workbook has them."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.columns

    def read_values(self) -> Iterator[Sequence[Any]]:
        """Yield the values of each row."""
        return iter(self.rows)

    def to_arrow(self) -> pa.Table:
        """Return columns of one type as they are, and of several as text."""
        import pyarrow as pa

        columns = zip(*self.rows, strict=True)
        return pa.table([_collect(column) for column in columns], names=list(self.columns))


def _collect(values: Sequence[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else write_value(value) for value in values])


@dataclass(frozen=True)
class JoinedOriginal(Original):
    """Several files, one below the other, in the order of the columns of the first."""

    parts: tuple[Original, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.parts[0].names

    @property
    def header(self) -> Sequence[str]:
        """The names as they are written in the first file."""
        return self.parts[0].header

    @property
    def dialect(self) -> Dialect | None:
        """How the first file is written; in UTF-8 if encodings differ."""
        dialects = [part.dialect for part in self.parts]
        if dialects[0] is None or None in dialects:
            return None
        is_same = len({dialect.encoding for dialect in dialects if dialect}) == 1
        return dialects[0] if is_same else replace(dialects[0], encoding="utf-8")

    def read_values(self) -> Iterator[Sequence[Any]]:
        """Yield the values of each row."""
        return chain.from_iterable(self._arrange(part, part.read_values()) for part in self.parts)

    def read_cells(self) -> Iterator[Sequence[str]]:
        """Yield the cells of each row as text."""
        return chain.from_iterable(self._arrange(part, part.read_cells()) for part in self.parts)

    def read_json(self) -> Iterator[str] | None:
        """Yield the lines of all files, if they are JSON lines."""
        lines = [part.read_json() for part in self.parts]
        known = [found for found in lines if found is not None]
        return chain.from_iterable(known) if len(known) == len(lines) else None

    def _arrange(self, part: Original, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        order = [part.names.index(name) for name in self.names]
        return (
            iter(rows)
            if order == sorted(order)
            else ([cells[place] for place in order] for cells in rows)
        )

    def to_arrow(self) -> pa.Table:
        """Return all rows; columns of different types are text."""
        import pyarrow as pa

        tables = [part.to_arrow() for part in self.parts]
        first = tables[0]
        tables = [first, *(table.select(first.column_names) for table in tables[1:])]
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException:
            return ValuesOriginal(self.names, list(self.read_values())).to_arrow()


def write_value(value: Any, decimal: str = ".") -> str:
    """Return a value as text from which it can be read again; nothing for a missing one.

    Examples
    --------
    >>> write_value(9007199254740993), write_value(0.1), write_value(None), write_value([1, 2])
    ('9007199254740993', '0.1', '', '[1, 2]')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(value, default=str, ensure_ascii=False)
    if isinstance(value, bytes):
        return value.hex()
    return str(value).replace(".", decimal) if isinstance(value, float) else str(value)
