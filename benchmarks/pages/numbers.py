"""Finds numbers of a page that no CSV file stands behind.

Measured numbers belong into blocks, which are made from CSV files. A decimal, a percentage or an
angle elsewhere in a section of results must be a setting, which the page lists in comments such as
``<!-- settings: 95 %, .05 -->``. Code and formulas are not looked at.
"""

from __future__ import annotations

import re

from benchmarks.pages.write import BLOCK

_SETTINGS = re.compile(r"<!-- settings: (.*?) -->", re.S)
# What is not prose: blocks, code, comments, the targets of links.
_IGNORED = re.compile(r"```.*?```|`[^`]*`|<!--.*?-->|\]\([^)]*\)", re.S)
_DECIMAL = r"(?<![\w.])\d*\.\d+"
_PLAIN = r"(?<![\w.])(?:\d+\.)?\d+"
_UNIT = r"\s?(?:%|°|degrees(?! of freedom))"
# With a unit; before "to" or "and" and another number with a unit; or a decimal.
_NUMBER = re.compile(
    rf"{_DECIMAL}{_UNIT}|{_PLAIN}{_UNIT}|{_PLAIN}(?=\s?(?:to|and|or|–)\s?[\d.]+{_UNIT})|{_DECIMAL}"
)


def find_loose_numbers(text: str) -> list[str]:
    """Return the numbers of a section that are neither made from a CSV file nor settings.

    Parameters
    ----------
    text : str
        Markdown.

    Examples
    --------
    >>> find_loose_numbers("At most 3 % and 0.5. <!-- settings: 3 % -->")
    ['0.5']
    """
    settings = {_normalise(n) for found in _SETTINGS.findall(text) for n in found.split(",")}
    prose = _IGNORED.sub(" ", BLOCK.sub(" ", text))
    return [n for n in _NUMBER.findall(prose) if _normalise(n) not in settings]


def _normalise(number: str) -> str:
    """Return "0.5" for ".5", and no spaces."""
    text = re.sub(r"\s", "", number)
    return f"0{text}" if text.startswith(".") else text
