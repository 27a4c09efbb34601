"""Wrong cells as a list: where they are, what they hold, and what is expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eosparse.core import BoolArray, FloatArray
from eosparse.fitting.cell_fit import CellVerdict


@dataclass(frozen=True)
class WrongCell:
    """A cell that does not belong.

    Attributes
    ----------
    row : int
        Place of its row, counted from 0.
    column : str
        Name of its column.
    value, expected : float or str
        What it holds, and what is expected.
    low, high : float
        Interval of what is expected; NaN for levels.
    p_value : float
        Chance that a cell that belongs lies as far from what is expected; for levels, the chance
        that the level is right.
    """

    row: int
    column: str
    value: float | str
    expected: float | str
    low: float
    high: float
    p_value: float

    @property
    def is_above(self) -> bool:
        """Whether a number lies above what is expected."""
        return not isinstance(self.value, str) and self.value > float(self.expected)


@dataclass(frozen=True)
class WrongCells(Sequence[WrongCell]):
    """Wrong cells, the surest first."""

    cells: tuple[WrongCell, ...]

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, place: Any) -> Any:
        return self.cells[place]

    def __iter__(self) -> Iterator[WrongCell]:
        return iter(self.cells)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per cell."""
        import pandas as pd

        names = list(WrongCell.__dataclass_fields__)
        rows = [[getattr(cell, name) for name in names] for cell in self.cells]
        return pd.DataFrame(rows, columns=names)


def list_wrong_cells(
    values: FloatArray,
    verdict: CellVerdict,
    is_wrong: BoolArray,
    names: Sequence[str],
    levels: Mapping[str, Sequence[str]],
) -> WrongCells:
    """Return the wrong cells, by rising p-value; equal ones by how far they lie out."""
    rows, columns = np.nonzero(is_wrong)
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.abs(values - verdict.expected) / verdict.std
    order = np.lexsort((-np.nan_to_num(far[rows, columns]), verdict.p_values[rows, columns]))

    def describe(row: int, j: int) -> WrongCell:
        given: float | str = float(values[row, j])
        expected: float | str = float(verdict.expected[row, j])
        known = levels.get(names[j])
        if known is not None:
            given, expected = (known[int(code)] for code in (values[row, j], expected))
        return WrongCell(
            row,
            names[j],
            given,
            expected,
            float(verdict.low[row, j]),
            float(verdict.high[row, j]),
            float(verdict.p_values[row, j]),
        )

    return WrongCells(tuple(describe(int(rows[i]), int(columns[i])) for i in order))


def tabulate_wrong(
    values: FloatArray, verdict: CellVerdict, is_wrong: BoolArray, names: NDArray[np.str_]
) -> dict[str, Any]:
    """Return the wrong cells of numbers as columns, in the order of the rows."""
    rows, columns = np.nonzero(is_wrong)
    numbers = {"value": values, "expected": verdict.expected, "low": verdict.low}
    numbers |= {"high": verdict.high, "p_value": verdict.p_values}
    return {"row": rows, "column": names[columns]} | {
        name: array[rows, columns] for name, array in numbers.items()
    }
