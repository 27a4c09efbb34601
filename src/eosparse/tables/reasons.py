"""Why a row is flagged: the columns with the largest shares, and their cells as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eosparse.core import FloatArray

_MAX_REASONS = 3
# A column with a smaller share is not a reason by itself.
_MIN_SHARE = 0.1


@dataclass(frozen=True)
class Reason:
    """A column, its cell as text (None if it is withheld), and its share of what flags the row."""

    column: str
    value: str | None
    share: float


def choose_reasons(shares: FloatArray) -> list[int]:
    """Return the columns with the largest shares; up to three if no share is large.

    Examples
    --------
    >>> choose_reasons(np.array([0.05, 0.75, 0.2]))
    [1, 2]
    """
    order = [int(i) for i in np.argsort(-shares, kind="stable")[:_MAX_REASONS]]
    return [i for i in order if shares[i] >= _MIN_SHARE] or order


def format_reasons(reasons: Sequence[Reason]) -> str:
    """Return reasons in one line.

    Examples
    --------
    >>> format_reasons([Reason("weight", "700", 0.79), Reason("height", "160", 0.21)])
    'weight=700 (79%), height=160 (21%)'
    """
    parts = []
    for reason in reasons:
        digits = 0 if reason.share >= 0.01 else 2
        parts.append(f"{reason.column}={reason.value} ({reason.share:.{digits}%})")
    is_spread = bool(reasons) and reasons[0].share < _MIN_SHARE
    return f"many columns, first {', '.join(parts)}" if is_spread else ", ".join(parts)


def format_cell(value: Any, max_length: int = 200) -> str:
    """Return a cell as text, shortened; numbers with up to six digits.

    Examples
    --------
    >>> format_cell(1 / 3), format_cell("a long text", max_length=7)
    ('0.333333', 'a long…')
    """
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def list_reasons(n_rows: int, flagged: Sequence[Any]) -> Any:
    """Return the reasons of every row of a table as text, empty for rows that are not flagged."""
    texts = np.full(n_rows, "", dtype=object)
    for row in flagged:
        text = format_reasons(row.reasons)
        # A spreadsheet would take text that begins like this for a formula.
        is_formula = text.startswith(("=", "+", "-", "@", "\t", "\r"))
        texts[row.row - 1] = f"'{text}" if is_formula else text
    return texts
