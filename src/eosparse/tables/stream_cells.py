"""The cells of a table on disk as the numbers that a detector fits, batch by batch.

Each batch is read as the same rows in memory would be: numbers, categories as the number of their
level, dates in days. Plain numbers and categories are read by pyarrow; what is written in other
ways, such as dates and numbers with units, takes the way of a table in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.fitting.table_input import warn_of_empty
from eosparse.rows import FileRows, FrameReader, Kind
from eosparse.rows.frame_cells import Cells as CellType
from eosparse.rows.frames import find_codes
from eosparse.rows.levels import UNSEEN
from eosparse.tables.cells import Encoding, Missing, check_any_numbers, note_missing, take_cells
from eosparse.tables.columns import LARGE_COUNT, PLAIN_NUMBERS, Column, Role
from eosparse.tables.reading import TableError
from eosparse.tables.survey import Survey, as_text, read_plain_numbers, trim_and_mark
from eosparse.tables.written_numbers import is_text

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow import Array, RecordBatch

    from eosparse.rows.number_text import Notation

LeavesOut = Literal["nothing", "empty", "gaps"]
TRUTHS = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
"""Text that pandas takes for true and false."""
# As in memory: text with more distinct values is no category, twice as many if you selected it.
_MAX_CATEGORIES = 20
_TYPES = {Role.NUMBER: CellType.NUMBERS, Role.CATEGORY: CellType.TEXT, Role.DATE: CellType.TIMES}


def correct_roles(columns: Sequence[Column], survey: Survey, *, is_selected: bool) -> list[Column]:
    """Return columns with roles that hold for all rows, where the sample shows too little."""
    if survey.is_whole:
        return list(columns)
    return [_correct_role(column, survey, is_selected=is_selected) for column in columns]


def _correct_role(column: Column, survey: Survey, *, is_selected: bool) -> Column:
    facts = survey.facts[column.name]
    column = replace(column, n_missing=max(column.n_missing, facts.n_missing))
    is_number_of_row = facts.is_counted and (facts.low in (0, 1) or facts.low >= LARGE_COUNT)
    if column.role is Role.NUMBER and column.why == PLAIN_NUMBERS and not is_selected:
        if facts.is_number and is_number_of_row:
            return replace(column, role=Role.IDENTIFIER, why="a different whole number in each row")
        return column
    n_texts = np.inf if facts.texts is None else len(facts.texts)
    is_told = column.why.startswith("you said so")
    if column.role in (Role.CONSTANT, Role.EMPTY):
        if facts.is_number and facts.low < facts.high:
            return replace(column, role=Role.NUMBER, why=PLAIN_NUMBERS)
        if not facts.is_number and 2 <= n_texts <= _MAX_CATEGORIES:
            return replace(column, role=Role.CATEGORY, why=f"{n_texts} categories")
    if column.role is Role.CATEGORY and not is_told:
        if n_texts > _MAX_CATEGORIES * (1 + is_selected):
            return replace(column, role=Role.TEXT, why="free text: many distinct values")
        return replace(column, why=f"{n_texts} categories")
    return column


@dataclass(frozen=True)
class StreamedCells:
    """How the columns of a table on disk become numbers; a `Decoder` of `FileRows`.

    Attributes
    ----------
    columns : tuple of Column
        The columns that are used.
    encoding : Encoding
        How cells are read.
    levels : dict of str to tuple of str
        For each category, its levels in sorted order.
    notations : mapping of str to Notation
        How numbers are written that pyarrow does not read.
    truths : frozenset of str
        Columns of a text file that hold true and false.
    decimal : str
        The decimal mark of a text file.
    is_text : bool
        Whether the files are text.
    leaves_out : {"nothing", "empty", "gaps"}
        Rows that do not count: none, those without any value, or those with a missing one.
    has_gaps : bool
        Whether values are missing.
    n_present : int
        Number of rows that count.
    """

    columns: tuple[Column, ...]
    encoding: Encoding
    levels: dict[str, tuple[str, ...]]
    notations: Mapping[str, Notation]
    truths: frozenset[str] = frozenset()
    decimal: str = "."
    is_text: bool = False
    leaves_out: LeavesOut = "nothing"
    has_gaps: bool = True
    n_present: int = 0

    @classmethod
    def learn(
        cls,
        survey: Survey,
        columns: Sequence[Column],
        encoding: Encoding | None = None,
        levels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> StreamedCells:
        """Learn from a first pass how the columns that are used are read.

        Dates and levels are read as in the table that a model was fitted to, if they are given.
        """
        used = tuple(column for column in columns if column.role.is_used)
        check_any_numbers(columns, Role.NUMBER, Role.DATE)
        dialect = survey.table.dialect
        encoding = encoding or take_cells(survey.sample, used, missing="keep").encoding
        if levels is None:
            text = (column.name for column in used if column.role is Role.CATEGORY)
            levels = {name: _list_levels(survey, name) for name in text}
        truths = frozenset(
            c.name for c in used if dialect is not None and survey.sample[c.name].dtype == bool
        )
        for name in truths:
            if not (survey.facts[name].texts or set()) <= set(TRUTHS):
                raise TableError(
                    f"Column {name!r} holds true, false and other text. Leave it out with "
                    f"--ignore, or use --kind {name}=category."
                )
        decimal = "." if dialect is None else dialect.decimal
        is_text = dialect is not None
        return cls(used, encoding, dict(levels), survey.notations, truths, decimal, is_text)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def make_reader(self, given: dict[str, Any]) -> FrameReader | None:
        """Return how a frame of such cells is read; None if all of them are numbers."""
        if all(column.role is Role.NUMBER for column in self.columns):
            return None
        types = {column.name: _TYPES[column.role] for column in self.columns}
        return FrameReader(self.names, self.list_kinds(given), self.levels, types)

    def list_kinds(self, given: dict[str, Any]) -> dict[str, Kind]:
        """Return the kinds of categories and dates, and those that were given."""
        own = {Role.CATEGORY: Kind.CATEGORY, Role.DATE: Kind.DATE}
        typed = {c.name: own[c.role] for c in self.columns if c.role in own}
        told = {name: Kind(kind) for name, kind in given.items() if name in self.names}
        return typed | told

    def decode(self, records: RecordBatch) -> FloatArray:
        """Return the rows of a batch that count, NaN where values are missing."""
        values = self.decode_all(records)
        is_kept = self.find_kept(values)
        return values if is_kept.all() else values[is_kept]

    def find_kept(self, values: FloatArray) -> BoolArray:
        """Return which rows count."""
        if self.leaves_out == "nothing":
            return np.ones(len(values), dtype=np.bool_)
        is_missing = np.isnan(values)
        out = is_missing.any(axis=1) if self.leaves_out == "gaps" else is_missing.all(axis=1)
        return np.asarray(~out)

    def decode_all(self, records: RecordBatch) -> FloatArray:
        """Return all rows of a batch, NaN where values are missing."""
        values = np.empty((len(records), len(self.columns)), order="F")
        others = []
        for i, column in enumerate(self.columns):
            read = self._read_column(records.column(column.name), column)
            if read is None:
                others.append(i)
            else:
                values[:, i] = read
        if others:
            values[:, others] = self._read_others(records, [self.columns[i] for i in others])
        return values

    def _read_column(self, cells: Array, column: Column) -> FloatArray | None:
        """Return plain numbers and categories; None for what pyarrow cannot read."""
        if self.is_text and (text := as_text(cells)) is not None:
            if column.role is Role.NUMBER and column.name not in self.notations:
                plain = read_plain_numbers(text, self.decimal)  # nothing is missing, as a rule
                cells = trim_and_mark(text) if plain is None else plain
            else:
                cells = trim_and_mark(text)
        if column.role is Role.CATEGORY:
            return self._read_levels(cells, column.name)
        if column.role is not Role.NUMBER or column.name in self.truths:
            return None
        if column.name in self.notations and as_text(cells) is not None:
            return None
        numbers = read_plain_numbers(cells, self.decimal)
        if numbers is None or (not self.is_text and as_text(cells) is not None):
            return None
        found: FloatArray = np.array(numbers.to_numpy(zero_copy_only=False))
        found[np.isinf(found)] = np.nan
        return found

    def _read_levels(self, cells: Array, name: str) -> FloatArray:
        """Return the number of each cell's level; NaN where it is missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        text = as_text(cells)
        if text is None:
            text = pa.array(cells.to_pandas().map(str, na_action="ignore"), pa.string())
        found = text.dictionary_encode()
        texts = found.dictionary.to_pylist()
        by_text = find_codes(set(texts), self.levels[name])
        codes = np.array([*(by_text[text] for text in texts), np.nan])  # the last one for gaps
        places = pc.fill_null(found.indices, len(texts)).to_numpy(zero_copy_only=False)
        return np.asarray(codes[places])

    def list_unseen(self, records: RecordBatch, values: FloatArray) -> dict[str, set[str]]:
        """Return, by column, the texts of a batch that are none of the levels."""
        found = {}
        for i, name in enumerate(self.names):
            rows = np.flatnonzero(values[:, i] == UNSEEN)
            if name in self.levels and len(rows):
                frame = self.read_frame(records.take(rows), [name])
                found[name] = {str(cell) for cell in frame[name].unique()}
        return found

    def _read_others(self, records: RecordBatch, columns: list[Column]) -> FloatArray:
        """Return dates, and numbers that are written in another way, as a table in memory does."""
        frame = self.read_frame(records, [column.name for column in columns])
        truths = [column.name for column in columns if column.name in self.truths]
        frame = frame.assign(**{name: frame[name].map(TRUTHS) for name in truths})
        frame = self.parse_written(frame)
        cells = take_cells(frame, columns, missing="keep", encoding=self.encoding).frame
        types = {column.name: _TYPES[column.role] for column in columns}
        return FrameReader(tuple(types), {}, {}, types).read(cells)

    def parse_written(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a frame in which numbers with units, or other marks than Python's, are numbers."""
        written = [name for name in frame.columns if name in self.notations]
        return frame.assign(
            **{name: _parse_cells(frame[name], self.notations[name]) for name in written}
        )

    def read_frame(self, records: RecordBatch, names: Sequence[str]) -> pd.DataFrame:
        """Return some columns of a batch as a data frame."""
        import pyarrow as pa

        cells = [records.column(name) for name in names]
        if self.is_text:
            cells = [c if (text := as_text(c)) is None else trim_and_mark(text) for c in cells]
        frame: pd.DataFrame = pa.table(cells, names=list(names)).to_pandas()
        return frame


def _parse_cells(cells: pd.Series[Any], notation: Notation) -> pd.Series[Any]:
    """Return text as numbers; NaN where it is none."""
    if not is_text(cells):
        return cells
    return cells.map(notation.parse, na_action="ignore").astype("float64")


def _list_levels(survey: Survey, name: str) -> tuple[str, ...]:
    """Return the categories of a column in all rows."""
    facts = survey.facts[name]
    if facts.texts is None:
        raise TableError(
            f"Column {name!r} has more than a thousand categories, which are too many to compare "
            f"rows within. Leave it out with --ignore, or use --kind {name}=ignored."
        )
    if facts.is_number or not facts.texts:  # of another type than text
        return tuple(sorted(survey.sample[name].dropna().map(str).unique()))
    return tuple(sorted(facts.texts))


@dataclass(frozen=True)
class Census:
    """Gaps of a table: their number in each column, and rows with any or nothing but them."""

    counts: dict[str, int] = field(default_factory=dict)
    n_with_gaps: int = 0
    n_empty: int = 0


def count_gaps(rows: FileRows, cells: StreamedCells, survey: Survey) -> Census:
    """Count gaps in a pass over the rows, unless the first pass has shown that there are none."""
    facts = [survey.facts[column.name] for column in cells.columns]
    are_known = all(
        column.role is Role.CATEGORY or fact.is_number
        for column, fact in zip(cells.columns, facts, strict=True)
        if column.role is not Role.DATE
    ) and not any(column.role is Role.DATE for column in cells.columns)
    if are_known and not any(fact.n_missing for fact in facts):
        return Census()

    def count(values: FloatArray, prior: FloatArray | None) -> FloatArray:  # noqa: ARG001  # a kernel
        gaps = np.isnan(values)
        return np.array([*gaps.sum(axis=0), gaps.any(axis=1).sum(), gaps.all(axis=1).sum()])

    *counts, n_with_gaps, n_empty = rows.fold(count).astype(int).tolist()
    found = {name: n for name, n in zip(cells.names, counts, strict=True) if n}
    return Census(found, n_with_gaps, n_empty)


def settle_gaps(
    cells: StreamedCells, census: Census, n_rows: int, missing: Missing
) -> tuple[StreamedCells, tuple[str, ...]]:
    """Return cells whose rows with gaps are handled as asked for, and a note."""
    n_dropped = census.n_with_gaps if missing == "drop" else 0
    notes = note_missing(census.counts, n_rows, n_dropped, missing)
    if missing == "drop":
        leaves_out: LeavesOut = "gaps" if n_dropped else "nothing"
        return replace(
            cells, leaves_out=leaves_out, has_gaps=False, n_present=n_rows - n_dropped
        ), notes
    if census.n_empty:
        warn_of_empty(census.n_empty)
    return replace(
        cells,
        leaves_out="empty" if census.n_empty else "nothing",
        has_gaps=census.n_with_gaps > census.n_empty,
        n_present=n_rows - census.n_empty,
    ), notes
