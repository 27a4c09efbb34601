"""Recognise what the columns of a table are, and which can be used as numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

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
        Cells without a value.
    """

    name: str
    role: Role
    why: str
    n_missing: int = 0


# More different values than this are not a category that helps.
_MOST_CATEGORIES = 20
_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|row|nr|no|number)$|^unnamed: 0$", re.I)


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
    for name, (_, values) in zip(names, frame.items(), strict=True):
        n_missing = int(values.isna().sum())
        if name == target:
            role, why = Role.TARGET, "the labels"
        elif name == identifier:
            role, why = Role.IDENTIFIER, "names the rows"
        elif name in ignore or (only and name not in only):
            role, why = Role.IGNORED, "left out as asked"
        else:
            role, why = _role(values, name, is_wanted=name in only)
        found.append(Column(name, role, why, n_missing))
    return found


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return shown if len(names) <= 12 else f"{shown}, … ({len(names)} in all)"


def _role(values: pd.Series[Any], name: str, *, is_wanted: bool) -> tuple[Role, str]:
    from pandas.api import types

    present = values.dropna()
    if present.empty:
        return Role.EMPTY, "has no values"
    if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
        return Role.DATE, "holds dates"
    n_distinct = present.nunique()
    if n_distinct == 1:
        return Role.CONSTANT, f"is always {_short(present.iloc[0])}"
    if types.is_bool_dtype(values) or types.is_numeric_dtype(values):
        if not is_wanted and _counts_rows(present, name):
            return Role.IDENTIFIER, "whole numbers, a different one in each row"
        return Role.NUMBER, "holds numbers"
    return _role_of_text(present.astype(str), n_distinct, is_wanted=is_wanted)


def _counts_rows(present: pd.Series[Any], name: str) -> bool:
    """Tell numbers that name rows: whole, all different, and named so or in a row."""
    from pandas.api import types

    if not types.is_integer_dtype(present) or not present.is_unique or len(present) < 3:
        return False
    steps = np.diff(present.to_numpy())
    return bool(_ID_NAME.search(name)) or bool((steps == steps[0]).all())


def _role_of_text(text: pd.Series[str], n_distinct: int, *, is_wanted: bool) -> tuple[Role, str]:
    import pandas as pd

    if pd.to_numeric(text.str.replace("\u2212", "-"), errors="coerce").notna().all():
        return Role.NUMBER, "holds numbers written as text"
    if _are_dates(text):
        return Role.DATE, "holds dates"
    if n_distinct <= min(_MOST_CATEGORIES, max(2, len(text) // 5)) or (
        is_wanted and n_distinct <= 2 * _MOST_CATEGORIES
    ):
        return Role.CATEGORY, f"{n_distinct} categories"
    is_short = text.str.len().median() <= 40 and not text.str.contains(r"\s\S+\s", regex=True).any()
    if is_short and n_distinct > 0.9 * len(text):
        return Role.IDENTIFIER, "a different text in each row"
    return Role.TEXT, f"free text, {n_distinct} different values"


def _are_dates(text: pd.Series[str]) -> bool:
    """Whether all of a sample look like dates; a lone number does not."""
    import warnings

    import pandas as pd

    sample = text.iloc[:: max(1, len(text) // 200)]
    if not sample.str.contains(r"\d[-/.:]\d", regex=True).all():
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the format is guessed
        dates = pd.to_datetime(sample, errors="coerce", format="mixed")
    return bool(dates.notna().all())


def _short(value: object, most: int = 30) -> str:
    text = str(value)
    return repr(text if len(text) <= most else text[: most - 1] + "…")
