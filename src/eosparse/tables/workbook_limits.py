"""Limits on workbooks, checked before any of their cells is kept.

A few kilobytes may hold a cell in the last row and column, behind 17 billion empty ones, or unpack
to gigabytes. Each sheet is scanned once, by a parser that expands no entities and keeps nothing.
"""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers import expat

from eosparse.rows.formats import TableError
from eosparse.rows.limits import MOST_BYTES_IN_MEMORY

MOST_CELLS = 20_000_000
"""Cells of a sheet, empty ones included, up to its last row and column."""
MOST_ROWS = 2**20
"""Rows of a sheet, as in Excel."""
_BLOCK_BYTES = 2**16
# Damaged archives, compressions that Python does not know, passwords, and damaged XML.
_UNREADABLE = (
    *(zipfile.BadZipFile, OSError, EOFError, zlib.error, lzma.LZMAError),
    *(NotImplementedError, RuntimeError, expat.ExpatError),
)
_PLACE = re.compile(r"([A-Za-z]{1,4})([0-9]{1,9})")


class _NoSheetError(Exception):  # it ends a scan, and is no error
    """A part of a workbook that is no sheet."""


def check_workbook(path: Path) -> None:
    """Raise a `TableError` if a workbook has too large a sheet, or unpacks to too much."""
    try:
        import defusedxml  # noqa: F401  # openpyxl uses it if it is there
    except ImportError as error:
        raise ImportError("XLSX files need defusedxml: pip install 'eosparse[cli]'") from error
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > MOST_BYTES_IN_MEMORY:
                size = f"{MOST_BYTES_IN_MEMORY / 2**30:.3g} GiB"
                raise TableError(f"{path.name} unpacks to more than {size}. Save it as CSV.")
            for part in archive.infolist():  # a sheet may have any name
                _check_part(archive, part, path.name)
    except _UNREADABLE as error:
        raise TableError(f"{path.name} is not a readable XLSX file: {error}.") from None


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo, name: str) -> None:
    scan = _SheetScan(name)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = scan.start
    parser.EntityDeclHandler = scan.refuse_entity
    with archive.open(part) as file:
        try:
            while block := file.read(_BLOCK_BYTES):
                parser.Parse(block, False)
        except _NoSheetError:
            return
        except expat.ExpatError:
            if scan.is_sheet:
                raise


@dataclass
class _SheetScan:
    """How far the cells of a sheet reach."""

    name: str
    is_sheet: bool = False
    n_rows: int = 0
    n_columns: int = 0
    _column: int = 0

    def refuse_entity(self, *_: Any) -> None:
        raise TableError(f"{self.name} declares XML entities, which no workbook needs.")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(" ")[2]
        if not self.is_sheet:
            if tag != "worksheet":
                raise _NoSheetError
            self.is_sheet = True
        elif tag == "row":
            self._begin_row(attributes.get("r", ""))
        elif tag == "c":
            self._add_cell(attributes.get("r", ""))

    def _begin_row(self, place: str) -> None:
        number = int(place) if place.isdecimal() and len(place) < 12 else self.n_rows + 1
        self.n_rows, self._column = max(self.n_rows, number), 0
        self._check()

    def _add_cell(self, place: str) -> None:
        found = _PLACE.fullmatch(place)
        self._column = self._column + 1 if found is None else _count_letters(found[1])
        if found is not None:
            self.n_rows = max(self.n_rows, int(found[2]))
        if self._column > self.n_columns:
            self.n_columns = self._column
            self._check()

    def _check(self) -> None:
        if self.n_rows > MOST_ROWS:
            raise TableError(f"{self.name} has more than {MOST_ROWS:,} rows. Save it as CSV.")
        if self.n_rows * self.n_columns > MOST_CELLS:
            raise TableError(
                f"A sheet of {self.name} reaches to row {self.n_rows:,} and column "
                f"{self.n_columns:,}: these are more than {MOST_CELLS:,} cells, empty ones "
                "included. Delete stray cells, or save it as CSV."
            )


def _count_letters(letters: str) -> int:
    """Return the number of a column: A is 1, AA is 27."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - 64
    return number
