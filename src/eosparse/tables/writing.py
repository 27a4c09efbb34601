"""Write a table completely or not at all, with every cell as it was."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from eosparse.rows.compression import compression_of_name, open_compressed
from eosparse.rows.dialect import Dialect
from eosparse.rows.formats import ARROW, PARQUET, XLSX, Format, find_format
from eosparse.rows.number_text import Notation, is_number
from eosparse.rows.whole_file import check_target, replace_when_complete
from eosparse.tables.originals import (
    FrameOriginal,
    Original,
    TextOriginal,
    list_values,
    write_value,
)
from eosparse.tables.reading import TableError, TableFile
from eosparse.tables.text_cells import Joiner, neutralise, suit_separator

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Changes = Mapping[str, Mapping[int, Any]]


@dataclass(frozen=True)
class Copy:
    """A table to write: the original, columns beside it, and cells that are replaced.

    Attributes
    ----------
    source : TableFile
        The table as it was read.
    added : DataFrame, optional
        Columns with a row for each of the table; those that it has already are replaced.
    changes : mapping of str to mapping of int to value
        By column and row, from 0: cells that hold something else.
    safe : bool
        Whether text that a spreadsheet would take for a formula gets an apostrophe, in text files.
    """

    source: TableFile
    added: pd.DataFrame | None = None
    changes: Changes = field(default_factory=dict)
    safe: bool = False

    @property
    def original(self) -> Original:
        """The cells as they are."""
        return self.source.original or FrameOriginal(self.source.frame, self.source.decimal)

    @property
    def new_names(self) -> list[str]:
        """Names of the added columns."""
        return [] if self.added is None else [str(name) for name in self.added.columns]

    @property
    def kept(self) -> list[int]:
        """Places of the columns of the original that are not replaced."""
        return [i for i, name in enumerate(self.original.names) if name not in self.new_names]

    @property
    def names(self) -> list[str]:
        """Names of all columns."""
        names = self.original.names
        return [*(names[i] for i in self.kept), *self.new_names]

    def find_changes(self) -> dict[int, dict[int, Any]]:
        """Return the new values by row and place."""
        found: dict[int, dict[int, Any]] = {}
        for name, cells in self.changes.items():
            place = self.original.names.index(name)
            for row, value in cells.items():
                found.setdefault(row, {})[place] = value
        return found

    def read_added(self) -> Iterator[Sequence[Any]]:
        """Yield the values of the added columns, row by row."""
        if self.added is None:
            return repeat((), len(self.source.frame))
        columns = [list_values(self.added[name]) for name in self.added.columns]
        return zip(*columns, strict=True)

    def read_rows(self) -> Iterator[list[Any]]:
        """Yield the values of all columns, row by row."""
        changed, kept = self.find_changes(), self.kept
        rows = zip(self.original.read_values(), self.read_added(), strict=True)
        for number, (values, added) in enumerate(rows):
            if number in changed:
                values = self.replace_values(values, changed[number])
            yield [*(values[i] for i in kept), *added]

    def replace_values(self, values: Sequence[Any], new: Mapping[int, Any]) -> list[Any]:
        """Return a row with new values; in place of text they are text."""
        changed = list(values)
        for place, value in new.items():
            is_text = isinstance(changed[place], str)
            changed[place] = self.write(value, place) if is_text else value
        return changed

    def write(self, value: Any, place: int) -> str:
        """Return a value as text, in the notation of its column."""
        text = write_value(value)
        if not isinstance(value, float) and not is_number(text):
            return text
        usual = Notation(self.source.decimal)
        return self.source.notations.get(self.original.names[place], usual).write(text)


def write_table(
    frame: pd.DataFrame,
    path: Path,
    *,
    separator: str = ",",
    decimal: str = ".",
    force: bool = False,
    safe: bool = False,
) -> None:
    """Write a data frame in the format that the file extension stands for.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : Path
        The file.
    separator, decimal : str
        For CSV: what separates cells, and the decimal mark.
    force : bool, default=False
        Replace the file if it exists.
    safe : bool, default=False
        For CSV: put an apostrophe before text that a spreadsheet would take for a formula.

    Raises
    ------
    TableError
        If the file exists and `force` is not set, or its folder does not exist.
    UnknownFormatError
        If the file extension is not recognised.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from eosparse.tables import read_table, write_table
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> write_table(pd.DataFrame({"height": [1.7, 1.8]}), path)
    >>> read_table(path).frame["height"].tolist()
    [1.7, 1.8]
    """
    source = TableFile(frame, path.name, separator, decimal)
    write_copy(Copy(source, safe=safe), path, force=force)


def write_copy(copy: Copy, path: Path, *, force: bool = False) -> None:
    """Write a copy of a table in the format that the file extension stands for.

    Cells are as in the original: text of a text file stays as it is, Parquet and Arrow files keep
    their schema, index and metadata.

    Parameters
    ----------
    copy : Copy
        What to write.
    path : Path
        The file; with the extension of a compression, it is compressed.
    force : bool, default=False
        Replace the file if it exists.

    Examples
    --------
    >>> import io, tempfile
    >>> from eosparse.tables import read_table
    >>> table = read_table("-", stdin=io.BytesIO(b"code,x\\n00123,1E5\\n"))
    >>> path = Path(tempfile.mkdtemp()) / "copy.csv"
    >>> write_copy(Copy(table), path)
    >>> path.read_text().split()
    ['code,x', '00123,1E5']
    """
    check_writable(path, force=force)
    found = find_format(path)
    with replace_when_complete(path) as partial:
        if found is XLSX:
            from eosparse.tables.workbook import write_workbook

            write_workbook(partial, copy.names, copy.read_rows())
        elif found in (PARQUET, ARROW):
            _write_arrow(copy, partial, found)
        else:
            with open_compressed(partial, compression_of_name(path)) as file:
                _write_lines(copy, file, found, path)


def _write_lines(copy: Copy, file: BinaryIO, found: Format, path: Path) -> None:
    if found.separator is not None:
        _write_text(copy, file, _choose_dialect(copy, found, path))
        return
    from eosparse.tables.json_lines import write_json_lines

    lines = copy.original.read_json()
    if lines is None:
        write_json_lines(file, copy.names, copy.read_rows())
    else:
        _copy_json(copy, lines, file)


def _copy_json(copy: Copy, lines: Iterator[str], file: BinaryIO) -> None:
    """Write the lines of a JSON file as they are, with the added columns and changed cells."""
    from eosparse.rows.json_text import write_line
    from eosparse.tables.json_lines import LineCopy

    names, changed = copy.original.names, copy.find_changes()
    how = LineCopy(copy.new_names, frozenset(copy.new_names) & frozenset(names))
    for number, (line, values) in enumerate(zip(lines, copy.read_added(), strict=True)):
        new = {names[place]: value for place, value in changed.get(number, {}).items()}
        write_line(file, how.copy(line, values, new))


def _choose_dialect(copy: Copy, found: Format, path: Path) -> Dialect:
    """Return the dialect of the original; the separator follows the extension if it tells one."""
    source = copy.source
    dialect = copy.original.dialect or Dialect((), decimal=source.decimal)
    return suit_separator(replace(dialect, separator=source.separator), found, path)


def _write_text(copy: Copy, file: BinaryIO, dialect: Dialect) -> None:
    stream = io.TextIOWrapper(file, encoding=dialect.encoding, newline="")
    header, join = copy.original.header, Joiner(dialect)
    names = [*(header[i] for i in copy.kept), *copy.new_names]
    stream.write(join([neutralise(name) for name in names] if copy.safe else names))
    added = _write_added(copy, dialect)
    stream.writelines(
        _copy_lines(copy, join, added)
        if _is_alike(copy, dialect)
        else map(join, _write_cells(copy, added))
    )
    stream.flush()
    stream.detach()


def _write_added(copy: Copy, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the added columns as text, with the decimal mark and in the encoding of the file."""
    is_known = dialect.encoding.startswith("utf")
    for values in copy.read_added():
        texts = []
        for value in values:
            text = write_value(value, dialect.decimal)
            if not is_known:
                text = text.encode(dialect.encoding, "replace").decode(dialect.encoding)
            texts.append(text)
        yield texts


