"""From recognised columns to numbers: gaps counted, and rows compared with their own kind.

A category is not a number, and indicators of categories are not Gaussian: a robust fit would take
every smaller category for outliers. So categories do what they do for a person, who asks whether
somebody is tall *for a woman*: the median of each category is taken out of the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from eosparse.core import BoolArray, FloatArray
from eosparse.tables.columns import Column, Role
from eosparse.tables.reading import TableError

if TYPE_CHECKING:
    import pandas as pd

    Cells = dict[str, pd.Series[Any]]

Missing = Literal["error", "drop", "impute"]


class MissingValuesError(TableError):
    """A table with gaps, and nothing said about what to do with them."""


@dataclass(frozen=True)
class Encoding:
    """How columns become numbers: found in one table, used for others.

    Attributes
    ----------
    offsets : dict
        By column of categories and by category, how far its rows lie from the others: a number for
        each column of numbers.
    fills : dict
        What gaps are filled with, by column.
    """

    offsets: dict[str, dict[str, list[float]]]
    fills: dict[str, Any]


@dataclass(frozen=True)
class Numbers:
    """A table as numbers.

    Attributes
    ----------
    values : array of shape (n_kept, n_features)
        Numbers without gaps, freed of what the categories explain.
    names : tuple of str
        What each column is: that of the table, or ``column=category``.
    sources : tuple of str
        The column of the table that each comes from.
    is_kept : array of bool of shape (n_rows,)
        Rows of the table that are there; others had gaps and were dropped.
    encoding : Encoding
        How they were made.
    notes : tuple of str
        What was done.
    """

    values: FloatArray
    names: tuple[str, ...]
    sources: tuple[str, ...]
    is_kept: BoolArray
    encoding: Encoding
    notes: tuple[str, ...] = ()


def as_numbers(
    frame: pd.DataFrame,
    columns: list[Column],
    *,
    missing: Missing = "error",
    encoding: Encoding | None = None,
    indicate: bool = False,
) -> Numbers:
    """Return the usable columns of a table as numbers.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : list of Column
        What its columns are.
    missing : {"error", "drop", "impute"}, default="error"
        What to do with rows that have gaps.
    encoding : Encoding, optional
        That of the table that a model was made of; otherwise this table's own is found.
    indicate : bool, default=False
        Give every category but the commonest a column of its own, zero or one, as a classifier
        wants them, instead of taking its median out of the numbers.

    Returns
    -------
    Numbers

    Raises
    ------
    MissingValuesError
        If there are gaps and nothing is said about them.
    TableError
        If no column can be used.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import recognised
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": ["b", "a", "b"]})
    >>> as_numbers(table, recognised(table)).names
    ('x',)
    """
    used = [column for column in columns if column.role.is_used]
    names = tuple(column.name for column in used if column.role is Role.NUMBER)
    if not names and not (indicate and used):
        said = ", ".join(f"{column.name!r} ({column.role})" for column in columns[:8])
        raise TableError(f"no column holds numbers: {said}. Name some with --columns.")
    cells = {column.name: _cleaned(frame[column.name], column.role) for column in used}
    fills = _fills(cells) if encoding is None else encoding.fills
    cells, is_kept, notes = _without_gaps(cells, missing, fills)
    values = np.empty((int(np.count_nonzero(is_kept)), len(names)))
    for place, name in enumerate(names):
        values[:, place] = cells[name]
    kinds = {name: cells[name].astype(str).to_numpy() for name in cells if name not in names}
    if indicate:
        return _with_indicators(values, names, kinds, is_kept, fills, notes)
    offsets = _offsets(values, kinds) if encoding is None else encoding.offsets
    for name, kind in kinds.items():
        values = values - _of_rows(offsets.get(name, {}), kind, values.shape[1])
    return Numbers(values, names, names, is_kept, Encoding(offsets, fills), notes)


def _with_indicators(
    values: FloatArray,
    names: tuple[str, ...],
    kinds: dict[str, NDArray[Any]],
    is_kept: BoolArray,
    fills: dict[str, Any],
    notes: tuple[str, ...],
) -> Numbers:
    parts, all_names, sources = [values], [*names], [*names]
    for name, kind in kinds.items():
        levels, counts = np.unique(kind, return_counts=True)
        own = [level for level in levels if level != levels[counts.argmax()]]
        parts.append(np.column_stack([kind == level for level in own]).astype(np.float64))
        all_names += [f"{name}={level}" for level in own]
        sources += [name] * len(own)
    return Numbers(
        np.column_stack(parts),
        tuple(all_names),
        tuple(sources),
        is_kept,
        Encoding({}, fills),
        notes,
    )


# Fewer rows of a category do not tell what is usual for it.
_FEWEST_OF_A_KIND = 10
_SWEEPS = 2


def _offsets(
    values: FloatArray, kinds: dict[str, NDArray[Any]]
) -> dict[str, dict[str, list[float]]]:
    """Return how far the medians of each category lie from those of all rows (median polish)."""
    offsets: dict[str, dict[str, FloatArray]] = {name: {} for name in kinds}
    left = values - np.median(values, axis=0)
    for _ in range(_SWEEPS if len(kinds) > 1 else 1):
        for name, kind in kinds.items():
            for level in np.unique(kind):
                rows = kind == level
                if np.count_nonzero(rows) >= _FEWEST_OF_A_KIND:
                    step = np.median(left[rows], axis=0)
                    left[rows] -= step
                    offsets[name][str(level)] = offsets[name].get(str(level), 0.0) + step
    return {
        name: {level: [float(v) for v in step] for level, step in steps.items()}
        for name, steps in offsets.items()
    }


def _of_rows(offsets: dict[str, list[float]], kind: NDArray[Any], n_columns: int) -> FloatArray:
    """Return the offsets of each row's category; rare and unknown ones have none."""
    found = np.zeros((len(kind), n_columns))
    for level, step in offsets.items():
        found[kind == level] = step
    return found


