"""XLSX workbooks: one sheet is read, with the header wherever it begins, and one is written."""

from __future__ import annotations

import datetime
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from eosparse.rows.formats import TableError
from eosparse.rows.layout import check_names, find_header
from eosparse.tables.originals import ValuesOriginal, write_value
from eosparse.tables.workbook_limits import check_workbook

# What a sheet holds at most, and a cell.
_MAX_ROWS, _MAX_COLUMNS, _MAX_LETTERS = 2**20, 2**14, 32_767
# Larger whole numbers lose digits in a spreadsheet.
_MAX_WHOLE = 10**15
# Rows that the header is looked for in.
_N_FIRST_ROWS = 200


def read_workbook(
    path: Path, sheet: str | None = None, header: bool | None = None
) -> tuple[ValuesOriginal, tuple[str, ...]]:
    """Read a sheet of a workbook, by its name or its number; return its rows, and notes."""
    import openpyxl

    check_workbook(path)
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        notes = [] if sheet is not None or len(book.sheetnames) == 1 else [_list_sheets(book, path)]
        found = _find_sheet(book, sheet, path)
        found.reset_dimensions()  # what a sheet says about its size may be wrong
        rows = _drop_margins(found.iter_rows(values_only=True))
    finally:
        book.close()
    if not rows:
        raise TableError(f"{path.name} is empty.")
    text = [[write_value(value).strip() for value in row] for row in rows[:_N_FIRST_ROWS]]
    first = 0 if header is False else find_header(text, len(text[0]))
    if first:
        lines = "1 row" if first == 1 else f"{first} rows"
        notes.append(f"{lines} above the header of {path.name} were skipped.")
    names = check_names(text[first], text[first + 1 :], path.name, f"row {first + 1}", header)
    return ValuesOriginal(names, rows if header is False else rows[first + 1 :]), tuple(notes)


def _drop_margins(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Return rows without empty ones at the top and bottom, nor empty columns at the sides."""
    kept = [list(row[: _count_filled(row)]) for row in rows]
    while kept and not kept[-1]:
        kept.pop()
    filled = [row for row in kept if row]
    if not filled:
        return []
    kept = kept[kept.index(filled[0]) :]
    left = min(next(i for i, value in enumerate(row) if value is not None) for row in filled)
    width = max(map(len, filled))
    return [[*row, *[None] * (width - len(row))][left:] for row in kept]


def _count_filled(row: Sequence[Any]) -> int:
    """Return the place behind the last value."""
    return next((i + 1 for i in range(len(row) - 1, -1, -1) if row[i] is not None), 0)


def _find_sheet(book: Any, sheet: str | None, path: Path) -> Any:
    names = book.sheetnames
    if sheet is None:
        return book.worksheets[0]
    if sheet in names:
        return book[sheet]
    if sheet.isdecimal() and 1 <= int(sheet) <= len(book.worksheets):
        return book.worksheets[int(sheet) - 1]
    shown = ", ".join(repr(name) for name in names[:12])
    raise TableError(f"{path.name} has no sheet {sheet!r}. It has {shown}.")


def _list_sheets(book: Any, path: Path) -> str:
    names = book.sheetnames
    others = ", ".join(repr(name) for name in names[1:6]) + (", …" if len(names) > 6 else "")
    return f"Sheet {names[0]!r} of {path.name} was read; --sheet chooses another ({others})."


def write_workbook(path: Path, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a sheet; text is text, whatever it begins with."""
    import openpyxl

    if len(names) > _MAX_COLUMNS:
        raise TableError(f"A sheet holds {_MAX_COLUMNS:,} columns. Write Parquet or CSV.")
    book = openpyxl.Workbook(write_only=True)
    try:
        _fill_sheet(book.create_sheet(), names, rows)
    except BaseException:
        book.save(io.BytesIO())  # closes and deletes what it has written so far
        raise
    with path.open("wb") as file:
        book.save(file)


def _fill_sheet(sheet: Any, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    sheet.append([_make_cell(sheet, name, name, 0) for name in names])
    for number, row in enumerate(rows, 1):
        if number >= _MAX_ROWS:
            raise TableError(f"A sheet holds {_MAX_ROWS:,} rows. Write Parquet or CSV.")
        sheet.append(
            [_make_cell(sheet, value, name, number) for name, value in zip(names, row, strict=True)]
        )


def _make_cell(sheet: Any, value: Any, name: str, row: int) -> Any:
    """Return a value that a sheet can hold; what it would shorten or change becomes text."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.utils.exceptions import IllegalCharacterError

    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (bool, datetime.date, datetime.time)) and not _has_zone(value):
        return value
    is_float = isinstance(value, float) and math.isfinite(value)
    if is_float or (isinstance(value, int) and abs(value) < _MAX_WHOLE):
        return value
    text = write_value(value)
    place = f"column {name!r}, row {row}"
    if len(text) > _MAX_LETTERS:
        raise TableError(
            f"A cell of {place} has {len(text):,} letters; a sheet holds {_MAX_LETTERS:,}. Write "
            "Parquet or CSV."
        )
    cell = WriteOnlyCell(sheet)
    try:
        cell.value = text
    except IllegalCharacterError:
        raise TableError(
            f"A sheet cannot hold a control character in {place}. Write Parquet or CSV."
        ) from None
    cell.data_type = "s"
    return cell


def _has_zone(value: Any) -> bool:
    return getattr(value, "tzinfo", None) is not None
