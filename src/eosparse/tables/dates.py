"""Dates in text and in numbers such as 20240131, all of a column read in one way."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

COMPACT = "%Y%m%d"
"""The format of dates that are written as numbers."""
# pandas' name for formats that differ from cell to cell.
_MIXED = "mixed"
# A format that reads this share of the cells is the format of the column.
_ENOUGH = 0.9


def find_date_format(cells: pd.Series[Any]) -> str | None:
    """Return the format that most dates of a column have; None if they are no text or number.

    Days before months are told apart from months before days by what can be read at all.

    Examples
    --------
    >>> import pandas as pd
    >>> find_date_format(pd.Series(["01.02.2024", "28.02.2024", "13.02.2024"]))
    '%d.%m.%Y'
    """
    from pandas.api import types
    from pandas.tseries.api import guess_datetime_format

    if types.is_datetime64_any_dtype(cells) or types.is_timedelta64_dtype(cells):
        return None
    if types.is_numeric_dtype(cells):
        return COMPACT
    text = cells.dropna().astype(str)
    first = text.iloc[0] if len(text) else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns if the day does not come first after all
        guessed = [guess_datetime_format(first, dayfirst=is_first) for is_first in (False, True)]
    formats = dict.fromkeys(form for form in guessed if form is not None)
    shares = {form: parse_dates(text, form).notna().mean() for form in formats}
    best = max(shares, key=lambda form: shares[form], default=_MIXED)
    return best if shares.get(best, 0.0) >= _ENOUGH else _MIXED


def parse_dates(cells: pd.Series[Any], form: str | None) -> pd.Series[Any]:
    """Return a column as dates without a zone, or as durations; cells that are none are missing.

    Examples
    --------
    >>> import pandas as pd
    >>> parse_dates(pd.Series([20240131, 20240231]), "%Y%m%d").dt.day.tolist()
    [31.0, nan]
    """
    import pandas as pd

    if form is None:
        return cells.dt.tz_convert(None) if getattr(cells.dt, "tz", None) else cells
    if form == COMPACT:
        whole = pd.to_numeric(cells, errors="coerce").astype("float64")
        cells = whole.map(lambda cell: f"{cell:.0f}" if np.isfinite(cell) else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns that it guesses the format
        dates = pd.to_datetime(cells, errors="coerce", format=form, utc=True)
    return dates.dt.tz_convert(None)
