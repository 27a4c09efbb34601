"""Where the cells of a text are: what separates them, and which line names the columns."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from eosparse.rows.formats import TableError
from eosparse.rows.number_text import is_number

if TYPE_CHECKING:
    import _csv

Row = Sequence[str]

# Lines of a title that may stand above the header.
_MAX_TITLE_LINES = 50
_SEPARATORS = (",", ";", "\t", "|")
_BLANKS = " "  # as a separator: any number of them
_COMMENTS = ("#", "%", "//")


@dataclass(frozen=True)
class Hints:
    """What is known about a text file before it is opened.

    Attributes
    ----------
    separator, encoding : str or None
        What you said; None to recognise it.
    has_header : bool or None
        What you said; None to recognise it.
    usual_separator, usual_decimal : str
        What the extension of the file, or other files, stand for, if the file itself does not tell.
    """

    separator: str | None = None
    encoding: str | None = None
    has_header: bool | None = None
    usual_separator: str = ","
    usual_decimal: str = "."


@dataclass(frozen=True)
class Layout:
    """The records of a text for one separator: which one is the header, and how wide rows are.

    `numbers` are, for each record, the lines before its first and up to its last.
    """

    separator: str
    records: list[list[str]]
    numbers: list[tuple[int, int]]
    width: int
    header: int

    @property
    def rows(self) -> list[list[str]]:
        """The rows below the header that have the usual width."""
        return [cells for cells in self.records[self.header + 1 :] if len(cells) == self.width]

    @property
    def has_trailing(self) -> bool:
        """Whether nothing follows the last separator of all rows, nor of the header."""
        if self.width < 2 or not self.rows:
            return False
        header = self.records[self.header]
        is_unnamed = len(header) < self.width or header[-1] == ""
        return is_unnamed and all(cells[-1] == "" for cells in self.rows)

    @property
    def has_row_names(self) -> bool:
        """Whether rows have one cell more than the header."""
        return len(self.records[self.header]) == self.width - 1 and not self.has_trailing

    @property
    def quality(self) -> tuple[float, int, int]:
        """How well the separator explains the records; the number of columns decides last."""
        if self.width < 2:
            return (0.0, 0, 0)
        fitting = sum(len(cells) == self.width for cells in self.records[self.header :])
        share = fitting / len(self.records)
        return (round(share, 1), -self.header, self.width)

    def name_columns(self) -> list[str]:
        """Return the cell that names each column."""
        n_columns = self.width - self.has_trailing
        cells = self.records[self.header][:n_columns]
        return [""] * (n_columns - len(cells)) + cells


def find_layout(lines: Sequence[str], quote: str, hints: Hints, is_whole: bool) -> Layout:
    """Try separators, and return the layout that explains the lines best."""
    told = re.fullmatch(r"sep=([\t!-/:-@\[-`{-~])\s*", lines[0])  # as Excel writes it
    separator = hints.separator or (told[1] if told else None)
    if separator is not None:
        return _lay_out(lines, separator, quote, hints, is_whole)
    usual = hints.usual_separator
    tried = dict.fromkeys((usual, *_SEPARATORS))
    layouts = list(_try_separators(lines, list(tried), quote, hints, is_whole))
    best = max(layouts, key=lambda layout: layout.quality)
    if best.width > 1:
        return best
    by_blanks = _lay_out(lines, _BLANKS, quote, hints, is_whole)
    is_table = by_blanks.quality[0] == 1.0 and _list_numeric(by_blanks.rows)
    return by_blanks if is_table else layouts[0]


def _try_separators(
    lines: Sequence[str], separators: Sequence[str], quote: str, hints: Hints, is_whole: bool
) -> Iterator[Layout]:
    """Yield the layout for each separator that leaves cells which can be read."""
    n_found, failure = 0, None
    for separator in separators:
        try:
            yield _lay_out(lines, separator, quote, hints, is_whole)
            n_found += 1
        except csv.Error as error:  # without a separator, a line is one cell, and may be too long
            failure = error
    if not n_found and failure is not None:
        raise failure


def _lay_out(
    lines: Sequence[str], separator: str, quote: str, hints: Hints, is_whole: bool
) -> Layout:
    """Split lines into records, of which blank ones do not count, and find the header."""
    reader = split_records(lines, separator, quote)
    records: list[list[str]] = []
    numbers: list[tuple[int, int]] = []
    before = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:  # a cell that never ends, say: reading all of the file will name it
            if not records:
                raise
            break
        if cells is None:
            break
        if any(cell.strip() for cell in cells):
            records.append([cell.strip() for cell in cells])
            numbers.append((before, reader.line_num))
        before = reader.line_num
    if not is_whole and len(records) > 2:  # the last one may go on
        del records[-1], numbers[-1]
    if not records:
        return Layout(separator, [[""]], [(0, 1)], 1, 0)
    widths = Counter(map(len, records))
    width = max(widths, key=lambda width: (widths[width], width))
    is_told = len(records) > 1 and re.fullmatch(r"sep=.?", records[0][0]) is not None
    first = 1 if is_told else 0
    header = first if hints.has_header is False else find_header(records, width, first)
    return Layout(separator, records, numbers, max(width, len(records[header])), header)


def split_records(
    lines: Iterable[str], separator: str, quote: str, *, is_spaced: bool = True
) -> _csv.Reader:
    """Return a reader that splits lines into cells, if asked without spaces before them."""
    is_spaced = is_spaced or separator == _BLANKS
    return csv.reader(lines, delimiter=separator, quotechar=quote, skipinitialspace=is_spaced)


def find_header(records: Sequence[Row], width: int, first: int = 0) -> int:
    """Return the record that names the columns: the first of the width of the rows.

    A line with a single cell is a title. A comment, or a line that is one cell short, names the
    columns only if a row comes next.

    Examples
    --------
    >>> find_header([["Heights", "", ""], ["name", "cm", "kg"], ["Anna", "170", "65"]], 3)
    1
    """
    rows = [cells for cells in records if len(cells) == width]
    for i, cells in enumerate(records[:_MAX_TITLE_LINES]):
        if i >= first and len(cells) > width:
            return i  # no title; rows that are shorter will be named
        if i < first or len(cells) < width - 1:
            continue
        if width > 2 and sum(map(bool, cells)) < 2:
            continue
        is_doubtful = len(cells) < width or cells[0].startswith(_COMMENTS)
        if is_doubtful and not (i + 1 < len(records) and _resembles(records[i + 1], rows[1:])):
            continue
        return i
    return first


def _resembles(cells: Row, rows: Sequence[Row]) -> bool:
    """Whether cells are numbers in a column of numbers; of text alone, one cannot tell."""
    numeric = _list_numeric(rows)
    return not numeric or any(i < len(cells) and is_number(cells[i]) for i in numeric)


def _list_numeric(rows: Sequence[Row]) -> list[int]:
    """List the columns that hold numbers in most rows."""
    found = []
    for i in range(len(rows[0]) if rows else 0):
        there = [cells[i] for cells in rows if i < len(cells) and cells[i]]
        if there and sum(map(is_number, there)) > 0.5 * len(there):
            found.append(i)
    return found


def check_names(
    cells: Row, rows: Sequence[Row], name: str, place: str, has_header: bool | None = None
) -> tuple[str, ...]:
    """Return the names of columns; refuse those that occur twice, and cells that look like a row.

    Parameters
    ----------
    cells : sequence of str
        The cells of the header, of which the empty ones are numbered.
    rows : sequence of sequence of str
        Some of the rows below.
    name, place : str
        The file and where its header is, for messages.
    has_header : bool, optional
        What you said. If there is none, columns are numbered.

    Examples
    --------
    >>> check_names(["id", ""], [["1", "x"]], "t.csv", "line 1")
    ('id', 'Unnamed: 1')
    """
    if has_header is False:
        return tuple(f"column_{i + 1}" for i in range(len(cells)))
    names = tuple(cell.strip() or f"Unnamed: {i}" for i, cell in enumerate(cells))
    if has_header is None and _is_row(names, rows):
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        raise TableError(
            f"{name} has no header: {place} looks like a row ({shown}). Add the names of the "
            "columns above it, or use --no-header to number them; with --header, they are names."
        )
    commonest, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise TableError(f"{name} has several columns named {commonest!r}. Rename them.")
    return names


def _is_row(names: Row, rows: Sequence[Row]) -> bool:
    """Whether names are numbers above numbers, and count nothing such as years."""
    numeric = _list_numeric(rows) if rows else range(len(names))
    found = [names[i] for i in numeric if i < len(names) and is_number(names[i])]
    return bool(found) and not _are_steps(found, is_mixed=len(found) < len(names))


def _are_steps(names: Row, *, is_mixed: bool) -> bool:
    """Whether names are years in a row, or beside text at least five evenly spaced numbers."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return False
    steps = {round(b - a, 9) for a, b in pairwise(numbers)}
    are_years = all(1500 <= number <= 2200 and number % 1 == 0 for number in numbers)
    if len(steps) != 1 or steps == {0.0}:
        return False
    # Two years such as 1756 and 1791 may well be those of a row.
    return (are_years and (len(names) > 2 or steps == {1.0})) or (is_mixed and len(names) >= 5)
