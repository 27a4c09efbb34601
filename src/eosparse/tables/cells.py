"""The cells that a detector is given: numbers, categories as text, dates; nothing missing.

What the columns mean is the detector's business. Here cells are only read, and rows with missing
values are refused, left out or filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.tables.columns import Column, Role, parse_numbers
from eosparse.tables.dates import find_date_format, parse_dates
from eosparse.tables.reading import TableError

if TYPE_CHECKING:
    import pandas as pd

Missing = Literal["keep", "error", "drop", "impute"]
_TRUTHS = {"true": "1", "false": "0"}


class MissingValuesError(TableError):
    """A table with missing values, and no choice of how to handle them.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import MissingValuesError, recognise_columns, take_cells
    >>> table = pd.DataFrame({"height": [1.8, None, 1.9]})
    >>> try:
    ...     take_cells(table, recognise_columns(table))
    ... except MissingValuesError as error:
    ...     print(str(error)[:56])
    Some values are missing: 'height' 1, of 3 rows. Use --mi
    """


@dataclass(frozen=True)
class Encoding:
    """How cells are read: learned from one table, applied to others.

    Attributes
    ----------
    fills : dict
        By column: the value that replaces missing ones; of dates, as text.
    formats : dict
        By column of dates in text or numbers: their format.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import recognise_columns, take_cells
    >>> table = pd.DataFrame({"height": [1.8, 1.7, 1.9]})
    >>> take_cells(table, recognise_columns(table)).encoding
    Encoding(fills={'height': 1.8}, formats={})
    """

    fills: dict[str, Any]
    formats: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cells:
    """The columns of a table that are used, without missing values.

    Attributes
    ----------
    frame : DataFrame
        Numbers in double precision, categories, and dates, in the order of the table.
    is_kept : array of bool of shape (n_rows,)
        Rows of the table that `frame` holds; the others had missing values and were dropped.
    encoding : Encoding
        How the cells were read.
    notes : tuple of str
        What was done about missing values.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import recognise_columns, take_cells
    >>> table = pd.DataFrame({"height": [1.8, None, 1.9]})
    >>> take_cells(table, recognise_columns(table), missing="drop").is_kept.tolist()
    [True, False, True]
    """

    frame: pd.DataFrame
    is_kept: BoolArray
    encoding: Encoding
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(str(name) for name in self.frame.columns)

    def take(self, rows: Any) -> pd.DataFrame:
        """Return some of the rows that were kept, by their numbers.

        Examples
        --------
        >>> import pandas as pd
        >>> from eosparse.tables import recognise_columns, take_cells
        >>> table = pd.DataFrame({"height": [1.8, 1.7, 1.9]})
        >>> take_cells(table, recognise_columns(table)).take([2])["height"].tolist()
        [1.9]
        """
        taken: pd.DataFrame = self.frame.iloc[rows]
        return taken


def take_cells(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    *,
    missing: Missing = "error",
    encoding: Encoding | None = None,
) -> Cells:
    """Take the cells of the columns that are used, as numbers, categories and dates.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : sequence of Column
        The roles of its columns.
    missing : {"error", "drop", "impute"}, default="error"
        What to do with rows that have missing values.
    encoding : Encoding, optional
        How the cells of the table that a model was fitted to were read. By default it is learned
        from this table.

    Returns
    -------
    Cells

    Raises
    ------
    MissingValuesError
        If values are missing and `missing` is "error".
    TableError
        If no column can be used.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import recognise_columns, take_cells
    >>> table = pd.DataFrame({"x": [1.5, 2.0, 3.0], "c": ["b", "a", "b"]})
    >>> take_cells(table, recognise_columns(table)).frame.dtypes.astype(str).tolist()
    ['float64', 'category']
    """
    check_any_numbers(columns, Role.NUMBER, Role.DATE)
    formats = _choose_formats(frame, columns, encoding)
    cells = _read_cells(frame, columns, formats)
    unread: tuple[str, ...] = ()
    if encoding is not None:
        unread = _find_unreadable(frame, cells, columns)
    known = {name: form for name, form in formats.items() if form is not None}
    encoding = encoding or Encoding(compute_fills(cells), known)
    cells, is_kept, notes = handle_missing(cells, missing, encoding.fills)
    return Cells(cells, is_kept, encoding, (*unread, *notes))


def note_unreadable(
    frame: pd.DataFrame, columns: Sequence[Column], encoding: Encoding
) -> tuple[str, ...]:
    """Note cells of new rows that are none of what their columns held when a model was fitted."""
    cells = _read_cells(frame, columns, _choose_formats(frame, columns, encoding))
    return _find_unreadable(frame, cells, columns)


def _choose_formats(
    frame: pd.DataFrame, columns: Sequence[Column], encoding: Encoding | None
) -> dict[str, str | None]:
    """Return the format of each column of dates."""
    dates = [column.name for column in columns if column.role is Role.DATE]
    learned = {} if encoding is None else encoding.formats
    return {name: _choose_format(frame[name], learned.get(name)) for name in dates}


def _choose_format(cells: pd.Series[Any], learned: str | None) -> str | None:
    """Return the format of dates: the learned one, unless another reads more of the cells."""
    own = find_date_format(cells)
    if learned is None or own is None or own == learned:
        return own
    as_learned, as_found = (parse_dates(cells, form).notna().sum() for form in (learned, own))
    return own if as_found > as_learned else learned


def _find_unreadable(
    frame: pd.DataFrame, cells: pd.DataFrame, columns: Sequence[Column]
) -> tuple[str, ...]:
    """Note cells that are none of what their columns held when the model was fitted.

    Raises
    ------
    TableError
        If none of the cells of a column is.
    """
    notes = []
    for column in columns:
        if column.role not in (Role.NUMBER, Role.DATE):
            continue
        given = frame[column.name].reset_index(drop=True)
        lost = given[cells[column.name].isna().to_numpy() & given.notna().to_numpy()]
        if lost.empty:
            continue
        held = "number" if column.role is Role.NUMBER else "date"
        shown = ", ".join(list(dict.fromkeys(repr(f"{cell!s:.30}") for cell in lost[:100]))[:3])
        if len(lost) == given.notna().sum() > 1:
            raise TableError(
                f"Column {column.name!r} held {held}s when the model was fitted, and now holds "
                f"none: {shown}. Convert it."
            )
        said = f"cells of column {column.name!r} are not {held}s and count"
        if len(lost) == 1:
            said = f"cell of column {column.name!r} is not a {held} and counts"
        notes.append(f"{len(lost)} {said} as missing: {shown}.")
    return tuple(notes)


def check_any_numbers(columns: Sequence[Column], *roles: Role) -> None:
    """Raise unless a column has one of the roles."""
    if any(column.role in roles for column in columns):
        return
    found = ", ".join(f"{column.name!r} ({column.role})" for column in columns[:8])
    raise TableError(f"No column holds numbers: {found}. Select columns with --columns.")


def _read_cells(
    frame: pd.DataFrame, columns: Sequence[Column], formats: dict[str, str | None]
) -> pd.DataFrame:
    import pandas as pd

    names = [column.name for column in columns if column.role is Role.NUMBER]
    numbers = pd.DataFrame(extract_numbers(frame, names), columns=names)
    others = {name: parse_dates(frame[name], form) for name, form in formats.items()}
    for column in columns:
        if column.role is Role.CATEGORY:
            others[column.name] = read_category(frame[column.name])
    if not others:
        return numbers
    parts = pd.DataFrame({name: cells.to_numpy() if cells.dtype != "category" else cells.array
                          for name, cells in others.items()})  # fmt: skip
    order = [column.name for column in columns if column.role.is_used]
    return pd.concat([numbers, parts], axis=1)[order]


def extract_numbers(frame: pd.DataFrame, names: Sequence[str]) -> FloatArray:
    """Return columns as numbers; cells that are not finite numbers become NaN."""
    from pandas.api.types import is_numeric_dtype

    cells = frame[list(names)]
    text = [name for name, dtype in cells.dtypes.items() if not is_numeric_dtype(dtype)]
    cells = cells.assign(**{str(name): parse_numbers(_count_truths(cells[name])) for name in text})
    values = np.array(cells.to_numpy(dtype=np.float64, na_value=np.nan))
    values[np.isinf(values)] = np.nan
    return values


def _count_truths(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Return cells with 1 and 0 for true and false: what they are in a column without gaps."""
    text = cells.astype(object).where(cells.notna(), None)
    return text.map(lambda c: _TRUTHS.get(str(c).strip().casefold(), c), na_action="ignore")


