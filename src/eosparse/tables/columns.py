"""Recognise what the columns of a table hold, and which of them can be used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eosparse.core import BoolArray, FloatArray
from eosparse.rows import Kind, check_kinds
from eosparse.rows.number_text import find_notation
from eosparse.tables.dates import COMPACT, find_date_format, parse_dates
from eosparse.tables.reading import TableError

if TYPE_CHECKING:
    import pandas as pd


class Role(StrEnum):
    """What a column holds.

    Examples
    --------
    >>> from eosparse.tables import Role
    >>> Role.NUMBER.is_used, Role.TEXT.is_used
    (True, False)
    """

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
        """Whether columns of this role are used as features."""
        return self in (Role.NUMBER, Role.CATEGORY, Role.DATE)


@dataclass(frozen=True)
class Column:
    """A column and its role.

    Attributes
    ----------
    name : str
        Its name.
    role : Role
        What it holds.
    why : str
        Why it has this role, in words.
    n_missing : int
        Number of cells without a usable value.
    kind : str or None
        For a column that a detector used: the kind of values that it saw, as in `eosparse.rows`.
    kind_why : str
        Why it has this kind, in words.

    Examples
    --------
    >>> from eosparse.tables import Column, Role
    >>> Column("height", Role.NUMBER, "numbers").n_missing
    0
    """

    name: str
    role: Role
    why: str
    n_missing: int = 0
    kind: str | None = None
    kind_why: str = ""


# Text with more distinct values than this is not a useful category.
_MAX_CATEGORIES = 20
# Up to this share of cells ("?", "not done") may be unreadable in a column of numbers or dates.
_MAX_UNREADABLE = 0.1
_ID_NAME = re.compile(r"(?i:(^|[_\W])(id|uuid|guid))$|(?<=[a-z])I[dD]$")
_COUNTER_NAME = re.compile(r"(^|[_\W])(key|index|row|nr|no|number)$|^unnamed: 0$", re.I)
_CODE_NAME = re.compile(r"(^|[_\W])(zip|zip_?code|post(al)?_?code|plz|phone|fax|ssn)$", re.I)
PLAIN_NUMBERS = "numbers"
NO_EFFECT = "numbers differ between them by chance only"
# Different cells that the notation of a column is recognised from.
_N_CELLS = 1000
LARGE_COUNT = 1000
"""Counted numbers from here on number rows; smaller ones may be measured."""
# What `--output` of an earlier run added.
_EARLIER = frozenset(
    f"eos_{name}"
    for name in ("weight", "p_value", "is_outlier", "reason", "p_wrong", "suggested", "score")
)
_CHOSEN_BY_USER = "identifies the rows"
_NAMED_LIKE_ID = "whole numbers, named like an identifier"


def find_identifier(columns: Sequence[Column]) -> str | None:
    """Find the column that identifies the rows: the one you chose, or one with distinct values.

    Examples
    --------
    >>> find_identifier([Column("id", Role.IDENTIFIER, "a different text in each row")])
    'id'
    """
    candidates = [column for column in columns if column.role is Role.IDENTIFIER]
    chosen = [column for column in candidates if column.why == _CHOSEN_BY_USER]
    distinct = [column for column in candidates if column.why != _NAMED_LIKE_ID]
    return next((column.name for column in (*chosen, *distinct, *candidates)), None)


def recognise_columns(
    frame: pd.DataFrame,
    *,
    only: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    identifier: str | None = None,
    target: str | None = None,
) -> list[Column]:
    """Recognise the role of every column of a table.

    Parameters
    ----------
    frame : DataFrame
        The table.
    only : tuple of str
        Columns to use; all others are ignored. Numbers listed here are used even if they look like
        an identifier.
    ignore : tuple of str
        Columns to ignore.
    identifier : str, optional
        The column that identifies the rows.
    target : str, optional
        The column with the labels.

    Returns
    -------
    list of Column
        In the order of the table.

    Raises
    ------
    TableError
        If the table lacks one of the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import recognise_columns
    >>> table = pd.DataFrame({"id": [1, 2, 3], "height": [1.8, 1.7, 1.9]})
    >>> [(column.name, column.role.value) for column in recognise_columns(table)]
    [('id', 'identifier'), ('height', 'number')]
    """
    names = [str(name) for name in frame.columns]
    chosen = [name for name in (identifier, target) if name is not None]
    for name in (*only, *ignore, *chosen):
        if name not in names:
            shown = ", ".join(repr(name) for name in names[:12])
            more = f", … ({len(names)} in total)" if len(names) > 12 else ""
            raise TableError(f"The table has no column {name!r}. It has {shown}{more}.")
    columns = []
    counts = frame.isna().sum().tolist()
    for name, (_, values), n_missing in zip(names, frame.items(), counts, strict=True):
        if name == target:
            column = Column(name, Role.TARGET, "labels")
        elif name == identifier:
            column = Column(name, Role.IDENTIFIER, _CHOSEN_BY_USER)
        elif name in ignore or (only and name not in only):
            column = Column(name, Role.IGNORED, "ignored" if name in ignore else "not selected")
        elif name in _EARLIER and name not in only:
            column = Column(name, Role.IGNORED, "written by an earlier run")
        else:
            column = _recognise_column(values, name, is_selected=name in only)
        columns.append(replace(column, n_missing=column.n_missing + n_missing))
    return columns


def _recognise_column(values: pd.Series[Any], name: str, *, is_selected: bool) -> Column:
    from pandas.api import types

    if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
        return _recognise_dates(values, None, name, is_selected=is_selected)
    if types.is_bool_dtype(values) or types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        role, why = _recognise_numbers(numbers, name, is_selected=is_selected)
        if role is Role.DATE:
            return _recognise_dates(values, COMPACT, name, is_selected=is_selected)
        return Column(name, role, why)
    counts = values.value_counts(sort=False)
    counts = counts[counts > 0]  # a pandas category may have no rows
    text = counts.index.to_series().astype(str).reset_index(drop=True)
    column = _recognise_cells(text, counts.to_numpy(), name, is_selected=is_selected)
    if column.role is Role.DATE:
        return _recognise_dates(values, find_date_format(values), name, is_selected=is_selected)
    return column


def _recognise_dates(
    cells: pd.Series[Any], form: str | None, name: str, *, is_selected: bool
) -> Column:
    """Return a column of dates; those that only go on from row to row identify the rows."""
    dates = parse_dates(cells, form)
    n_unreadable = int((dates.isna() & cells.notna()).sum())
    known, why = dates.dropna(), "dates written as YYYYMMDD" if form == COMPACT else "dates"
    if not len(known):
        return Column(name, Role.EMPTY, "no values", n_unreadable)
    if (known == known.iloc[0]).all():
        return Column(name, Role.CONSTANT, f"always {_quote(known.iloc[0])}", n_unreadable)
    is_index = known.is_unique and (known.is_monotonic_increasing or known.is_monotonic_decreasing)
    if is_index and len(known) > 2 and not is_selected:
        return Column(name, Role.IDENTIFIER, "a later date in each row", n_unreadable)
    if n_unreadable:
        cell = "1 cell is" if n_unreadable == 1 else f"{n_unreadable} cells are"
        why += f"; {cell} none, and missing"
    return Column(name, Role.DATE, why, n_unreadable)


def _recognise_numbers(numbers: FloatArray, name: str, *, is_selected: bool) -> tuple[Role, str]:
    present = numbers[np.isfinite(numbers)]
    if not len(present):
        return Role.EMPTY, "no values"
    if present.min() == present.max():
        return Role.CONSTANT, f"always {_quote(f'{present[0]:.6g}')}"
    if is_selected or (present % 1 != 0).any():
        return Role.NUMBER, PLAIN_NUMBERS
    if _are_compact_dates(present):
        return Role.DATE, "dates written as YYYYMMDD"
    if _CODE_NAME.search(name):
        return Role.TEXT, "a code, not a quantity"
    if _are_row_numbers(present, name):
        return Role.IDENTIFIER, "a different whole number in each row"
    if _ID_NAME.search(name):
        return Role.IDENTIFIER, _NAMED_LIKE_ID
    return Role.NUMBER, PLAIN_NUMBERS


def _are_row_numbers(whole: FloatArray, name: str) -> bool:
    """Whether whole numbers identify rows: all distinct and named so, or counted.

    Rows are counted from 0 or 1, or in numbers as large as those of orders and years. Heights of 58
    to 72 in order are measured.
    """
    is_named_so = _ID_NAME.search(name) or _COUNTER_NAME.search(name)
    is_counted = (np.diff(whole) == 1).all() and (whole[0] in (0, 1) or whole[0] >= LARGE_COUNT)
    if len(whole) < 3 or not (is_named_so or is_counted):
        return False
    return len(np.unique(whole)) == len(whole)


def _are_compact_dates(whole: FloatArray) -> bool:
    """Whether all numbers are dates such as 20240131."""
    year, month, day = whole // 10_000, whole // 100 % 100, whole % 100
    is_year = (year >= 1800) & (year < 2200)
    return bool((is_year & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _recognise_cells(
    text: pd.Series[str], counts: NDArray[Any], name: str, *, is_selected: bool
) -> Column:
    """Recognise a column of text from its distinct values and their counts."""
    if not len(text):
        return Column(name, Role.EMPTY, "no values")
    if len(text) == 1:
        return Column(name, Role.CONSTANT, f"always {_quote(text.iloc[0])}")
    numbers, n_cells = parse_numbers(text).to_numpy(), int(counts.sum())
    is_unreadable = np.isnan(numbers)
    n_unreadable = int(counts[is_unreadable].sum())
    if n_unreadable <= _MAX_UNREADABLE * n_cells:
        role, why = _recognise_numbers(np.repeat(numbers, counts), name, is_selected=is_selected)
        if role is Role.NUMBER:
            why = _describe_unreadable(text, is_unreadable, n_unreadable)
        return Column(name, role, why, n_unreadable)
    return Column(name, *_recognise_text(text, n_cells, is_selected=is_selected))


def _describe_unreadable(text: pd.Series[str], is_unreadable: BoolArray, n_unreadable: int) -> str:
    if not n_unreadable:
        return "numbers stored as text"
    shown = ", ".join(_quote(cell) for cell in text[is_unreadable][:3])
    more = ", …" if is_unreadable.sum() > 3 else ""
    if n_unreadable == 1:
        return f"1 cell is not a number and counts as missing: {shown}"
    return f"{n_unreadable} cells are not numbers and count as missing: {shown}{more}"


def _recognise_text(text: pd.Series[str], n_cells: int, *, is_selected: bool) -> tuple[Role, str]:
    n_distinct = len(text)
    if text.str.fullmatch(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?").all():
        return Role.TEXT, "times of day"
    if _are_dates(text):
        return Role.DATE, "dates"
    # A category holds five rows on average, so that there is something to compare.
    if n_distinct <= min(_MAX_CATEGORIES, max(2, n_cells // 5)) or (
        is_selected and n_distinct <= 2 * _MAX_CATEGORIES
    ):
        return Role.CATEGORY, f"{n_distinct} categories"
    # Identifiers are short, such as names of three words, and hardly repeat.
    is_short = text.str.len().median() <= 40 and text.str.count(r"\S+").median() <= 3
    if is_short and n_distinct > 0.9 * n_cells:
        return Role.IDENTIFIER, "a different text in each row"
    return Role.TEXT, f"free text, {n_distinct} distinct values"


def leave_out(columns: Sequence[Column], why: str, *roles: Role) -> list[Column]:
    """Ignore the columns of some roles, for a reason.

    Examples
    --------
    >>> born = Column("born", Role.DATE, "dates")
    >>> leave_out([born], "dates are not used here", Role.DATE)[0].role.value
    'ignored'
    """
    return [
        replace(column, role=Role.IGNORED, why=why) if column.role in roles else column
        for column in columns
    ]


def apply_kinds(
    frame: pd.DataFrame, columns: Sequence[Column], kinds: Mapping[str, str]
) -> list[Column]:
    """Return columns with the roles that given kinds call for: a kind makes a column used.

    Raises
    ------
    ValueError
        If a column or a kind is unknown, or a column cannot be of its kind.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import recognise_columns
    >>> table = pd.DataFrame({"zip_code": [10115, 10245, 10115], "size": [1.5, 2.5, 2.0]})
    >>> found = apply_kinds(table, recognise_columns(table), {"zip_code": "category"})
    >>> found[0].role.value, found[0].why
    ('number', 'you said so: category')
    """
    chosen = check_kinds(kinds, [column.name for column in columns])
    return [
        _apply_kind(frame[column.name], column, chosen[column.name])
        if column.name in chosen
        else column
        for column in columns
    ]


def _apply_kind(cells: pd.Series[Any], column: Column, kind: Kind) -> Column:
    """Return a column with the role of a kind; numbers stay numbers, whatever they mean."""
    why = f"you said so: {kind}"
    if kind is Kind.IGNORED:
        return replace(column, role=Role.IGNORED, why=why)
    if column.role is Role.NUMBER:
        return replace(column, why=why) if column.why == PLAIN_NUMBERS else column
    if kind is Kind.DATE and column.role is Role.DATE:
        return column
    known = cells.notna()
    is_number = np.isfinite(_read_numbers(cells[known])).mean() >= 1 - _MAX_UNREADABLE
    if is_number and known.any():
        return replace(column, role=Role.NUMBER, why=why)
    if kind in (Kind.CATEGORY, Kind.LEVELS):
        return replace(column, role=Role.CATEGORY, why=why)
    if kind is Kind.DATE and _are_dates(cells[known].astype(str)):
        return replace(column, role=Role.DATE, why=why)
    raise TableError(
        f"Column {column.name!r} cannot be of kind {kind.value!r}: it holds neither numbers nor "
        f"dates ({column.why}). Use --kind {column.name}=category, or convert it."
    )


def _read_numbers(cells: pd.Series[Any]) -> FloatArray:
    from pandas.api.types import is_numeric_dtype

    numbers = cells if is_numeric_dtype(cells) else parse_numbers(cells)
    return np.asarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan))


def parse_numbers(text: pd.Series[str]) -> pd.Series[float]:
    """Parse numbers, however the column writes them; other text becomes NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> parse_numbers(pd.Series(["36,9", "?"])).tolist()
    [36.9, nan]
    >>> parse_numbers(pd.Series(["1,200", "31,000.5"])).tolist()
    [1200.0, 31000.5]
    """
    import pandas as pd

    text = text.astype(object).where(text.notna(), "").astype(str).str.strip()
    numbers = pd.to_numeric(text, errors="coerce").astype("float64")
    rest = text[numbers.isna() & (text != "")].unique()
    notation = find_notation(rest[:_N_CELLS], share=0.0) if len(rest) else None
    if notation is None:
        return numbers
    # Of numbers such as "1.643" the others tell what they mean.
    different = text[text != ""].unique()
    notation = find_notation(different[:_N_CELLS], notation.decimal, share=0.0) or notation
    return text.map({cell: notation.parse(cell) for cell in different}).astype("float64")


def _are_dates(text: pd.Series[str]) -> bool:
    """Whether nearly all cells of a sample look like dates; a lone number does not.

    Nor do two short ones: 1/2 is a fraction, a score or a genotype, and as a date lacks the year.
    """
    import warnings

    import pandas as pd

    sample = text.iloc[:: max(1, len(text) // 200)]
    min_share = 1 - _MAX_UNREADABLE
    if sample.str.contains(r"\d[-/.:]\d", regex=True).mean() < min_share:
        return False
    if sample.str.fullmatch(r"\s*\d{1,2}[-/.]\d{1,2}\s*").mean() > _MAX_UNREADABLE:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns that it guesses the format
        dates = pd.to_datetime(sample, errors="coerce", format="mixed")
    return bool(dates.notna().mean() >= min_share)


def _quote(value: object, max_length: int = 30) -> str:
    text = str(value)
    return repr(text if len(text) <= max_length else text[: max_length - 1] + "…")
