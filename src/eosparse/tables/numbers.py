"""From recognised columns to numbers: gaps counted, and rows compared with their own kind.

A category is not a number, and indicators of categories are not Gaussian: a robust fit would take
every smaller category for outliers. So categories do what they do for a person, who asks whether
somebody is tall *for a woman*: the median of each category is taken out of the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from eosparse.core import BoolArray, FloatArray
from eosparse.tables.columns import Column, Role, numbers_in
from eosparse.tables.reading import TableError

if TYPE_CHECKING:
    import pandas as pd

# The number of each row's category, and the categories.
Kinds = tuple[NDArray[Any], NDArray[Any]]
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
    >>> table = pd.DataFrame({"x": [1.5, 2.0, 3.0], "c": ["b", "a", "b"]})
    >>> as_numbers(table, recognised(table)).names
    ('x',)
    """
    used = [column for column in columns if column.role.is_used]
    names = tuple(column.name for column in used if column.role is Role.NUMBER)
    if not names and not (indicate and used):
        said = ", ".join(f"{column.name!r} ({column.role})" for column in columns[:8])
        raise TableError(f"no column holds numbers: {said}. Name some with --columns.")
    values = number_cells(frame, names)
    kinds = {c.name: _kinds(frame[c.name]) for c in used if c.role is Role.CATEGORY}
    fills = _fills(values, names, kinds) if encoding is None else encoding.fills
    values, kinds, is_kept, notes = _without_gaps(values, names, kinds, missing, fills)
    if indicate:
        return _with_indicators(values, names, kinds, is_kept, fills, notes)
    offsets = _offsets(values, kinds) if encoding is None else encoding.offsets
    for name, kind in kinds.items():
        _take_out(values, kind, offsets.get(name, {}))
    return Numbers(values, names, names, is_kept, Encoding(offsets, fills), notes)


def number_cells(frame: pd.DataFrame, names: Sequence[str]) -> FloatArray:
    """Return columns as numbers; what is no finite number is a gap (NaN)."""
    from pandas.api.types import is_numeric_dtype

    cells = frame[list(names)]
    text = [name for name, dtype in cells.dtypes.items() if not is_numeric_dtype(dtype)]
    cells = cells.assign(**{str(name): numbers_in(cells[name]) for name in text})
    values = np.array(cells.to_numpy(dtype=np.float64, na_value=np.nan))
    values[np.isinf(values)] = np.nan
    return values


def _kinds(cells: pd.Series[Any]) -> Kinds:
    """Return the number of each row's category, and the categories; -1 is a gap."""
    import pandas as pd

    codes, levels = pd.factorize(cells, sort=True)
    return codes, np.asarray(levels.astype(str), dtype=object)


def _with_indicators(
    values: FloatArray,
    names: tuple[str, ...],
    kinds: dict[str, Kinds],
    is_kept: BoolArray,
    fills: dict[str, Any],
    notes: tuple[str, ...],
) -> Numbers:
    parts, all_names, sources = [values], [*names], [*names]
    for name, (codes, levels) in kinds.items():
        counts = np.bincount(codes, minlength=len(levels))
        own = np.flatnonzero((counts > 0) & (np.arange(len(levels)) != counts.argmax()))
        parts.append((codes[:, None] == own).astype(np.float64))
        all_names += [f"{name}={levels[code]}" for code in own]
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


def _offsets(values: FloatArray, kinds: dict[str, Kinds]) -> dict[str, dict[str, list[float]]]:
    """Return how far the medians of each category lie from those of all rows (median polish)."""
    if not kinds:
        return {}
    offsets: dict[str, dict[str, FloatArray]] = {name: {} for name in kinds}
    left = values - np.median(values, axis=0)
    for _ in range(_SWEEPS if len(kinds) > 1 else 1):
        for name, (codes, levels) in kinds.items():
            for code, level in enumerate(levels):
                rows = np.flatnonzero(codes == code)
                if len(rows) >= _FEWEST_OF_A_KIND:
                    step = np.median(left[rows], axis=0)
                    left[rows] -= step
                    offsets[name][level] = offsets[name].get(level, 0.0) + step
    return {
        name: {level: [float(v) for v in step] for level, step in steps.items()}
        for name, steps in offsets.items()
    }


def _take_out(values: FloatArray, kind: Kinds, offsets: dict[str, list[float]]) -> None:
    """Take the offsets of each row's category out, in place; rare and unknown ones have none."""
    codes, levels = kind
    none = np.zeros(values.shape[1])
    steps = np.array([offsets.get(level, none) for level in levels]).reshape(len(levels), -1)
    values -= steps[codes]


def _fills(values: FloatArray, names: Sequence[str], kinds: dict[str, Kinds]) -> dict[str, Any]:
    """Return the median of numbers and the commonest category."""
    median = np.nanmedian if np.isnan(values).any() else np.median  # the first is slow
    medians = median(values, axis=0)
    fills: dict[str, Any] = dict(zip(names, medians.tolist(), strict=True))
    for name, (codes, levels) in kinds.items():
        fills[name] = levels[np.bincount(codes[codes >= 0]).argmax()]
    return fills


def _without_gaps(
    values: FloatArray,
    names: Sequence[str],
    kinds: dict[str, Kinds],
    missing: Missing,
    fills: dict[str, Any],
) -> tuple[FloatArray, dict[str, Kinds], BoolArray, tuple[str, ...]]:
    """Drop or fill gaps, or refuse them; return also which rows are left, and what was done."""
    n_rows, is_gap = len(values), np.isnan(values)
    everything: BoolArray = np.ones(n_rows, dtype=np.bool_)
    counts = dict(zip(names, is_gap.sum(axis=0).tolist(), strict=True))
    counts |= {name: int((codes < 0).sum()) for name, (codes, _) in kinds.items()}
    counts = {name: count for name, count in counts.items() if count}
    if not counts:
        return values, kinds, everything, ()
    if missing == "error":
        raise MissingValuesError(
            f"values are missing: {_counted(counts)}, of {n_rows} rows. Say what to do: --missing "
            "drop leaves such rows out, --missing impute fills in the column's median."
        )
    if missing == "impute":
        filled = np.where(is_gap, [fills[name] for name in names], values)
        whole = {name: _filled(kind, fills[name]) for name, kind in kinds.items()}
        said = f"gaps were filled with the median or commonest value: {_counted(counts)}."
        return filled, whole, everything, (said,)
    is_whole = [~is_gap.any(axis=1), *(codes >= 0 for codes, _ in kinds.values())]
    is_kept: BoolArray = np.logical_and.reduce(is_whole)
    if not is_kept.any():
        raise MissingValuesError(f"every row has a gap: {_counted(counts)}. Use --missing impute.")
    dropped = int(np.count_nonzero(~is_kept))
    said = f"{dropped} of {n_rows} rows have gaps and were left out: {_counted(counts)}."
    rest = {name: (codes[is_kept], levels) for name, (codes, levels) in kinds.items()}
    return values[is_kept], rest, is_kept, (said,)


def _filled(kind: Kinds, fill: str) -> Kinds:
    """Give rows without a category a certain one."""
    codes, levels = kind
    if fill not in levels:
        levels = np.append(levels, fill)
    return np.where(codes < 0, int(np.flatnonzero(levels == fill)[0]), codes), levels


def _counted(counts: dict[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name!r} {count}" for name, count in shown[:8])
    return text if len(shown) <= 8 else f"{text}, and {len(shown) - 8} more columns"
