"""Real tables, and the mistakes that people make in them.

Tables are read from ``<EOSPARSE_DATA>/tables/*.csv.gz`` and never copied. Mistakes are planted in
columns of numbers with more than ten values; row counters are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from eosparse.comparison.data_folder import DataFolder
from eosparse.core import BoolArray, FloatArray, IntArray

_SUFFIX = ".csv.gz"
_COUNTER_NAMES = ("Unnamed: 0", "rownames")
# A number with fewer values is a code or a level.
_LEAST_VALUES = 11
# Draws until a mistake changes something; a row that no mistake changes is left as it is.
_MOST_DRAWS = 100
# Of the rows, if one group of them is wrong.
SHARE_OF_GROUP = 0.2


def list_tables() -> list[str]:
    """Return the names of all tables in the data folder; none if there is no such folder."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in _folder().glob(f"*{_SUFFIX}"))


def read_frame(name: str) -> pd.DataFrame:
    """Return a table as pandas reads it."""
    return pd.read_csv(locate_table(name))


def locate_table(name: str) -> Path:
    """Return the path of a table."""
    return _folder() / f"{name}{_SUFFIX}"


def _folder() -> Path:
    return DataFolder.locate(None).path / "tables"


def is_counter(column: pd.Series) -> bool:
    """Whether a column counts the rows: 0 or 1 to n in order, or named so."""
    if column.name in _COUNTER_NAMES:
        return True
    if not pd.api.types.is_integer_dtype(column) or not len(column):
        return False
    steps = np.diff(column.to_numpy())
    return bool(column.iloc[0] in (0, 1) and len(steps) > 0 and (steps == 1).all())


def list_numbers(frame: pd.DataFrame) -> list[str]:
    """Return the columns of numbers that count no rows and have more than one value."""
    numbers = frame.select_dtypes("number")
    return [
        name for name in numbers if not is_counter(numbers[name]) and numbers[name].nunique() > 1
    ]


def list_spoilable(frame: pd.DataFrame) -> list[str]:
    """Return the columns of numbers with more than ten values."""
    return [name for name in list_numbers(frame) if frame[name].nunique() >= _LEAST_VALUES]


def as_numbers(frame: pd.DataFrame) -> FloatArray:
    """Return the columns of numbers with medians for gaps, standardised: what peers are given."""
    numbers = frame[list_numbers(frame)].astype(np.float64)
    numbers = numbers.replace([np.inf, -np.inf], np.nan)
    values = numbers.fillna(numbers.median()).to_numpy()
    spread = values.std(axis=0)
    values = values[:, spread > 0]  # gaps may have been all that varied
    return np.asarray((values - values.mean(axis=0)) / values.std(axis=0))


class Spoilt(NamedTuple):
    """A table with mistakes.

    Attributes
    ----------
    frame : DataFrame
        The table.
    is_wrong : array of shape (n_rows,)
        Rows with a mistake.
    kind : array of shape (n_rows,)
        What was done to each row; empty text for rows that are as they were.
    """

    frame: pd.DataFrame
    is_wrong: BoolArray
    kind: np.ndarray


@dataclass(frozen=True)
class Ranges:
    """The 5 and 95 % quantiles of the columns before mistakes, and what lies between."""

    low: FloatArray
    high: FloatArray

    @property
    def width(self) -> FloatArray:
        """The 5-95 % range of each column."""
        return self.high - self.low


# From rows to the same rows with a mistake.
Mistake = Callable[[FloatArray], FloatArray]


def spoil(
    frame: pd.DataFrame, share: float, rng: np.random.Generator, *, is_rounded: bool = False
) -> Spoilt:
    """Plant mistakes in a share of the rows, each in one way of its own.

    Parameters
    ----------
    frame : DataFrame
        The table; it is not changed.
    share : float
        Of wrong rows, at least one.
    rng : Generator
        Decides everything.
    is_rounded : bool, default=False
        Whether mistakes have no more decimals than the other values of their column.
    """
    names, values, ranges = _take_spoilable(frame)
    decimals = [_count_decimals(column) for column in values.T] if is_rounded else []
    kind = np.full(len(frame), "", dtype=object)
    for row in rng.choice(len(frame), max(1, round(share * len(frame))), replace=False):
        cells = values[[row]]
        present = np.flatnonzero(np.isfinite(cells[0]))
        for _ in range(_MOST_DRAWS if len(present) else 0):
            name, make = _draw_mistake(rng, ranges, present)
            changed = make(cells)
            for i, places in enumerate(decimals):
                changed[0, i] = np.round(changed[0, i], places)
            if _differs(changed, cells)[0]:
                values[row], kind[row] = changed[0], name
                break
    return _replace_numbers(frame, names, values, kind)


