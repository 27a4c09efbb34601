"""Read a table from a file or from standard input, and note what was assumed about it."""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from eosparse.rows.compression import check_unpacked, find_compression_of, open_decompressed
from eosparse.rows.dialect import Dialect, Hints
from eosparse.rows.formats import ARROW, CSV, JSON_LINES, PARQUET, XLSX, Format, find_format
from eosparse.rows.formats import TableError as TableError  # also read from here
from eosparse.rows.limits import read_bounded
from eosparse.rows.number_text import Notation
from eosparse.rows.records import TextFile, open_text
from eosparse.tables.originals import (
    GAPS,
    ArrowOriginal,
    JoinedOriginal,
    Original,
    TextOriginal,
    ValuesOriginal,
)
from eosparse.tables.written_numbers import read_written_numbers

if TYPE_CHECKING:
    import pandas as pd

Source = str | Path
_PADDED = re.compile(r"[-+]?0\d+|\+\d+")
# Cells in which padded numbers are looked for.
_N_FIRST_CELLS = 50_000


@dataclass(frozen=True)
class TableFile:
    """A table as it was read.

    Attributes
    ----------
    frame : DataFrame
        The rows.
    name : str
        The name of the file, or "standard input".
    separator : str
        What separates cells, if the file is text.
    decimal : str
        The decimal mark, if the file is text.
    notes : tuple of str
        What was assumed about the file.
    original : Original, optional
        The cells as they are in the file, which a copy of it is made from.
    notations : dict of str to Notation
        By column of text that was read as numbers: how they are written.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import TableFile
    >>> TableFile(pd.DataFrame({"height": [1.7, 1.8]}), "people.csv").separator
    ','
    """

    frame: pd.DataFrame
    name: str
    separator: str = ","
    decimal: str = "."
    notes: tuple[str, ...] = ()
    original: Original | None = None
    notations: Mapping[str, Notation] = field(default_factory=dict)


@dataclass(frozen=True)
class _Reading:
    """What you said about files."""

    sheet: str | None
    separator: str | None
    encoding: str | None
    header: bool | None
    decimal: str = "."

    def hint(self, usual_separator: str) -> Hints:
        separator = {"tab": "\t", "\\t": "\t", "space": " "}.get(
            self.separator or "", self.separator
        )
        is_usable = separator is None or (len(separator) == 1 and separator.isascii())
        if not is_usable or separator in ("\r", "\n", '"', "\0"):
            raise TableError(f"--separator {separator!r} is not one ASCII character, tab or space.")
        return Hints(separator, self.encoding, self.header, usual_separator, self.decimal)


def make_hints(separator: str | None, encoding: str | None, header: bool | None) -> Hints:
    """Return what was said about text files."""
    return _Reading(None, separator, encoding, header).hint(",")


