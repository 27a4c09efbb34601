"""Wrong cells of a table: a summary of them, the repaired table, and the list of changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eosparse import __version__
from eosparse.core import FloatArray
from eosparse.rows import Kind
from eosparse.tables.cells import Cells
from eosparse.tables.columns import Column
from eosparse.tables.reading import TableFile
from eosparse.tables.reasons import format_cell
from eosparse.tables.summary import TableSummary

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.estimators import EOSCells
    from eosparse.estimators.wrong_cells import WrongCell

# Cells whose decimals tell how finely a column is written, and the most that are counted.
_CELLS_READ, _MOST_DECIMALS = 200, 6


@dataclass(frozen=True)
class CellLine:
    """A wrong cell: where it is, what it holds, what is expected, and how sure that is.

    Attributes
    ----------
    row : int
        Its row, counted from 1, the first below the header.
    identifier : str or None
        What identifies the row, if a column does.
    column : str
        Its column.
    value, expected : str
        What it holds and what is expected, as text.
    low, high : str or None
        Interval that holds 95 % of the cells that belong; None for categories.
    p_value : float
        Chance that a cell that belongs lies as far out, or that a category is right.
    is_above : bool
        Whether it lies above what is expected.
    """

    row: int
    identifier: str | None
    column: str
    value: str
    expected: str
    low: str | None
    high: str | None
    p_value: float
    is_above: bool


@dataclass(frozen=True)
class CellSummary:
    """What was found about the cells of a table."""

    table: TableSummary
    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    fdr: float
    promise: bool
    promise_reason: str
    n_cells: int
    n_wrong: int
    n_rows: int
    n_wrong_rows: int
    cells: tuple[CellLine, ...]
    kind: str = "cells"
    eosparse: str = __version__


@dataclass(frozen=True)
class CellAudit:
    """A fitted estimator, the table that it was fitted to, and what it says of each cell."""

    source: TableFile
    columns: list[Column]
    cells: Cells
    estimator: EOSCells

    @classmethod
    def fit(
        cls, source: TableFile, columns: list[Column], cells: Cells, estimator: EOSCells
    ) -> CellAudit:
        """Fit the estimator; text is a category whatever it looks like, unless you said so."""
        text = [name for name in cells.names if cells.frame[name].dtype == "category"]
        given = {k: v for k, v in (estimator.kinds or {}).items() if k in cells.names}
        estimator.set_params(kinds=dict.fromkeys(text, Kind.CATEGORY) | given).fit(cells.frame)
        return cls(source, columns, cells, estimator)

    def summarise(self) -> CellSummary:
        """Return the wrong cells, the surest first, and what is promised."""
        wrong = self.estimator.list_wrong(self.cells.frame)
        numbers = np.flatnonzero(self.cells.is_kept)
        names = self._find_identifiers()
        decimals = {name: count_decimals(self.cells.frame[name]) for name in self.cells.names}
        lines = []
        for cell in wrong:
            row = int(numbers[cell.row])
            lines.append(
                describe_cell(
                    cell,
                    row=row,
                    identifier=None if names is None else names[row],
                    value=self.source.frame[cell.column].iloc[row],
                    decimals=decimals[cell.column],
                )
            )
        promise = self.estimator.promise_
        return CellSummary(
            table=TableSummary(
                self.source.name, len(self.source.frame), int(np.count_nonzero(self.cells.is_kept))
            ),
            columns=tuple(self.columns),
            notes=(*self.source.notes, *self.cells.notes),
            fdr=self.estimator.fdr,
            promise=bool(promise),
            promise_reason=promise.reason,
            n_cells=int(np.count_nonzero(~np.isnan(self.estimator.cell_p_values_))),
            n_wrong=len(wrong),
            n_rows=len({cell.row for cell in wrong}),
            n_wrong_rows=int(self.estimator.is_wrong_row_.sum()),
            cells=tuple(lines),
        )

    def _find_identifiers(self) -> Any:
        for column in self.columns:
            if str(column.role) == "identifier":
                return self.source.frame[column.name].to_numpy()
        return None

    def list_repairs(self) -> dict[str, dict[int, Any]]:
        """Return what is expected in wrong cells, and in gaps if asked, by column and row."""
        fixed = self.estimator.repair(self.cells.frame)
        rows = np.flatnonzero(self.cells.is_kept)
        repairs: dict[str, dict[int, Any]] = {}
        for name in self.cells.names:
            before, after = self.cells.frame[name], fixed[name]
            is_new = ((before != after) & ~(before.isna() & after.isna())).to_numpy()
            if is_new.any():
                values = suit_values(after[is_new].tolist(), before, self.source.frame[name].dtype)
                repairs[name] = dict(zip(rows[is_new].tolist(), values, strict=True))
        return repairs


def describe_cell(
    cell: WrongCell, *, row: int, identifier: Any, value: Any, decimals: int
) -> CellLine:
    """Return a wrong cell in words; given are its row from 0, and what the table holds."""
    return CellLine(
        row=row + 1,
        identifier=None if identifier is None else format_cell(identifier),
        column=cell.column,
        value=_write_given(value),
        expected=_write_number(cell.expected, decimals),
        low=None if np.isnan(cell.low) else _write_number(cell.low, decimals),
        high=None if np.isnan(cell.low) else _write_number(cell.high, decimals),
        p_value=cell.p_value,
        is_above=cell.is_above,
    )


def suit_values(values: list[Any], column: pd.Series[Any], stored: Any) -> list[Any]:
    """Return values as the column of the file holds them: as finely, and of its type."""
    from pandas.api import types

    if types.is_bool_dtype(stored):
        return [bool(float(value)) for value in values]
    if types.is_numeric_dtype(stored):
        values = [float(value) for value in values]  # a code may have been a category
    if not all(isinstance(value, float) for value in values):
        return values
    decimals = count_decimals(column.astype("float64"))
    return [round(value, decimals) if decimals else round(value) for value in values]


def count_decimals(column: Any) -> int:
    """Return the decimals with which most cells of a column are written.

    Examples
    --------
    >>> import pandas as pd
    >>> count_decimals(pd.Series([1.5, 2.25, 3.0])), count_decimals(pd.Series([1, 2]))
    (2, 0)
    """
    if column.dtype.kind not in "fiu":
        return 0
    values: FloatArray = column.dropna().to_numpy()[:_CELLS_READ].astype(np.float64)
    for decimals in range(_MOST_DECIMALS):
        if np.mean(np.abs(values - values.round(decimals)) <= 1e-9 * np.abs(values)) > 0.9:
            return decimals
    return _MOST_DECIMALS


def _write_given(value: Any) -> str:
    """Return a cell as text; numbers with all digits, so that a change can be undone."""
    if not isinstance(value, (float, np.floating)):
        return format_cell(value)
    short = f"{value:.15g}"
    return short if float(short) == value else repr(float(value))


def _write_number(value: float | str, decimals: int) -> str:
    return value if isinstance(value, str) else f"{value:.{decimals}f}"


def list_changes(summary: CellSummary) -> pd.DataFrame:
    """Return the wrong cells as a table, one line per cell."""
    import pandas as pd

    names = ["row", "identifier", "column", "value", "expected", "low", "high", "p_value"]
    lines = [[getattr(cell, name) for name in names] for cell in summary.cells]
    frame = pd.DataFrame(lines, columns=names)
    return frame if frame["identifier"].notna().any() else frame.drop(columns="identifier")
