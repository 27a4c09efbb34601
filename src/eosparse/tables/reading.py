"""Read a table from a file or from standard input, and note what was assumed about it."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from eosparse.rows.formats import ARROW, CSV, PARQUET, XLSX, find_format
from eosparse.rows.formats import TableError as TableError  # also read from here

if TYPE_CHECKING:
    import pandas as pd


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


def read_table(source: str | Path, stdin: BinaryIO | None = None) -> TableFile:
    """Read a table.

    Parameters
    ----------
    source : str or Path
        The file. ``-`` stands for standard input, as CSV or TSV.
    stdin : binary file, optional
        What to read instead of standard input.

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
    path = Path(source)
    if str(source) == "-":
        table = _parse_text((stdin or sys.stdin.buffer).read(), CSV.separator, "standard input")
    elif not path.is_file():
        raise TableError(f"File not found: {path}.")
    elif (separator := find_format(path).separator) is not None:
        table = _parse_text(_decompress(path), separator, path.name)
    else:
        table = _read_binary(path)
    if table.frame.shape[1] == 0:
        raise TableError(f"{table.name} has no columns.")
    if len(table.frame) == 0:
        raise TableError(f"{table.name} has column names but no rows.")
    return table


def _read_binary(path: Path) -> TableFile:
    import pandas as pd

    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        PARQUET.name: pd.read_parquet,
        ARROW.name: pd.read_feather,
        XLSX.name: lambda workbook: pd.read_excel(workbook, engine="openpyxl"),
    }
    name = find_format(path).name
    try:
        return TableFile(readers[name](path).rename(columns=str), path.name)
    except ImportError as error:
        raise TableError(f"{path.name}: {error}. pip install 'eosparse[cli]'.") from None
    except Exception as error:  # each library has its own for a broken file
        raise TableError(f"{path.name} is not a readable {name} file: {error}") from None


def _decompress(path: Path) -> bytes:
    import bz2
    import gzip
    import lzma

    openers: dict[str, Callable[[Path], Any]] = {
        ".gz": gzip.open,
        ".bz2": bz2.open,
        ".xz": lzma.open,
    }
    opener = openers.get(path.suffix.lower())
    if opener is None:
        return path.read_bytes()
    try:
        with opener(path) as file:
            return bytes(file.read())
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise TableError(f"{path.name} cannot be decompressed: {error}") from None


def _parse_text(content: bytes, usual_separator: str | None, name: str) -> TableFile:
    import pandas as pd

    notes = []
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
        notes.append(f"{name} is not UTF-8 and was read as Windows-1252.")
    if not text.strip():
        raise TableError(f"{name} is empty.")
    separator = "\t" if usual_separator == "\t" else _find_separator(text)
    if separator != usual_separator:
        notes.append(f"{name} uses {separator!r} as the separator.")
    decimal = _find_decimal_mark(text, separator)
    if decimal == ",":
        notes.append(f"{name} uses decimal commas.")
    try:
        frame = pd.read_csv(
            io.StringIO(text), sep=separator, decimal=decimal, skipinitialspace=True
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TableError(f"{name} cannot be read: {error}") from None
    _check_header(text, separator, name)
    return TableFile(frame, name, separator, decimal, tuple(notes))


def _find_separator(text: str) -> str:
    """Return the mark that is most frequent in the first line; a comma if there is none."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    return max((",", ";", "\t", "|"), key=first.count)


def _find_decimal_mark(text: str, separator: str) -> str:
    """Recognise decimal commas, unless commas separate the cells."""
    if separator == ",":
        return "."
    sample = text.split("\n", 200)[1:200]
    cells = [cell.strip() for line in sample for cell in line.split(separator)]
    with_comma = sum(_is_number(cell.replace(",", ".", 1)) and "," in cell for cell in cells)
    with_point = sum(_is_number(cell) and "." in cell for cell in cells)
    return "," if with_comma > with_point else "."


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _check_header(text: str, separator: str, name: str) -> None:
    """Refuse a missing header, and columns of the same name, which pandas would rename."""
    header = next(csv.reader(io.StringIO(text.lstrip("\r\n")), delimiter=separator))
    names = [cell.strip() for cell in header]
    commonest, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise TableError(f"{name} has several columns named {commonest!r}. Rename them.")
    if names and all(_is_number(cell) for cell in names):
        raise TableError(
            f"The first line of {name} contains only numbers ({', '.join(names[:3])}, …). Add a "
            "header line with the names of the columns."
        )
