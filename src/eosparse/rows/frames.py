"""Data frames with more than numbers: text, booleans, dates. pandas, polars or pyarrow hold them.

Columns become numbers by their type; what kind of column it is, and so how its numbers are used, is
decided later (`rows/kinds.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from eosparse.core import FloatArray
from eosparse.rows.frame_cells import Cells, find_cells, find_missing, read_numbers, read_text
from eosparse.rows.kinds import Kind, check_kinds
from eosparse.rows.levels import UNSEEN

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

    Series = nw.Series[Any]
    Frame = nw.DataFrame[Any]

_FRAMES = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}
# Frames that are queries: they have rows once they are collected.
_QUERIES = {
    ("polars", "LazyFrame"),
    ("duckdb", "DuckDBPyRelation"),
    ("_duckdb", "DuckDBPyRelation"),
}
# Types as pandas, polars and pyarrow write them; looked at before narwhals is needed.
_PLAIN = re.compile(r"(u?int|float)\d+|float|double|half_?float", re.I)
# Text with more levels than this says little about the rows of each.
_MOST_LEVELS = 50
# This many different texts may stand in a small table.
_FEW_LEVELS = 4
# From this share on, levels that are numbers make a column of numbers, its rest typing errors.
_MOST_NUMBERS = 0.9
_KINDS = {Cells.TEXT: Kind.CATEGORY, Cells.TRUTHS: Kind.LEVELS, Cells.TIMES: Kind.DATE}
_TRUTHS = {"true": 1.0, "false": 0.0}
# What text can be told to be; the others need numbers.
_KINDS_OF_TEXT = (Kind.CATEGORY, Kind.LEVELS)


@dataclass(frozen=True)
class FrameReader:
    """How the columns of a data frame become numbers: learned from one, applied to others.

    Numbers stay as they are, true is 1, dates are days since 1970-01-01, durations days, and text
    is the number of its level in sorted order, `UNSEEN` for a level that was not learned. Columns
    to be ignored are zero, and gaps are NaN. A level is the same however it is written: "1", 1 and
    1.0, "True" and "true".

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    kinds : dict of str to Kind
        Kinds that were given, or follow from the type: category for text, levels for booleans and
        date for dates. Other columns are not listed.
    levels : dict of str to tuple of str
        For each column of text, its levels in sorted order.
    cells : dict of str to Cells
        What the cells of each column are; ignored columns are not listed.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.rows import FrameReader
    >>> people = pd.DataFrame({"age": [31, 27], "sex": ["m", "f"], "is_member": [True, False]})
    >>> reader = FrameReader.learn(people)
    >>> reader.read(people).tolist()
    [[31.0, 1.0, 1.0], [27.0, 0.0, 0.0]]
    >>> reader.kinds["sex"].value, reader.levels["sex"]
    ('category', ('f', 'm'))
    """

    names: tuple[str, ...]
    kinds: dict[str, Kind]
    levels: dict[str, tuple[str, ...]]
    cells: dict[str, Cells]

    @classmethod
    def learn(
        cls, frame: Any, kinds: Mapping[str, Kind | str] | None = MappingProxyType({})
    ) -> FrameReader:
        """Learn the types and levels of the columns of a data frame.

        Parameters
        ----------
        frame : pandas or polars DataFrame, or pyarrow Table
            The frame.
        kinds : mapping of str to Kind or str, optional
            Kinds of some columns, such as ``{"id": "ignored"}``.

        Returns
        -------
        FrameReader

        Raises
        ------
        ValueError
            If a column cannot be used; the message names it and what to do.
        """
        table = _open_frame(frame)
        given = check_kinds(kinds or {}, table.columns)
        used = [name for name in table.columns if given.get(name) is not Kind.IGNORED]
        cells = {name: find_cells(table[name]) for name in used}
        levels = {}
        for name in used:
            _check_type(name, cells[name], given.get(name))
            if cells[name] is Cells.TEXT:
                levels[name] = _learn_levels(table.select(used), name, given.get(name))
        by_type = {name: _KINDS[cells[name]] for name in used if cells[name] in _KINDS}
        return cls(tuple(table.columns), by_type | given, levels, cells)

    def read(self, frame: Any) -> FloatArray:
        """Return the rows of a data frame as numbers.

        Parameters
        ----------
        frame : pandas or polars DataFrame, or pyarrow Table
            A frame with the same columns as the one that was learned.

        Returns
        -------
        array of shape (n_rows, n_columns)
            In float64, or float32 if its numbers are.

        Raises
        ------
        ValueError
            If columns or their types differ, or values are infinite.
        """
        table = _open_frame(frame)
        self._check_names(table.columns)
        columns = [self._read_column(table[name], name) for name in self.names]
        has_numbers = Cells.NUMBERS in self.cells.values()
        is_single = has_numbers and all(column.dtype == np.float32 for column in columns)
        return np.column_stack(columns).astype(np.float32 if is_single else np.float64, copy=False)

    def unseen(self, frame: Any) -> dict[str, tuple[str, ...]]:
        """Return, by column, the levels of a data frame that were not learned.

        Examples
        --------
        >>> import pandas as pd
        >>> from eosparse.rows import FrameReader
        >>> reader = FrameReader.learn(pd.DataFrame({"sex": ["m", "f"]}))
        >>> reader.unseen(pd.DataFrame({"sex": ["f", "x"]}))
        {'sex': ('x',)}
        """
        table = _open_frame(frame)
        self._check_names(table.columns)
        found = {
            name: tuple(
                text
                for text, code in sorted(find_codes(_list_texts(table[name]), levels).items())
                if code == UNSEEN
            )
            for name, levels in self.levels.items()
        }
        return {name: levels for name, levels in found.items() if levels}

    def _read_column(self, series: Series, name: str) -> FloatArray:
        """Return a column as numbers; codes take the precision of the other columns."""
        if name not in self.cells:
            return np.zeros(len(series), dtype=np.float32)
        if self.cells[name] is Cells.TEXT:
            codes = find_codes(set(read_text(series)), self.levels[name])
            read = np.array([codes[cell] for cell in read_text(series)], dtype=np.float32)
            return np.where(find_missing(series), np.float32(np.nan), read)
        self._check_same(series, name)
        values = read_numbers(series)
        if np.isinf(values).any():
            raise ValueError(
                f"Input X contains infinity in column {name!r}. Drop or replace these rows."
            )
        return values.astype(np.float32) if self.cells[name] is Cells.TRUTHS else values

    def _check_same(self, series: Series, name: str) -> None:
        """Raise unless a column holds what it held when it was learned; true counts as 1."""
        learned, now = self.cells[name], find_cells(series)
        if (learned is Cells.TIMES) != (now is Cells.TIMES) or now in (Cells.TEXT, Cells.OTHER):
            raise ValueError(
                f"Column {name!r} held {learned} when the model was fitted, and now holds {now}. "
                "Convert it."
            )

    def _check_names(self, names: Sequence[str]) -> None:
        """Raise unless a frame has the columns that were learned; in the words of scikit-learn."""
        if tuple(names) == self.names:
            return
        message = "The feature names should match those that were passed during fit.\n"
        new = sorted(set(names) - set(self.names))
        lost = sorted(set(self.names) - set(names))
        if new:
            message += "Feature names unseen at fit time:\n" + _list_names(new)
        if lost:
            message += "Feature names seen at fit time, yet now missing:\n" + _list_names(lost)
        if not (new or lost):
            message += "Feature names must be in the same order as they were in fit.\n"
        raise ValueError(message)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame in memory; imports nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> is_frame(pd.DataFrame({"age": [31]})), is_frame([[31]])
    (True, False)
    """
    return _is_one_of(X, _FRAMES)