def spoil_one_group(
    frame: pd.DataFrame, rng: np.random.Generator, share: float = SHARE_OF_GROUP
) -> Spoilt:
    """Make one and the same mistake in a share of the rows: same columns, same size.

    A mistake that would change too few rows is drawn again.
    """
    names, values, ranges = _take_spoilable(frame)
    kind = np.full(len(frame), "", dtype=object)
    n_wrong = max(1, round(share * len(frame)))
    for _ in range(_MOST_DRAWS):
        name, make = _draw_mistake(rng, ranges, np.arange(len(names)))
        changed = make(values)
        candidates = np.flatnonzero(_differs(changed, values))
        if len(candidates) >= n_wrong:
            rows = rng.choice(candidates, n_wrong, replace=False)
            values[rows], kind[rows] = changed[rows], name
            break
    return _replace_numbers(frame, names, values, kind)


def _take_spoilable(frame: pd.DataFrame) -> tuple[list[str], FloatArray, Ranges]:
    """Return the columns that may be spoilt: their names, a copy, and their ranges."""
    if not (names := list_spoilable(frame)):
        raise ValueError("No column of numbers has more than ten values: nothing can be spoilt.")
    values = frame[names].to_numpy(dtype=np.float64, copy=True)
    low, high = np.nanquantile(values, (0.05, 0.95), axis=0)
    return names, values, Ranges(low, high)


def _count_decimals(column: FloatArray) -> int:
    """Return how many decimals the values of a column have at most, up to fifteen."""
    known = column[~np.isnan(column)]
    return next((k for k in range(15) if (np.round(known, k) == known).all()), 15)


def _differs(changed: FloatArray, cells: FloatArray) -> BoolArray:
    """Whether rows differ; a gap is as it was."""
    return np.asarray(((changed != cells) & ~(np.isnan(changed) & np.isnan(cells))).any(axis=1))


def _replace_numbers(
    frame: pd.DataFrame, names: list[str], values: FloatArray, kind: np.ndarray
) -> Spoilt:
    wrong = frame.assign(**{name: values[:, i] for i, name in enumerate(names)})
    return Spoilt(wrong, kind != "", kind)


def _draw_mistake(
    rng: np.random.Generator, ranges: Ranges, columns: IntArray
) -> tuple[str, Mistake]:
    """Return a way to spoil rows: its name, and a function of the rows."""
    name = str(rng.choice(list(KINDS)))
    return name, KINDS[name](rng, ranges, columns)


def _change(columns: IntArray, change: Callable[[FloatArray], FloatArray | float]) -> Mistake:
    """Return a mistake that changes some columns; gaps stay gaps."""

    def make(cells: FloatArray) -> FloatArray:
        changed = cells.copy()
        found = cells[:, columns]
        changed[:, columns] = np.where(np.isnan(found), np.nan, change(found))
        return changed

    return make


def _pick(rng: np.random.Generator, columns: IntArray, count: int = 1) -> IntArray:
    return rng.choice(columns, min(count, len(columns)), replace=False)


def _multiply(rng: np.random.Generator, ranges: Ranges, columns: IntArray) -> Mistake:  # noqa: ARG001
    factor = rng.choice([10.0, 100.0, 0.1])
    return _change(_pick(rng, columns), lambda cells: cells * factor)


def _leave_range(rng: np.random.Generator, ranges: Ranges, columns: IntArray) -> Mistake:
    column = _pick(rng, columns)
    beyond = rng.uniform(1.0, 6.0) * ranges.width[column]
    is_above = rng.random() < 0.5
    value = ranges.high[column] + beyond if is_above else ranges.low[column] - beyond
    return _change(column, lambda _: value)


def _swap(rng: np.random.Generator, ranges: Ranges, columns: IntArray) -> Mistake:  # noqa: ARG001
    pair = _pick(rng, columns, 2)
    return _change(pair, lambda cells: cells[:, ::-1])


def _lose_sign(rng: np.random.Generator, ranges: Ranges, columns: IntArray) -> Mistake:  # noqa: ARG001
    return _change(_pick(rng, columns), lambda cells: -cells)


def _set_sentinel(rng: np.random.Generator, ranges: Ranges, columns: IntArray) -> Mistake:  # noqa: ARG001
    value = float(rng.choice([999.0, -1.0]))
    return _change(_pick(rng, columns), lambda _: value)


def _shift_third(rng: np.random.Generator, ranges: Ranges, columns: IntArray) -> Mistake:
    some = _pick(rng, columns, max(1, round(len(ranges.low) / 3)))
    shift = rng.choice([-0.5, 0.5]) * ranges.width[some]
    return _change(some, lambda cells: cells + shift)


KINDS: dict[str, Callable[[np.random.Generator, Ranges, IntArray], Mistake]] = {
    "times 10, 100 or .1": _multiply,
    "out of range": _leave_range,
    "two columns swapped": _swap,
    "sign lost": _lose_sign,
    "sentinel": _set_sentinel,
    "a third shifted": _shift_third,
}
