"""Read a table from a file or from standard input; what was assumed is said."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import pandas as pd

# By ending, without that of a compression.
KINDS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
}
_COMPRESSED = (".gz", ".bz2", ".xz")


class TableError(ValueError):
    """A table that cannot be used, why, and what to do."""


@dataclass(frozen=True)
class TableFile:
    """A table and the kind of file it came from.

    Attributes
    ----------
    frame : DataFrame
        The rows as they are, text as text.
    kind : str
        "csv", "tsv", "parquet", "arrow" or "xlsx".
    name : str
        What to call it.
    separator, decimal : str
        Between cells and in numbers, for the first two.
    notes : tuple of str
        What had to be assumed.
    """

    frame: pd.DataFrame
    kind: str
    name: str
    separator: str = ","
    decimal: str = "."
    notes: tuple[str, ...] = field(default=())


def kind_of(path: Path) -> str:
    """Tell the kind of a file by its ending."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = KINDS.get(suffixes[-1]) if suffixes else None
    if kind is None:
        known = ", ".join(KINDS)
        raise TableError(f"{path.name}: what kind of table it is cannot be told; use {known}.")
    return kind


def read_table(source: str | Path, stdin: BinaryIO | None = None) -> TableFile:
    """Read a table; ``-`` stands for standard input, as CSV or TSV.

    Parameters
    ----------
    source : str or Path
        File.
    stdin : binary file, optional
        Instead of standard input.

    Returns
    -------
    TableFile

    Raises
    ------
    TableError
        If there is no such file, it cannot be read, or has no rows, no columns, or columns of the
        same name.
    """
    if str(source) == "-":
        content = (stdin or sys.stdin.buffer).read()
        table = _from_text(content, "csv", "standard input")
    else:
        path = Path(source)
        if not path.is_file():
            raise TableError(f"there is no file {path}.")
        table = _from_file(path)
    _check(table)
    return table


def _from_file(path: Path) -> TableFile:
    kind = kind_of(path)
    if kind in ("csv", "tsv"):
        return _from_text(_decompressed(path), kind, path.name)
    import pandas as pd

    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        "parquet": pd.read_parquet,
        "arrow": pd.read_feather,
        "xlsx": _read_workbook,
    }
    try:
        frame = readers[kind](path)
        return TableFile(frame.rename(columns=str), kind, path.name)
    except ImportError as error:
        raise TableError(f"{path.name}: {error}. pip install 'eosparse[cli]'.") from None
    except Exception as error:  # each library has its own for a broken file
        raise TableError(f"{path.name} is not a readable {kind} file: {error}") from None


def _read_workbook(path: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_excel(path, engine="openpyxl")


def _decompressed(path: Path) -> bytes:
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
        raise TableError(f"{path.name} cannot be unpacked: {error}") from None


def _from_text(content: bytes, kind: str, name: str) -> TableFile:
    import pandas as pd

    notes = []
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
        notes.append(f"{name} is not UTF-8; it was read as Windows-1252.")
    if not text.strip():
        raise TableError(f"{name} is empty.")
    separator = "\t" if kind == "tsv" else _separator(text)
    if separator != {"csv": ",", "tsv": "\t"}[kind]:
        notes.append(f"{name}: cells are separated by {separator!r}.")
    decimal = _decimal(text, separator)
    if decimal == ",":
        notes.append(f"{name}: decimals are written with a comma.")
    try:
        frame = pd.read_csv(
            io.StringIO(text), sep=separator, decimal=decimal, skipinitialspace=True
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TableError(f"{name} cannot be read: {error}") from None
    _check_header(text, separator, name)
    return TableFile(frame, kind, name, separator, decimal, tuple(notes))


def _separator(text: str) -> str:
    """Return the separator that the first line has most of."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    counts = {mark: first.count(mark) for mark in (",", ";", "\t", "|")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","


def _decimal(text: str, separator: str) -> str:
    """Tell decimal commas: only where cells are not separated by commas themselves."""
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
    """Refuse columns of the same name, which would be renamed silently."""
    header = next(csv.reader(io.StringIO(text.lstrip("\r\n")), delimiter=separator))
    names = [cell.strip() for cell in header]
    commonest, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise TableError(f"{name} has several columns named {commonest!r}. Rename them.")
    if names and all(_is_number(cell) for cell in names):
        raise TableError(
            f"{name}: the first line has only numbers ({', '.join(names[:3])}, …). A table needs a "
            "line with the names of its columns."
        )


def _check(table: TableFile) -> None:
    if table.frame.shape[1] == 0:
        raise TableError(f"{table.name} has no columns.")
    if len(table.frame) == 0:
        raise TableError(f"{table.name} has column names but no rows.")
