"""How a text file is written, recognised from its first bytes.

A file from a stranger tells neither its encoding nor its separator nor where its header is. All of
it is decided here, once, so that a table in memory, one that is streamed and a copy of it agree.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from eosparse.rows.compression import find_compression_of, open_decompressed
from eosparse.rows.formats import TableError
from eosparse.rows.number_text import find_decimal_mark, is_number

if TYPE_CHECKING:
    import _csv

Row = Sequence[str]

# The part of a file that its dialect is recognised from.
_HEAD_BYTES, _HEAD_LINES = 2**18, 1000
# Lines of a title that may stand above the header.
_MAX_TITLE_LINES = 50
_SEPARATORS = (",", ";", "\t", "|")
_BLANKS = " "  # as a separator: any number of them
_COMMENTS = ("#", "%", "//")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    names : tuple of str
        Names of the columns; "Unnamed: 0" where the header has none, as in pandas.
    encoding : str
        Python's name of the encoding; with "utf-8-sig" and "utf-16" a byte order mark comes first.
    compression : str or None
        "gzip", "bz2", "xz" or "zstd".
    separator : str
        What separates cells. A space stands for any number of them.
    decimal : str
        The decimal mark.
    quote : str
        What encloses cells that contain a separator.
    n_skipped : int
        Lines above the header: titles, comments, blank lines.
    n_header_lines : int
        Lines of the header itself; none if the file has no header.
    has_row_names : bool
        Whether the header leaves out the name of the first column, as R writes it.
    has_trailing : bool
        Whether every row ends with a separator, behind which is no cell.
    line_end : str
        What ends the lines.

    Examples
    --------
    >>> dialect = sniff_dialect(b"Lab 3\\nid;height\\n1;1,75\\n2;1,80\\n", "heights.csv")
    >>> dialect.names, dialect.separator, dialect.decimal, dialect.n_skipped
    (('id', 'height'), ';', ',', 1)
    """

    names: tuple[str, ...]
    encoding: str = "utf-8"
    compression: str | None = None
    separator: str = ","
    decimal: str = "."
    quote: str = '"'
    n_skipped: int = 0
    n_header_lines: int = 1
    has_row_names: bool = False
    has_trailing: bool = False
    line_end: str = "\n"

    @property
    def has_header(self) -> bool:
        """Whether a line holds the names of the columns."""
        return self.n_header_lines > 0

    @property
    def n_lines_above(self) -> int:
        """Number of lines above the first row."""
        return self.n_skipped + self.n_header_lines


@dataclass(frozen=True)
class Hints:
    """What is known about a text file before it is opened.

    Attributes
    ----------
    separator, encoding : str or None
        What you said; None to recognise it.
    has_header : bool or None
        What you said; None to recognise it.
    usual_separator : str
        What the extension of the file stands for, if the file itself does not tell.
    """

    separator: str | None = None
    encoding: str | None = None
    has_header: bool | None = None
    usual_separator: str = ","


def sniff_dialect(source: Path | bytes, name: str, hints: Hints | None = None) -> Dialect:
    """Recognise how a text file is written.

    Parameters
    ----------
    source : Path or bytes
        The file, or what was read from standard input.
    name : str
        What messages call it.
    hints : Hints, optional
        What is known about the file.

    Returns
    -------
    Dialect

    Raises
    ------
    TableError
        If the file is empty, is no text, has no header, or has several columns of the same name.

    Examples
    --------
    >>> sniff_dialect(b"a,b,\\r\\n1,2,\\r\\n", "t.csv").has_trailing
    True
    """
    hints = hints or Hints()
    compression = find_compression_of(source)
    with open_decompressed(source, compression, name) as stream:
        head = stream.read(_HEAD_BYTES)
        is_whole = not stream.read(1)
    encoding = hints.encoding or find_encoding(head)
    lines, is_whole = _split_lines(_decode(head, encoding, name), is_whole)
    if not any(line.strip() for line in lines):
        raise TableError(f"{name} is empty.")
    quote = _find_quote(lines)
    layout = _find_layout(lines, quote, hints, is_whole)
    first = layout.numbers[layout.header]
    cells, rows = layout.name_columns(), layout.rows
    names = check_names(cells, rows, name, f"line {first[0] + 1}", hints.has_header)
    decimal = _find_decimal_mark(layout)
    ends = [line[len(line.rstrip("\r\n")) :] for line in lines if line.endswith(("\r", "\n"))]
    return Dialect(
        names,
        encoding,
        compression,
        layout.separator,
        decimal,
        quote,
        n_skipped=first[0],
        n_header_lines=0 if hints.has_header is False else first[1] - first[0],
        has_row_names=layout.has_row_names and hints.has_header is not False,
        has_trailing=layout.has_trailing,
        line_end=Counter(ends).most_common(1)[0][0] if ends else "\n",
    )


