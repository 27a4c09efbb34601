"""Recognise what the columns of a table are, and which can be used as numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eosparse.core import BoolArray, FloatArray
from eosparse.tables.reading import TableError

if TYPE_CHECKING:
    import pandas as pd


class Role(StrEnum):
    """What a column is."""

    NUMBER = "number"
    CATEGORY = "category"
    IDENTIFIER = "identifier"
    DATE = "date"
    TEXT = "text"
    CONSTANT = "constant"
    EMPTY = "empty"
    IGNORED = "ignored"
    TARGET = "target"

    @property
    def is_used(self) -> bool:
        """Whether such columns become numbers."""
        return self in (Role.NUMBER, Role.CATEGORY)


@dataclass(frozen=True)
class Column:
    """A column, what it was taken for, and why.

    Attributes
    ----------
    name : str
        Its name.
    role : Role
        What it is.
    why : str
        In words for a person.
    n_missing : int
        Cells without a value that can be used.
    """

    name: str
    role: Role
    why: str
    n_missing: int = 0


# More different values than this are not a category that helps.
_MOST_CATEGORIES = 20
# A column of numbers may hold so many cells that are none ("?", "not done"): these are gaps.
_MOST_UNREADABLE = 0.1
_ID_NAME = re.compile(r"(?i:(^|[_\W])(id|uuid|guid))$|(?<=[a-z])I[dD]$")
_COUNTER_NAME = re.compile(r"(^|[_\W])(key|index|row|nr|no|number)$|^unnamed: 0$", re.I)
_CODE_NAME = re.compile(r"(^|[_\W])(zip|zip_?code|post(al)?_?code|plz|phone|fax|ssn)$", re.I)
HOLDS_NUMBERS = "holds numbers"
_ASKED_FOR, _NAMED_SO = "names the rows", "whole numbers, named as an identifier"


def name_of_rows(columns: list[Column]) -> str | None:
    """Return the column that names the rows: the one asked for, or else one that tells them apart.

    Examples
    --------
    >>> name_of_rows([Column("height", Role.NUMBER, "holds numbers")])
    """
    named = [column for column in columns if column.role is Role.IDENTIFIER]
    asked = [column for column in named if column.why == _ASKED_FOR]
    distinct = [column for column in named if column.why != _NAMED_SO]
    return next((column.name for column in (*asked, *distinct, *named)), None)


def recognised(
    frame: pd.DataFrame,
    *,
    only: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    identifier: str | None = None,
    target: str | None = None,
) -> list[Column]:
    """Tell the role of every column of a table.

    Parameters
    ----------
    frame : DataFrame
        The table.
    only : tuple of str
        Columns to use; others are ignored. A column named here is used even if it looks like an
        identifier.
    ignore : tuple of str
        Columns to leave out.
    identifier : str, optional
        The column that names the rows.
    target : str, optional
        The column with labels.

    Returns
    -------
    list of Column
        In the table's order.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"id": [1, 2, 3], "height": [1.8, 1.7, 1.9]})
    >>> [(column.name, column.role.value) for column in recognised(table)]
    [('id', 'identifier'), ('height', 'number')]
    """
    names = [str(name) for name in frame.columns]
    asked = [name for name in (identifier, target) if name is not None]
    for name in (*only, *ignore, *asked):
        if name not in names:
            raise TableError(f"there is no column {name!r}; the table has {_listed(names)}.")
    found = []
    counts = frame.isna().sum().tolist()
    for name, (_, values), n_missing in zip(names, frame.items(), counts, strict=True):
        if name == target:
            column = Column(name, Role.TARGET, "the labels")
        elif name == identifier:
            column = Column(name, Role.IDENTIFIER, _ASKED_FOR)
        elif name in ignore or (only and name not in only):
            column = Column(name, Role.IGNORED, "left out as asked")
        else:
            column = _recognised(values, name, is_wanted=name in only)
        found.append(replace(column, n_missing=column.n_missing + n_missing))
    return found


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown if len(names) <= 12 else f"{shown}, … ({len(names)} in all)"


def _recognised(values: pd.Series[Any], name: str, *, is_wanted: bool) -> Column:
    from pandas.api import types

    if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
        return Column(name, Role.DATE, "holds dates")
    if types.is_bool_dtype(values) or types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return Column(name, *_role_of_numbers(numbers, name, is_wanted=is_wanted))
    counts = values.value_counts(sort=False)
    counts = counts[counts > 0]  # a category may have no rows
    text = counts.index.to_series().astype(str).reset_index(drop=True)
    return _recognised_text(text, counts.to_numpy(), name, is_wanted=is_wanted)


def _role_of_numbers(numbers: FloatArray, name: str, *, is_wanted: bool) -> tuple[Role, str]:
    present = numbers[np.isfinite(numbers)]
    if not len(present):
        return Role.EMPTY, "has no values"
    if present.min() == present.max():
        return Role.CONSTANT, f"is always {_short(f'{present[0]:.6g}')}"
    if is_wanted or (present % 1 != 0).any():
        return Role.NUMBER, HOLDS_NUMBERS
    if _are_compact_dates(present):
        return Role.DATE, "holds dates, written YYYYMMDD"
    if _CODE_NAME.search(name):
        return Role.TEXT, "a code, not a quantity"
    if _counts_rows(present, name):
        return Role.IDENTIFIER, "whole numbers, a different one in each row"
    return (Role.IDENTIFIER, _NAMED_SO) if _ID_NAME.search(name) else (Role.NUMBER, HOLDS_NUMBERS)


def _counts_rows(whole: FloatArray, name: str) -> bool:
    """Tell whole numbers that name rows: all different, and named so or in a row."""
    steps = np.diff(whole)
    is_named_so = _ID_NAME.search(name) or _COUNTER_NAME.search(name)
    if len(whole) < 3 or not (is_named_so or (steps == steps[0]).all()):
        return False
    return len(np.unique(whole)) == len(whole)


def _are_compact_dates(whole: FloatArray) -> bool:
    """Whether all numbers are dates such as 20240131."""
    year, month, day = whole // 10_000, whole // 100 % 100, whole % 100
    is_year = (year >= 1800) & (year < 2200)
    return bool((is_year & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _recognised_text(
    text: pd.Series[str], counts: NDArray[Any], name: str, *, is_wanted: bool
) -> Column:
    """Tell what different texts are, and how often there is each."""
    if not len(text):
        return Column(name, Role.EMPTY, "has no values")
    if len(text) == 1:
        return Column(name, Role.CONSTANT, f"is always {_short(text.iloc[0])}")
    numbers, n_cells = numbers_in(text).to_numpy(), int(counts.sum())
    is_unread = np.isnan(numbers)
    n_unread = int(counts[is_unread].sum())
    if n_unread <= _MOST_UNREADABLE * n_cells:
        role, why = _role_of_numbers(np.repeat(numbers, counts), name, is_wanted=is_wanted)
        if role is Role.NUMBER:
            why = _written_as(text, is_unread, n_unread)
        return Column(name, role, why, n_unread)
    return Column(name, *_role_of_text(text, n_cells, is_wanted=is_wanted))


def _written_as(text: pd.Series[str], is_unread: BoolArray, n_unread: int) -> str:
    """Say how numbers are written, and which cells are none."""
    if not n_unread:
        return "numbers written as text"
    shown = ", ".join(_short(cell) for cell in text[is_unread][:3])
    more = ", …" if is_unread.sum() > 3 else ""
    return f"{n_unread} cells are no number and count as gaps: {shown}{more}"


def _role_of_text(text: pd.Series[str], n_cells: int, *, is_wanted: bool) -> tuple[Role, str]:
    n_distinct = len(text)
    if _are_dates(text):
        return Role.DATE, "holds dates"
    if n_distinct <= min(_MOST_CATEGORIES, max(2, n_cells // 5)) or (
        is_wanted and n_distinct <= 2 * _MOST_CATEGORIES
    ):
        return Role.CATEGORY, f"{n_distinct} categories"
    is_short = text.str.len().median() <= 40 and not text.str.contains(r"\s\S+\s", regex=True).any()
    if is_short and n_distinct > 0.9 * n_cells:
        return Role.IDENTIFIER, "a different text in each row"
    return Role.TEXT, f"free text, {n_distinct} different values"


def numbers_in(text: pd.Series[str]) -> pd.Series[float]:
    """Read numbers; what is none becomes a gap. A comma is a decimal mark, or between thousands.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers_in(pd.Series(["36,9", "?"])).tolist()
    [36.9, nan]
    >>> numbers_in(pd.Series(["1,200", "31,000.5"])).tolist()
    [1200.0, 31000.5]
    """
    import pandas as pd

    text = text.astype(object).where(text.notna(), "").astype(str).str.strip()
    text = text.str.replace("\u2212", "-", regex=False)
    numbers = pd.to_numeric(text, errors="coerce").astype("float64")
    with_comma = text[numbers.isna() & text.str.contains(",", regex=False)]
    if with_comma.empty:
        return numbers
    if with_comma.str.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?").all():
        plain = with_comma.str.replace(",", "", regex=False)
    else:
        plain = with_comma.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    numbers[with_comma.index] = pd.to_numeric(plain, errors="coerce")
    return numbers


def _are_dates(text: pd.Series[str]) -> bool:
    """Whether nearly all of a sample look like dates; a lone number does not."""
    import warnings

    import pandas as pd

    sample = text.iloc[:: max(1, len(text) // 200)]
    most = 1 - _MOST_UNREADABLE
    if sample.str.contains(r"\d[-/.:]\d", regex=True).mean() < most:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the format is guessed
        dates = pd.to_datetime(sample, errors="coerce", format="mixed")
    return bool(dates.notna().mean() >= most)


def _short(value: object, most: int = 30) -> str:
    text = str(value)
    return repr(text if len(text) <= most else text[: most - 1] + "…")