def _cleaned(cells: pd.Series[Any], role: Role) -> pd.Series[Any]:
    """Return cells as numbers, or as text for categories; infinities are gaps."""
    import pandas as pd

    if role is Role.CATEGORY:
        return cells.astype("string")
    if not pd.api.types.is_numeric_dtype(cells):
        cells = cells.astype("string").str.replace("\u2212", "-")
    numbers = pd.to_numeric(cells, errors="coerce").astype("float64")
    return numbers.replace([np.inf, -np.inf], np.nan)


def _fills(cells: Cells) -> dict[str, Any]:
    """Return the median of numbers and the commonest category."""
    return {
        name: float(values.median()) if values.dtype == "float64" else str(values.mode().iloc[0])
        for name, values in cells.items()
    }


def _without_gaps(
    cells: Cells, missing: Missing, fills: dict[str, Any]
) -> tuple[Cells, BoolArray, tuple[str, ...]]:
    """Drop or fill gaps, or refuse them; return also which rows are left, and what was done."""
    gaps = {name: values.isna().to_numpy() for name, values in cells.items()}
    counts = {name: int(is_gap.sum()) for name, is_gap in gaps.items() if is_gap.any()}
    n_rows = len(next(iter(gaps.values())))
    everything: BoolArray = np.ones(n_rows, dtype=np.bool_)
    if not counts:
        return cells, everything, ()
    if missing == "error":
        raise MissingValuesError(
            f"values are missing: {_counted(counts)}, of {n_rows} rows. Say what to do: --missing "
            "drop leaves such rows out, --missing impute fills in the column's median."
        )
    if missing == "impute":
        filled = {name: values.fillna(fills[name]) for name, values in cells.items()}
        said = f"gaps were filled with the median or commonest value: {_counted(counts)}."
        return filled, everything, (said,)
    is_kept: BoolArray = ~np.any([gaps[name] for name in counts], axis=0)
    if not is_kept.any():
        raise MissingValuesError(f"every row has a gap: {_counted(counts)}. Use --missing impute.")
    dropped = int(np.count_nonzero(~is_kept))
    said = f"{dropped} of {n_rows} rows have gaps and were left out: {_counted(counts)}."
    return {name: values[is_kept] for name, values in cells.items()}, is_kept, (said,)


def _counted(counts: dict[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name!r} {count}" for name, count in shown[:8])
    return text if len(shown) <= 8 else f"{text}, and {len(shown) - 8} more columns"