def find_encoding(head: bytes) -> str:
    """Return the encoding of the first bytes of a text.

    Examples
    --------
    >>> find_encoding("größe".encode("cp1252")), find_encoding("größe".encode("utf-16"))
    ('cp1252', 'utf-16')
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding
    # Half of the bytes of separators, digits and most letters are zero in UTF-16.
    n_zeros = head.count(0)
    if n_zeros > 0.2 * len(head):
        return "utf-16-le" if head[1::2].count(0) > 0.5 * n_zeros else "utf-16-be"
    for encoding in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(head)
        except UnicodeDecodeError:
            continue
        return encoding
    return "latin-1"


def _decode(head: bytes, encoding: str, name: str) -> str:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except LookupError:
        raise TableError(
            f"The encoding {encoding!r} is unknown. Use a name such as utf-8, cp1252 or utf-16."
        ) from None
    except UnicodeError as error:
        raise TableError(
            f"{name} is not {encoding} text ({error}). Use --encoding with another name."
        ) from None
    if "\0" in text:
        raise TableError(f"{name} is no text: it holds zero bytes. Check its format.")
    return text.removeprefix("\ufeff")


def _split_lines(text: str, is_whole: bool) -> tuple[list[str], bool]:
    """Return complete lines with their ends, LF, CRLF or CR, and whether these are all."""
    lines = list(io.StringIO(text, newline=""))
    complete = lines if is_whole or len(lines) < 2 else lines[:-1]
    return complete[:_HEAD_LINES], is_whole and len(complete) <= _HEAD_LINES


def _find_quote(lines: Sequence[str]) -> str:
    """Return the single quote if it encloses cells, and the double quote is nowhere."""
    if any('"' in line for line in lines):
        return '"'
    enclosed = sum(
        re.search(r"(^|[,;\t|])'[^']*'\s*([,;\t|]|$)", line) is not None for line in lines
    )
    return "'" if enclosed > 0.5 * len(lines) else '"'


@dataclass(frozen=True)
class _Layout:
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


def _find_layout(lines: Sequence[str], quote: str, hints: Hints, is_whole: bool) -> _Layout:
    """Try separators, and return the layout that explains the lines best."""
    told = re.fullmatch(r"sep=(.)\s*", lines[0])  # as Excel writes it
    separator = hints.separator or (told[1] if told else None)
    if separator is not None:
        return _lay_out(lines, separator, quote, hints, is_whole)
    usual = hints.usual_separator
    tried = dict.fromkeys((usual, *_SEPARATORS))
    layouts = [_lay_out(lines, separator, quote, hints, is_whole) for separator in tried]
    best = max(layouts, key=lambda layout: layout.quality)
    if best.width > 1:
        return best
    by_blanks = _lay_out(lines, _BLANKS, quote, hints, is_whole)
    is_table = by_blanks.quality[0] == 1.0 and _list_numeric(by_blanks.rows)
    return by_blanks if is_table else layouts[0]


def _lay_out(
    lines: Sequence[str], separator: str, quote: str, hints: Hints, is_whole: bool
) -> _Layout:
    """Split lines into records, of which blank ones do not count, and find the header."""
    reader = split_records(lines, separator, quote)
    records, numbers, before = [], [], 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:  # a cell that never ends, say: reading all of the file will name it
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
        return _Layout(separator, [[""]], [(0, 1)], 1, 0)
    widths = Counter(map(len, records))
    width = max(widths, key=lambda width: (widths[width], width))
    is_told = len(records) > 1 and re.fullmatch(r"sep=.?", records[0][0]) is not None
    first = 1 if is_told else 0
    header = first if hints.has_header is False else find_header(records, width, first)
    return _Layout(separator, records, numbers, width, header)


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
        if i < first or len(cells) not in (width, width - 1):
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


def _find_decimal_mark(layout: _Layout) -> str:
    """Return the decimal mark of most numbers; a comma if "1,643" is all there is and it may be."""
    cells = [cell for row in layout.rows for cell in row]
    usual = "."
    if layout.separator != "," and any("," in cell and is_number(cell) for cell in cells):
        usual = "." if any("." in cell and is_number(cell) for cell in cells) else ","
    return find_decimal_mark(cells, usual)