def _is_alike(copy: Copy, dialect: Dialect) -> bool:
    """Whether rows can be copied as they are written."""
    original = copy.original
    is_whole = len(copy.kept) == len(original.names)
    return (
        isinstance(original, TextOriginal)
        and dialect == original.dialect
        and is_whole
        and not copy.safe
    )


def _copy_lines(copy: Copy, join: Joiner, added: Iterator[list[str]]) -> Iterator[str]:
    """Yield the rows of a text file as they are written, but for those with changes."""
    original, changed = copy.original, copy.find_changes()
    assert isinstance(original, TextOriginal)
    separator, line_end = original.dialect.separator, original.dialect.line_end
    for number, (text, values) in enumerate(zip(original.read_texts(), added, strict=True)):
        if number in changed:
            cells = original.file.split(text)
            yield join([*_replace_cells(copy, cells, changed[number]), *values])
        elif values:
            yield text + separator + join(values)
        else:
            yield text + line_end


def _write_cells(copy: Copy, added: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield rows as text, safe if asked for."""
    changed, kept = copy.find_changes(), copy.kept
    for number, (cells, values) in enumerate(zip(copy.original.read_cells(), added, strict=True)):
        if number in changed:
            cells = _replace_cells(copy, cells, changed[number])
        row = [*(cells[i] for i in kept), *values]
        yield [neutralise(cell) for cell in row] if copy.safe else row


def _replace_cells(copy: Copy, cells: Sequence[str], new: Mapping[int, Any]) -> list[str]:
    return [copy.write(new[i], i) if i in new else cell for i, cell in enumerate(cells)]


def _write_arrow(copy: Copy, path: Path, found: Format) -> None:
    """Write Parquet or Arrow: columns are added to the table, which stays as it is."""
    from pyarrow import feather, parquet

    table = copy.original.to_arrow()
    for name, cells in copy.changes.items():
        place = table.column_names.index(name)
        table = table.set_column(
            place, table.field(place), _change_column(copy, table, place, cells)
        )
    table = table.select([copy.original.names[i] for i in copy.kept])
    for name in copy.new_names:
        table = table.append_column(name, _make_column(copy.added, name))
    if found is PARQUET:
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)


def _change_column(copy: Copy, table: pa.Table, place: int, cells: Mapping[int, Any]) -> pa.Array:
    import pyarrow as pa

    column = table.column(place)
    kind, values = column.type, column.to_pylist()
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    for row, value in cells.items():
        if is_text or isinstance(value, str):
            values[row] = copy.write(value, place)
        else:
            values[row] = pa.scalar(value).cast(kind).as_py()
    return pa.array(values, kind)


def _make_column(frame: Any, name: str) -> pa.Array:
    import pyarrow as pa

    return pa.array(frame[name], from_pandas=True)


def warn_of_replaced(path: Path, names: Sequence[str]) -> None:
    """Say that a copy has new values in columns that the table had already."""
    warnings.warn(
        f"{path} has new values in columns of an earlier run: {', '.join(names)}.", stacklevel=2
    )


def check_writable(path: Path, *, force: bool) -> None:
    """Refuse to replace a file unless `force` is set, and a place where none can be written."""
    if os.path.lexists(path) and not force:
        raise TableError(f"{path} already exists. Use --force to replace it.")
    if not path.parent.is_dir():
        raise TableError(f"The folder {path.parent} does not exist. Create it first.")
    try:
        check_target(path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}.") from None