def read_category(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of categories, which are text."""
    text = cells.astype(object).where(cells.notna(), None)
    return text.map(str, na_action="ignore").astype("category")


def compute_fills(cells: pd.DataFrame) -> dict[str, Any]:
    """Return the median of numbers and dates, and the most frequent category."""
    fills: dict[str, Any] = {}
    for name, column in cells.items():
        if column.dtype == "category":
            fills[str(name)] = (
                column.value_counts(sort=False).idxmax() if column.notna().any() else ""
            )
        else:
            middle = column.median()
            fills[str(name)] = float(middle) if column.dtype.kind == "f" else str(middle)
    return fills


def handle_missing(
    cells: pd.DataFrame, missing: Missing, fills: dict[str, Any]
) -> tuple[pd.DataFrame, BoolArray, tuple[str, ...]]:
    """Drop, fill or refuse missing values; also return which rows are kept, and a note."""
    n_rows, is_missing = len(cells), cells.isna().to_numpy()
    everything: BoolArray = np.ones(n_rows, dtype=np.bool_)
    found = zip(cells.columns, is_missing.sum(axis=0).tolist(), strict=True)
    counts = {str(name): count for name, count in found if count}
    if not counts:
        return cells, everything, ()
    is_kept = everything & ~is_missing.any(axis=1) if missing == "drop" else everything
    notes = note_missing(counts, n_rows, int(np.count_nonzero(~is_kept)), missing)
    if missing == "impute":
        filled = cells.assign(**{name: _fill(cells[name], fills[name]) for name in counts})
        return filled, everything, notes
    if missing == "drop":
        return cells[is_kept].reset_index(drop=True), is_kept, notes
    return cells, everything, notes


def note_missing(
    counts: dict[str, int], n_rows: int, n_dropped: int, missing: Missing
) -> tuple[str, ...]:
    """Say what is done about missing values, by their number in each column that has any.

    Raises
    ------
    MissingValuesError
        If `missing` is "error", or no row would be left.

    Examples
    --------
    >>> note_missing({"height": 1}, 3, 1, "drop")
    ("1 of 3 rows has missing values and was left out: 'height' 1.",)
    """
    if not counts:
        return ()
    if missing == "keep":
        return (f"Rows with missing values are judged by the others: {_format_counts(counts)}.",)
    if missing == "error":
        raise MissingValuesError(
            f"Some values are missing: {_format_counts(counts)}, of {n_rows} rows. Use --missing "
            "drop to leave these rows out. detect and score judge them by the other values "
            "(--missing keep), labels fills in the column's median (--missing impute)."
        )
    if missing == "impute":
        filling = "the median or the most frequent category"
        return (f"Missing values were filled with {filling}: {_format_counts(counts)}.",)
    if n_dropped == n_rows:
        raise MissingValuesError(
            f"Every row has a missing value: {_format_counts(counts)}. Choose another --missing, "
            "or leave these columns out with --ignore."
        )
    have, were = ("has", "was") if n_dropped == 1 else ("have", "were")
    return (
        f"{n_dropped} of {n_rows} rows {have} missing values and {were} left out: "
        f"{_format_counts(counts)}.",
    )


def _fill(cells: pd.Series[Any], fill: Any) -> pd.Series[Any]:
    import pandas as pd

    if cells.dtype == "category":
        if fill not in cells.cat.categories:
            cells = cells.cat.add_categories([fill])
        return cells.fillna(fill)
    if cells.dtype.kind == "f":
        return cells.fillna(fill)
    return cells.fillna(pd.Timedelta(fill) if cells.dtype.kind == "m" else pd.Timestamp(fill))


def _format_counts(counts: dict[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name!r} {count}" for name, count in shown[:8])
    return text if len(shown) <= 8 else f"{text}, and {len(shown) - 8} more columns"
