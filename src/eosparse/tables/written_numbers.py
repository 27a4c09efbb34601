"""Columns of text that hold numbers: percentages, currencies, units, thousands marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eosparse.rows.number_text import Notation, find_notation

if TYPE_CHECKING:
    import pandas as pd

# Different cells that the notation of a column is recognised from.
_N_CELLS = 1000
# Up to this share of cells ("?", "not done") may be no number.
_MAX_UNREADABLE = 0.1


def read_written_numbers(
    frame: pd.DataFrame, decimal: str
) -> tuple[pd.DataFrame, dict[str, Notation], tuple[str, ...]]:
    """Read columns of text as numbers where the whole column is written so.

    Parameters
    ----------
    frame : DataFrame
        The table.
    decimal : str
        The decimal mark of its file.

    Returns
    -------
    frame : DataFrame
        Columns that hold numbers in another notation than Python's are numbers; where some cells
        are none, such as "?", the column stays text, and the others are written as in Python.
    notations : dict
        By column: how its numbers are written in the file.
    notes : tuple of str
        The columns and what was left out.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"price": ["$5.12", "$1,204.00"], "city": ["Bern", "Ulm"]})
    >>> numbers, _, notes = read_written_numbers(table, ".")
    >>> numbers["price"].tolist(), notes
    ([5.12, 1204.0], ("Read as numbers: 'price' without '$'.",))
    """
    found: dict[str, Notation] = {}
    columns: dict[str, Any] = {}
    text = [place for place, kind in enumerate(frame.dtypes) if _holds_text(kind)]
    for place in text:
        if (read := _read_column(frame.iloc[:, place], decimal)) is not None:
            name = str(frame.columns[place])
            columns[name], found[name] = read
    if not columns:
        return frame, {}, ()
    return frame.assign(**columns), found, _note_units(found)


def _note_units(found: dict[str, Notation]) -> tuple[str, ...]:
    with_unit = [f"{name!r} without {n.unit!r}" for name, n in found.items() if n.unit]
    if not with_unit:
        return ()
    more = "" if len(with_unit) <= 8 else f" and {len(with_unit) - 8} more columns"
    return (f"Read as numbers: {', '.join(with_unit[:8])}{more}.",)


def _read_column(cells: pd.Series[Any], decimal: str) -> tuple[Any, Notation] | None:
    """Return a column as numbers, and how they are written; None if it needs no reading."""
    different = cells.dropna().unique()
    texts = [cell for cell in different if isinstance(cell, str)]
    if not texts or len(texts) < len(different):
        return None
    if all(text.lstrip("+-").isdigit() for text in texts):  # such as 00123, kept as text
        return None
    share = 1 - _MAX_UNREADABLE
    notation = find_notation(texts[:_N_CELLS], decimal, share)
    if notation is None or (notation.is_plain and not any("," in text for text in texts)):
        return None
    numbers = {text: notation.parse(text) for text in texts}
    n_unreadable = int(cells.map({text: numbers[text] is None for text in texts}).sum())
    if n_unreadable > _MAX_UNREADABLE * cells.notna().sum():
        return None
    if n_unreadable == 0:
        return cells.map(numbers).astype("float64"), notation
    plain = {text: text if number is None else f"{number!r}" for text, number in numbers.items()}
    return cells.map(plain), notation


def is_text(cells: pd.Series[Any]) -> bool:
    """Whether a column may hold text."""
    return _holds_text(cells.dtype)


def _holds_text(kind: Any) -> bool:
    """Whether columns of a type may hold text."""
    return kind == object or str(kind).startswith(("str", "large_string"))  # noqa: E721  # pandas' types compare so
