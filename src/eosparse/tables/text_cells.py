"""Cells in a text file: joined to lines, and without what a spreadsheet takes for a formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosparse.rows.dialect import Dialect
from eosparse.rows.formats import TSV, Format
from eosparse.rows.number_text import is_number

if TYPE_CHECKING:
    from pyarrow import Array

# A spreadsheet takes text that begins like this for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_FORMULA_PATTERN = rf"^ *[{re.escape(''.join(_FORMULA))}]"
# Most cells that begin like a formula are negative numbers, which need no second look.
_PLAIN_PATTERN = r"^[-+][0-9]+(\.[0-9]+)?$"


def suit_separator(dialect: Dialect, found: Format, path: Path) -> Dialect:
    """Return a dialect whose separator follows the extension of a file, if that tells one.

    Examples
    --------
    >>> suit_separator(Dialect((), separator=";"), TSV, Path("rows.tsv")).separator
    '\\t'
    """
    separator = dialect.separator
    if found is TSV:
        separator = "\t"
    elif separator == " " or (separator == "\t" and ".csv" in path.suffixes):
        separator = ";" if dialect.decimal == "," else ","
    return replace(dialect, separator=separator)


class Joiner:
    """Joins cells to a line; encloses those that would not be read again as they are.

    Examples
    --------
    >>> Joiner(Dialect(()))(["1", "a, b", ""])
    '1,"a, b",\\n'
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        special = re.escape(dialect.separator + dialect.quote)
        self.needs_quotes = re.compile(rf"[{special}\r\n]|^\s|\s$").search

    def __call__(self, cells: Sequence[str]) -> str:
        """Return a line with its end."""
        dialect, quote = self.dialect, self.dialect.quote
        texts = [
            f"{quote}{cell.replace(quote, 2 * quote)}{quote}" if self.needs_quotes(cell) else cell
            for cell in cells
        ]
        if texts == [""]:
            texts = [2 * quote]  # an empty line is no row
        return dialect.separator.join(texts) + dialect.line_end


def neutralise(cell: str) -> str:
    """Return text that no spreadsheet takes for a formula; numbers stay as they are.

    Examples
    --------
    >>> neutralise("=1+1"), neutralise("-1.5"), neutralise("+4912345"), neutralise("a")
    ("'=1+1", '-1.5', '+4912345', 'a')
    """
    is_formula = cell.lstrip(" ").startswith(_FORMULA) and not is_number(cell)
    return f"'{cell}" if is_formula else cell


def neutralise_column(cells: Array) -> Array:
    """Return a column of an Arrow table with its text neutralised; other types stay as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = cells.type
    if pa.types.is_dictionary(kind):
        cells, kind = cells.cast(kind.value_type), kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return cells
    begins = pc.match_substring_regex(cells, _FORMULA_PATTERN)
    doubtful = pc.and_(begins, pc.invert(pc.match_substring_regex(cells, _PLAIN_PATTERN)))
    doubtful = pc.fill_null(doubtful, False)  # the value of a gap
    found: list[Any] = cells.filter(doubtful).to_pylist()
    if not found:
        return cells
    return pc.replace_with_mask(cells, doubtful, pa.array([neutralise(c) for c in found], kind))