def read_table(
    source: Source | Sequence[Source],
    stdin: BinaryIO | None = None,
    *,
    sheet: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> TableFile:
    """Read a table.

    Parameters
    ----------
    source : str, Path or a sequence of them
        The file, or several files with the same columns, which are read one below the other. ``-``
        stands for standard input: text, or JSON lines. A pattern such as ``part-*.csv`` stands for
        all files that match it.
    stdin : binary file, optional
        What to read instead of standard input.
    sheet : str, optional
        The sheet of a workbook, by its name or its number from 1; the first by default.
    separator, encoding : str, optional
        What separates the cells of a text file, and its encoding; recognised by default.
    header : bool, optional
        Whether the first line holds the names of the columns; if it does not, they are numbered. By
        default a first line that looks like a row is an error.

    Returns
    -------
    TableFile

    Raises
    ------
    TableError
        If the file does not exist or cannot be read, has no rows or no columns, or has several
        columns of the same name.
    UnknownFormatError
        If the file extension is not recognised.

    Examples
    --------
    >>> import io
    >>> from eosparse.tables import read_table
    >>> table = read_table("-", stdin=io.BytesIO(b"height;weight\\n1,7;65\\n1,8;80"))
    >>> table.frame["height"].tolist()
    [1.7, 1.8]
    >>> table.notes[1]
    'standard input uses decimal commas.'
    """
    reading = _Reading(sheet, separator, encoding, header)
    sources = [source] if isinstance(source, (str, Path)) else list(source)
    files = [file for given in sources for file in _list_files(given)]
    given = stdin or sys.stdin.buffer
    content = read_bounded(given, "standard input") if "-" in map(str, files) else b""
    tables = [_read_file(file, content, reading) for file in files]
    if len({table.decimal for table in tables}) > 1:  # a file of whole numbers has no mark
        reading = replace(reading, decimal=",")
        tables = [_read_file(file, content, reading) for file in files]
    return tables[0] if len(tables) == 1 else _join(tables)


def _list_files(source: Source) -> list[Source]:
    """List the files of a pattern; another name is one file, whether it exists or not."""
    if str(source) == "-" or Path(source).exists():
        return [source]
    return [*sorted(glob.glob(str(source), recursive=True))] or [source]


def _read_file(source: Source, content: bytes, reading: _Reading) -> TableFile:
    """Read a file, or the content of standard input."""
    path = Path(source)
    if str(source) == "-":
        with open_decompressed(content, find_compression_of(content), "standard input") as stream:
            is_json = stream.read(1024).lstrip()[:1] == b"{"
        table = _read_known(content, "standard input", JSON_LINES if is_json else CSV, reading)
    elif path.is_dir():
        raise TableError(
            f"{path} is a folder, and this command reads tables into memory. Name its files: "
            f"{path}/*.csv."
        )
    elif not path.is_file():
        raise TableError(f"File not found: {path}.")
    else:
        table = _read_known(path, path.name, find_format(path), reading)
    if table.frame.shape[1] == 0:
        raise TableError(f"{table.name} has no columns.")
    names = table.frame.columns
    if not names.is_unique:
        twice = names[names.duplicated()][0]
        raise TableError(f"{table.name} has several columns named {twice!r}. Rename them.")
    if len(table.frame) == 0:
        raise TableError(f"{table.name} has column names but no rows.")
    return table


def _read_known(source: Path | bytes, name: str, found: Format, reading: _Reading) -> TableFile:
    """Read a file of a known format; numbers in text are numbers afterwards."""
    if reading.sheet is not None and found is not XLSX:
        raise TableError(f"{name} has no sheets: --sheet is for XLSX files.")
    if found.is_compressible:
        check_unpacked(source, name)
    original: Original
    if found.separator is not None:
        file = open_text(source, name, reading.hint(found.separator))
        original, notes = TextOriginal(file), _note_dialect(file, found.separator)
        frame, marks = _parse_text(file), file.dialect
    else:
        original, notes = _read_typed(source, name, found, reading)
        frame, marks = make_frame(original), Dialect(())
    frame, notations, written = read_written_numbers(frame, marks.decimal)
    separator, decimal = marks.separator, marks.decimal
    return TableFile(frame, name, separator, decimal, (*notes, *written), original, notations)


def _note_dialect(file: TextFile, usual_separator: str) -> tuple[str, ...]:
    """Say what was recognised about a text file and is not as usual."""
    dialect, name, notes = file.dialect, file.name, []
    if dialect.encoding not in ("utf-8", "utf-8-sig"):
        encoding = {"cp1252": "Windows-1252"}.get(dialect.encoding, dialect.encoding)
        notes.append(f"{name} is not UTF-8 and was read as {encoding}.")
    if dialect.separator != usual_separator:
        shown = {" ": "spaces", "\t": "a tab"}.get(dialect.separator, repr(dialect.separator))
        notes.append(f"{name} uses {shown} as the separator.")
    if dialect.decimal == ",":
        notes.append(f"{name} uses decimal commas.")
    if dialect.n_skipped:
        lines = "1 line" if dialect.n_skipped == 1 else f"{dialect.n_skipped} lines"
        were = "was" if dialect.n_skipped == 1 else "were"
        notes.append(f"{lines} above the header of {name} {were} skipped.")
    if dialect.has_row_names:
        notes.append(f"The header of {name} has no name for the first column.")
    return tuple(notes)


def _parse_text(file: TextFile) -> pd.DataFrame:
    """Parse the rows of a text file whose lines were checked."""
    import pandas as pd

    dialect = file.dialect
    n_columns = len(dialect.names) + dialect.has_trailing
    with file.open_rows() as rows:
        try:
            frame = pd.read_csv(
                rows,
                sep=r"\s+" if dialect.separator == " " else dialect.separator,
                header=None,
                names=range(n_columns),
                index_col=False,
                decimal=dialect.decimal,
                quotechar=dialect.quote,
                skipinitialspace=True,
                skip_blank_lines=n_columns > 1,
                keep_default_na=False,
                na_values=list(GAPS),
                low_memory=False,
                dtype=dict.fromkeys(_find_padded(file), str),
            )
        except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
            raise TableError(f"{file.name} cannot be read: {error}") from None
    if n_columns == 1:
        frame = frame.iloc[: file.n_rows]  # without empty lines at the end
    if len(frame) != file.n_rows:
        raise TableError(f"{file.name} cannot be read: are its quotes in order?")
    if dialect.has_trailing:
        frame = frame.iloc[:, :-1]
    return frame.set_axis(list(dialect.names), axis=1)


def _find_padded(file: TextFile) -> list[int]:
    """Find columns with numbers such as 00123: they stay text, so that people see them so."""
    first = islice(file.read_cells(), max(10, _N_FIRST_CELLS // len(file.dialect.names)))
    found = {i for cells in first for i, cell in enumerate(cells) if _PADDED.fullmatch(cell)}
    return sorted(found)


def _read_typed(
    source: Path | bytes, name: str, found: Format, reading: _Reading
) -> tuple[Original, tuple[str, ...]]:
    """Read a format whose values have types."""
    try:
        return _READERS[found](source, name, reading)
    except TableError:
        raise
    except ImportError as error:
        raise TableError(f"{name}: {error}. pip install 'eosparse[cli]'.") from None
    except Exception as error:  # each library has its own for a broken file
        raise TableError(f"{name} is not a readable {found.name} file: {error}") from None


def _read_parquet(path: Any, *_: Any) -> tuple[Original, tuple[str, ...]]:
    from pyarrow import parquet

    return ArrowOriginal(parquet.ParquetFile(path).read()), ()


def _read_arrow(path: Any, *_: Any) -> tuple[Original, tuple[str, ...]]:
    from pyarrow import feather

    table = feather.read_table(path)
    table.validate(full=True)  # damaged offsets of text would crash whoever follows them
    return ArrowOriginal(table), ()


def _read_workbook(path: Any, _: str, reading: _Reading) -> tuple[Original, tuple[str, ...]]:
    from eosparse.tables.workbook import read_workbook

    return read_workbook(path, reading.sheet, reading.header)


def _read_json(source: Any, name: str, _: _Reading) -> tuple[Original, tuple[str, ...]]:
    from eosparse.tables.json_lines import read_json_lines

    return read_json_lines(source, name), ()


_READERS: dict[Format, Callable[[Any, str, _Reading], tuple[Original, tuple[str, ...]]]] = {
    PARQUET: _read_parquet,
    ARROW: _read_arrow,
    XLSX: _read_workbook,
    JSON_LINES: _read_json,
}


def make_frame(original: Original) -> pd.DataFrame:
    """Return values as a data frame, without the index that pandas stored."""
    import pandas as pd

    if not isinstance(original, ValuesOriginal):
        try:
            frame: pd.DataFrame = original.to_arrow().to_pandas()
        except Exception as error:  # what pandas noted about types and the index may be damaged
            raise TableError(
                f"The columns cannot be read: {error!r}. Is the file damaged?"
            ) from None
        names = [str(name) for name in frame.columns]  # tuples, if there are several levels
        return _flatten(frame.reset_index(drop=True).set_axis(names, axis=1))
    rows = [[None if _is_gap(value) else value for value in row] for row in original.rows]
    return _flatten(pd.DataFrame(rows, columns=list(original.columns)))


def _flatten(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in which lists and the like are text, since they cannot be counted."""
    for place, kind in enumerate(frame.dtypes):
        cells = frame.iloc[:, place]
        if kind.kind == "O" and not all(isinstance(cell, Hashable) for cell in cells):
            frame = frame.assign(**{frame.columns[place]: cells.map(str, na_action="ignore")})
    return frame


def _is_gap(value: Any) -> bool:
    return isinstance(value, str) and value.strip() in GAPS


def _join(tables: Sequence[TableFile]) -> TableFile:
    """Put tables with the same columns one below the other."""
    import pandas as pd

    first = tables[0]
    for other in tables[1:]:
        _check_same(first, other)
    frame = pd.concat([table.frame[list(first.frame.columns)] for table in tables])
    originals = tuple(table.original for table in tables if table.original is not None)
    return TableFile(
        frame.reset_index(drop=True),
        f"{first.name} and {len(tables) - 1} more",
        first.separator,
        first.decimal,
        tuple(dict.fromkeys(note for table in tables for note in table.notes)),
        JoinedOriginal(originals),
        first.notations,
    )


def _check_same(first: TableFile, other: TableFile) -> None:
    """Raise unless two files have the same columns and decimal mark."""
    for lacking, having in ((other, first), (first, other)):
        lost = [name for name in _list_names(having) if name not in _list_names(lacking)]
        if lost:
            raise TableError(f"{lacking.name} has no column {lost[0]!r}, which {having.name} has.")
    if first.decimal != other.decimal:
        raise TableError(
            f"{first.name} uses {first.decimal!r} as the decimal mark, and {other.name} "
            f"{other.decimal!r}. Convert one of them."
        )
    units = {name: notation.unit for name, notation in first.notations.items()}
    for name in first.frame.columns:
        notation = other.notations.get(name)
        unit, expected = "" if notation is None else notation.unit, units.get(name, "")
        if unit != expected:
            raise TableError(
                f"Column {name!r} is in {expected or 'plain numbers'!r} in {first.name}, and in "
                f"{unit or 'plain numbers'!r} in {other.name}. Convert one of them."
            )


def _list_names(table: TableFile) -> Sequence[str]:
    """List the columns of a file, also those of an index."""
    return list(table.frame.columns) if table.original is None else table.original.names
