"""A text file, record by record: every line is checked, and named if it does not fit."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from eosparse.rows.compression import open_decompressed
from eosparse.rows.dialect import Dialect, find_encoding, sniff_dialect
from eosparse.rows.formats import TableError
from eosparse.rows.layout import Hints, split_records


@dataclass(frozen=True)
class TextFile:
    """A text file whose dialect is known.

    Attributes
    ----------
    source : Path or bytes
        The file, or what was read from standard input.
    name : str
        What messages call it.
    dialect : Dialect
        How it is written.
    n_rows : int
        Number of its rows.

    Examples
    --------
    >>> file = open_text(b"a,b\\n1,'x\\n2,y\\n", "t.csv")
    >>> [cells for cells in file.read_cells()]
    [['1', "'x"], ['2', 'y']]
    """

    source: Path | bytes
    name: str
    dialect: Dialect
    n_rows: int = 0

    @contextmanager
    def open_rows(self) -> Iterator[TextIO]:
        """Open the file below its header, decompressed and decoded."""
        with open_decompressed(self.source, self.dialect.compression, self.name) as stream:
            text = io.TextIOWrapper(stream, encoding=self.dialect.encoding, newline="")
            for _ in range(self.dialect.n_lines_above):
                text.readline()
            yield text

    def read_header(self) -> list[str]:
        """Return the names of the columns as they are written, or numbered if there are none."""
        dialect = self.dialect
        if not dialect.has_header:
            return list(dialect.names)
        with open_decompressed(self.source, dialect.compression, self.name) as stream:
            text = io.TextIOWrapper(stream, encoding=dialect.encoding, newline="")
            lines = [text.readline() for _ in range(dialect.n_lines_above)]
        below = lines[dialect.n_skipped :]
        cells = next(split_records(below, dialect.separator, dialect.quote))
        return [*([""] if dialect.has_row_names else []), *cells][: len(dialect.names)]

    def read_cells(self) -> Iterator[list[str]]:
        """Yield the cells of each row as text."""
        for _, _, cells in self._read_records(is_split=True):
            yield cells

    def read_texts(self) -> Iterator[str]:
        """Yield each row as it is written, without line end and trailing separator."""
        for _, text, _ in self._read_records(is_split=False):
            yield text

    def count_rows(self) -> int:
        """Return the number of rows; a row that is too long or too short is an error."""
        return sum(1 for _ in self._read_records(is_split=False))

    def _read_records(self, *, is_split: bool) -> Iterator[tuple[int, str, list[str]]]:
        """Yield the first line, the text and the cells of each row; cells only if asked for.

        Lines without quotes are records, and are split only if they must be: that is fast.
        """
        dialect, number = self.dialect, self.dialect.n_lines_above + 1
        width, separator, quote = len(dialect.names), dialect.separator, dialect.quote
        is_table, n_blank = width > 1 or dialect.has_trailing, 0
        with self.open_rows() as lines:
            for line in lines:
                first = number
                if "\0" in line:
                    raise TableError(
                        f"{self.name}, line {first} holds a zero byte, which no text does."
                    )
                if quote in line:
                    text, cells, n_lines = self._join_lines(line, lines, first)
                    number += n_lines
                else:
                    text, number = line.rstrip("\r\n"), number + 1
                    if not text.strip(" " if separator == "\t" else " \t"):
                        n_blank += 1
                        continue
                    cells = self.split(text) if is_split or separator == " " else []
                n_cells = len(cells) or text.count(separator) + 1
                if n_cells == width + 1 and dialect.has_trailing:
                    text, cells = self._drop_trailing(text, first), cells[:width]
                elif n_cells != width:
                    raise self._complain(first, n_cells)
                if (
                    not is_table
                ):  # an empty line is a row with a gap; at the end of the file it is not
                    yield from ((first, "", [""]) for _ in range(n_blank))
                n_blank = 0
                yield first, text, cells

    def split(self, text: str) -> list[str]:
        """Return the cells of a row."""
        separator, quote = self.dialect.separator, self.dialect.quote
        if quote in text:
            # Spaces belong to a cell, unless a quote follows.
            is_spaced = re.search(rf"(^|{re.escape(separator)}) +{quote}", text) is not None
            lines = io.StringIO(text, newline="")
            return next(split_records(lines, separator, quote, is_spaced=is_spaced))
        return text.split() if separator == " " else text.split(separator)

    def _join_lines(
        self, line: str, lines: Iterator[str], first: int
    ) -> tuple[str, list[str], int]:
        """Return the text and cells of a record with quotes, and the number of its lines."""
        taken = [line]

        def feed() -> Iterator[str]:
            yield line
            for further in lines:
                taken.append(further)
                yield further

        separator, quote = self.dialect.separator, self.dialect.quote
        try:
            cells = next(split_records(feed(), separator, quote))
        except csv.Error as error:
            raise TableError(f"{self.name}, line {first}: {error}. Is a quote missing?") from None
        text = "".join(taken)
        if (len(taken) > 1 or text.count(quote) % 2) and not self._is_closed(taken):
            raise TableError(
                f"{self.name}, line {first}: a cell begins with {quote} and never ends. Close it, "
                "or remove the quote."
            )
        text = text.rstrip("\r\n")
        is_spaced = text.startswith(" ") or f"{separator} " in text
        return text, self.split(text) if is_spaced else cells, len(taken)

    def _is_closed(self, lines: list[str]) -> bool:
        """Whether the last cell of a record ends before the file does."""
        separator, quote = self.dialect.separator, self.dialect.quote
        reader = csv.reader(
            lines, delimiter=separator, quotechar=quote, skipinitialspace=True, strict=True
        )
        try:
            next(reader)
        except csv.Error as error:
            return "unexpected end" not in str(error)
        return True

    def _drop_trailing(self, text: str, line: int) -> str:
        kept, _, last = text.rpartition(self.dialect.separator)
        if last.strip():
            raise self._complain(line, len(self.dialect.names) + 1)
        return kept

    def _complain(self, line: int, n_cells: int) -> TableError:
        names = self.dialect.names
        cells = "1 cell" if n_cells == 1 else f"{n_cells} cells"
        return TableError(
            f"{self.name}, line {line} has {cells}, but the table has {len(names)} columns "
            f"({', '.join(names[:3])}{', …' if len(names) > 3 else ''}). Correct the line, or name "
            "the separator with --separator."
        )


def open_text(source: Path | bytes, name: str, hints: Hints | None = None) -> TextFile:
    """Recognise how a text file is written, and check all of its lines.

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
    TextFile

    Raises
    ------
    TableError
        If the file cannot be understood; the message names the line.

    Examples
    --------
    >>> open_text(b"a,b\\n1,2\\n3,4\\n", "t.csv").n_rows
    2
    """
    hints = hints or Hints()
    file = TextFile(source, name, sniff_dialect(source, name, hints))
    try:
        return replace(file, n_rows=file.count_rows())
    except UnicodeDecodeError as error:
        if hints.encoding is not None or file.dialect.encoding != "utf-8":
            raise TableError(
                f"{name} is not {file.dialect.encoding} text ({error}). Use --encoding with "
                "another name."
            ) from None
    # The first bytes were plain, and an accent comes late.
    encoding = _find_late_encoding(file)
    return open_text(source, name, replace(hints, encoding=encoding))


def _find_late_encoding(file: TextFile) -> str:
    found = set()
    with open_decompressed(file.source, file.dialect.compression, file.name) as stream:
        while block := stream.read(2**20):
            found.add(find_encoding(block))
    return "latin-1" if "latin-1" in found else "cp1252"
