"""The cells of one column of a data frame, and their numbers, whichever library holds them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from enum import StrEnum
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eosparse.core import BoolArray, FloatArray

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    Series = nw.Series[Any]

# Kinds of NumPy arrays whose cells are numbers.
_NUMERIC = "iuf"


class Cells(StrEnum):
    """What the cells of a column are, by their type.

    Examples
    --------
    >>> from eosparse.rows.frame_cells import Cells
    >>> Cells.TEXT.value
    'text'
    """

    NUMBERS = "numbers"
    TRUTHS = "true or false"
    TIMES = "dates or durations"
    TEXT = "text"
    OTHER = "cells of another type"


def find_cells(series: Series) -> Cells:
    """Return what the cells of a column are.

    Examples
    --------
    >>> import narwhals.stable.v2 as nw
    >>> import pandas as pd
    >>> from eosparse.rows.frame_cells import find_cells
    >>> find_cells(nw.from_native(pd.Series([True, None]), series_only=True)).value
    'true or false'
    """
    import narwhals.stable.v2 as nw

    kind = series.dtype
    if kind.is_numeric():
        return Cells.NUMBERS
    if kind == nw.Boolean:
        return Cells.TRUTHS
    if kind in (nw.String, nw.Categorical, nw.Enum):
        return Cells.TEXT
    if kind in (nw.Date, nw.Datetime, nw.Duration):
        return Cells.TIMES
    # Types that narwhals does not know, such as sparse columns, and Python objects.
    return _find_objects(series) if kind in (nw.Object, nw.Unknown) else Cells.OTHER


def _find_objects(series: Series) -> Cells:
    """Look at the cells themselves: at their NumPy type, or at each object."""
    cells = series.to_numpy()
    if cells.dtype.kind in _NUMERIC:
        return Cells.NUMBERS
    if cells.dtype.kind in "mM":
        return Cells.TIMES
    present = cells[~find_missing(series)]
    if cells.dtype.kind != "O":
        return Cells.OTHER
    if not len(present):
        return Cells.NUMBERS
    types = tuple({type(cell) for cell in present})
    for found, parents in _PARENTS.items():
        if all(issubclass(kind, parents) for kind in types):
            return found
    return Cells.OTHER


# In this order: a bool is an int.
_PARENTS: dict[Cells, tuple[type, ...]] = {
    Cells.TRUTHS: (bool, np.bool_),
    Cells.NUMBERS: (Real, Decimal),
    Cells.TIMES: (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64),
    Cells.TEXT: (str,),
}


def find_missing(series: Series) -> BoolArray:
    """Return which cells are missing: NaN, None or NA.

    Examples
    --------
    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> from eosparse.rows.frame_cells import find_missing
    >>> find_missing(nw.from_native(pl.Series([1.0, None, float("nan")]), series_only=True))
    array([False,  True,  True])
    """
    missing: BoolArray = np.array(series.is_null().to_numpy(), dtype=np.bool_)
    if series.dtype.is_float():
        missing |= np.isnan(np.asarray(series.to_numpy(), dtype=np.float64))
    return missing


def read_numbers(series: Series) -> FloatArray:
    """Return a column of numbers; true is 1, and dates and durations are days.

    Examples
    --------
    >>> import datetime
    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> from eosparse.rows.frame_cells import read_numbers
    >>> dates = pl.Series([datetime.datetime(1970, 1, 2, 12)])
    >>> read_numbers(nw.from_native(dates, series_only=True))
    array([1.5])
    """
    cells, missing = series.to_numpy(), find_missing(series)
    if find_cells(series) is Cells.TIMES:
        return _count_days(cells)
    if missing.any() and cells.dtype == object:
        cells = np.where(missing, np.nan, cells)
    return np.asarray(cells, dtype=np.float32 if cells.dtype == np.float32 else np.float64)


def _count_days(cells: NDArray[Any]) -> FloatArray:
    """Return days since 1970-01-01, or the days of a duration."""
    if cells.dtype.kind == "O":
        there = [cell for cell in cells if cell is not None and cell == cell]  # NaT differs
        is_span = all(isinstance(cell, (datetime.timedelta, np.timedelta64)) for cell in there)
        plain = np.array([_drop_zone(cell) if cell == cell else None for cell in cells], object)
        cells = plain.astype("timedelta64[us]" if is_span else "datetime64[us]")
    if cells.dtype.kind == "M":
        cells = cells - np.datetime64(0, np.datetime_data(cells.dtype)[0])  # type: ignore[call-overload]  # units are strings
    return np.asarray(cells / np.timedelta64(1, "D"), dtype=np.float64)


def _drop_zone(cell: Any) -> Any:
    """Return a time in UTC without its zone, which NumPy does not know."""
    if getattr(cell, "tzinfo", None) is None:
        return cell
    return cell.astimezone(datetime.UTC).replace(tzinfo=None)


def read_text(series: Series) -> list[str]:
    """Return the cells of a column as text.

    Examples
    --------
    >>> import narwhals.stable.v2 as nw
    >>> import pandas as pd
    >>> from eosparse.rows.frame_cells import read_text
    >>> read_text(nw.from_native(pd.Series([3, 1], dtype="category"), series_only=True))
    ['3', '1']
    """
    return [str(cell) for cell in series.to_list()]