def collect_rows(X: Any) -> Any:
    """Return the rows of a polars LazyFrame or a DuckDB relation; anything else as it is.

    Examples
    --------
    >>> import polars as pl
    >>> collect_rows(pl.LazyFrame({"age": [31]})).shape, collect_rows([[31]])
    ((1, 1), [[31]])
    """
    if not _is_one_of(X, _QUERIES):
        return X
    return _import_narwhals().from_native(X).collect().to_native()


def find_index(X: Any) -> Any:
    """Return the index of a pandas DataFrame; None for anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> find_index(pd.DataFrame({"age": [31]}, index=["Anna"])).tolist(), find_index([[31]])
    (['Anna'], None)
    """
    return X.index if _is_one_of(X, {("pandas", "DataFrame")}) else None


def _is_one_of(X: Any, names: set[tuple[str, str]]) -> bool:
    """Whether X is of a type with one of the names; imports nothing."""
    kinds = type(X).__mro__
    return any((kind.__module__.split(".")[0], kind.__name__) in names for kind in kinds)


def accepts(X: Any) -> bool:
    """Whether X is a data frame with a column that is not plain numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> accepts(pd.DataFrame({"age": [31]})), accepts(pd.DataFrame({"sex": ["f"]}))
    (False, True)
    """
    if not is_frame(X):
        return False
    types = X.schema.types if hasattr(X, "schema") and hasattr(X.schema, "types") else X.dtypes
    # As in "int64[pyarrow]".
    if all(_PLAIN.fullmatch(str(kind).removesuffix("[pyarrow]")) for kind in types):
        return False
    table = _open_frame(X)
    return any(find_cells(table[name]) is not Cells.NUMBERS for name in table.columns)


