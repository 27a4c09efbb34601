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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from eosparse.rows.compression import find_compression_of, open_decompressed
from eosparse.rows.formats import TableError
from eosparse.rows.layout import Hints as Hints  # also read from here
from eosparse.rows.layout import Layout, check_names, find_layout
from eosparse.rows.number_text import find_decimal_mark, is_number

# The part of a file that its dialect is recognised from.
_HEAD_BYTES, _HEAD_LINES = 2**18, 1000
# Lines of a wide table may be longer: a few of them are read, up to this size.
_FEW_LINES, _MAX_HEAD_BYTES = 10, 2**26
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
        head, is_whole = _read_head(stream)
    encoding = hints.encoding or find_encoding(head)
    lines, is_whole = _split_lines(_decode(head, encoding, name), is_whole)
    if not any(line.strip() for line in lines):
        raise TableError(f"{name} is empty.")
    quote = _find_quote(lines)
    try:
        layout = find_layout(lines, quote, hints, is_whole)
    except csv.Error as error:
        raise TableError(f"{name}, line 1: {error}. Is a quote missing?") from None
    first = layout.numbers[layout.header]
    cells, rows = layout.name_columns(), layout.rows
    names = check_names(cells, rows, name, f"line {first[0] + 1}", hints.has_header)
    decimal = _find_decimal_mark(layout, hints.usual_decimal)
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


def _read_head(stream: BinaryIO) -> tuple[bytes, bool]:
    """Read the beginning of a file; also return whether that is all of it."""
    head = stream.read(_HEAD_BYTES)
    while len(head) < _MAX_HEAD_BYTES and max(map(head.count, (b"\n", b"\r"))) < _FEW_LINES:
        more = stream.read(len(head) or 1)
        if not more:
            return head, True
        head += more
    return head, not stream.read(1)


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


def _find_decimal_mark(layout: Layout, usual: str) -> str:
    """Return the decimal mark of most numbers; a comma if "1,643" is all there is and it may be."""
    cells = [cell for row in layout.rows for cell in row]
    if layout.separator != ",":
        marks = {mark for mark in ",." for cell in cells if mark in cell and is_number(cell)}
        usual = "," if marks == {","} else usual
    return find_decimal_mark(cells, usual)
