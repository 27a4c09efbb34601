"""Cells, tables and sentences in Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable

import pandas as pd

from eosparse.comparison.tables import format_markdown

# A format such as ".3f", or a function of the value.
Format = str | Callable[[object], str]
_WIDTH = 120


def make_table(frame: pd.DataFrame, formats: dict[str, Format], empty: str = "-") -> str:
    """Return some columns as a Markdown table.

    Parameters
    ----------
    frame : DataFrame
        One line per line of the table.
    formats : dict
        The columns to show, in their order, and how.
    empty : str, default="-"
        Stands for missing values.
    """
    shown = {
        name: [_format_cell(value, how, empty) for value in frame[name]]
        for name, how in formats.items()
    }
    return format_markdown(pd.DataFrame(shown, dtype=object))


def _format_cell(value: object, how: Format, empty: str) -> str:
    if not isinstance(value, str) and pd.isna(value):  # type: ignore[call-overload]
        return empty
    return how(value) if callable(how) else format(value, how)


def format_percent(share: object) -> str:
    """Return a share as a percentage, such as "30 %"."""
    return f"{100 * float(share):g} %"  # type: ignore[arg-type]


def format_range(values: Iterable[float], how: str) -> str:
    """Return "smallest to largest"; one number if both look alike."""
    found = list(values)
    low, high = format(min(found), how), format(max(found), how)
    return low if low == high else f"{low} to {high}"


def get_means(cells: pd.Series) -> pd.Series:
    """Return the numbers before "±"."""
    return cells.str.partition(" ")[0].astype(float)


def list_words(words: Iterable[str]) -> str:
    """Return "a, b and c"."""
    found = list(words)
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def join_parts(*parts: str) -> str:
    """Return paragraphs and tables below each other; paragraphs are wrapped."""
    return "\n\n".join(part if part.startswith("|") else _wrap(part) for part in parts if part)


def _wrap(paragraph: str) -> str:
    return textwrap.fill(paragraph, _WIDTH, break_long_words=False, break_on_hyphens=False)