def find_text_columns(frame: Any) -> list[str]:
    """Return the names of the columns of text.

    Examples
    --------
    >>> import pandas as pd
    >>> find_text_columns(pd.DataFrame({"age": [31], "sex": ["f"]}))
    ['sex']
    """
    table = _open_frame(frame)
    return [name for name in table.columns if find_cells(table[name]) is Cells.TEXT]


def _open_frame(frame: Any) -> Frame:
    """Return a frame behind the interface that all libraries share."""
    nw = _import_narwhals()
    if not is_frame(frame):
        raise TypeError(
            f"X is a {type(frame).__name__}, but the model was fitted to a data frame with more "
            "than numbers: pass a pandas or polars DataFrame, or a pyarrow Table, with its columns."
        )
    if hasattr(frame, "rename") and not all(isinstance(name, str) for name in frame.columns):
        frame = frame.rename(columns=str)  # only pandas allows other names
    opened: Frame = nw.from_native(frame, eager_only=True)
    return opened


def _import_narwhals() -> Any:
    try:
        import narwhals.stable.v2 as nw
    except ImportError as error:
        raise ImportError(
            "narwhals, which reads text, booleans and dates of data frames, is missing: "
            "pip install 'eosparse[frames]'"
        ) from error
    return nw


def _check_type(name: str, cells: Cells, given: Kind | None) -> None:
    if cells is Cells.OTHER:
        raise ValueError(
            f"Column {name!r} holds neither numbers, dates nor text. Drop it, or pass "
            f"kinds={{{name!r}: 'ignored'}}."
        )
    if cells is Cells.TEXT and given is not None and given not in _KINDS_OF_TEXT:
        raise ValueError(
            f"Column {name!r} holds text, which cannot be {given.value!r}. Convert it to numbers "
            f"or dates, or pass kinds={{{name!r}: 'category'}}."
        )


def _learn_levels(table: Frame, name: str, given: Kind | None) -> tuple[str, ...]:
    """Return the levels of a column of text, which must be a category, or given as one.

    A row that stands there several times counts once: copies are no evidence.
    """
    import narwhals.stable.v2 as nw

    series = table[name]
    levels = sorted(_list_texts(series))
    if given is not None:
        return tuple(levels)
    # Who makes a categorical column of numbers means it.
    if series.dtype == nw.String and _are_numbers(levels):
        raise ValueError(
            f"Column {series.name!r} holds numbers as text: convert it, or pass "
            f"kinds={{{series.name!r}: 'category'}} if they are codes."
        )
    n_rows = len(series)
    if len(levels) > _FEW_LEVELS:
        n_rows = len(table.unique())
    if len(levels) > min(_MOST_LEVELS, max(n_rows / 2, _FEW_LEVELS)):
        raise ValueError(
            f"Column {series.name!r} holds {len(levels)} different texts in {n_rows} rows, "
            f"like an identifier or free text. Drop it, or pass kinds={{{series.name!r}: "
            "'ignored'}."
        )
    return tuple(levels)


def _list_texts(series: Series) -> set[str]:
    """Return the different texts of a column, without gaps."""
    pairs = zip(read_text(series), find_missing(series), strict=True)
    return {text for text, is_missing in pairs if not is_missing}


def find_codes(texts: set[str], levels: Sequence[str]) -> dict[str, float]:
    """Return the code of each text: by the text itself, else by the number it stands for."""
    places = {level: float(place) for place, level in enumerate(levels)}
    numbers = [_read_number(level) for level in levels]
    by_number: dict[float | None, float] = {
        number: float(place)
        for place, number in enumerate(numbers)
        if number is not None and numbers.count(number) == 1
    }
    return {
        text: places[text] if text in places else by_number.get(_read_number(text), UNSEEN)
        for text in texts
    }


def _read_number(text: str) -> float | None:
    """Return the number that a text stands for, true being 1; None if it stands for none."""
    truth = _TRUTHS.get(text.strip().casefold())
    if truth is not None:
        return truth
    return float(text) if _is_number(text) else None


def _are_numbers(levels: Sequence[str]) -> bool:
    return sum(_is_number(level) for level in levels) >= _MOST_NUMBERS * len(levels) > 0


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return any(character.isdigit() for character in text)  # "nan" may be a level


def _list_names(names: Sequence[str]) -> str:
    """Return up to five names, a line each."""
    lines = [f"- {name}\n" for name in names[:5]]
    return "".join(lines) + ("- ...\n" if len(names) > 5 else "")
