"""Turn recognised columns into numbers: missing values handled, rows compared within categories.

Categories are not numbers, and 0/1 indicators of them are not Gaussian: a robust fit would flag
every smaller category. Instead, the median of each category is subtracted from the numbers, so that
a person is tall *for a woman*, not tall for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from eosparse.core import BoolArray, FloatArray
from eosparse.rows import LevelEffects, learn_effects
from eosparse.tables.columns import Column, Role, parse_numbers
from eosparse.tables.reading import TableError

if TYPE_CHECKING:
    import pandas as pd

# The code of each row's category, -1 if it is missing, and the names of the categories.
Categories = tuple[NDArray[Any], NDArray[Any]]
Missing = Literal["error", "drop", "impute"]


class MissingValuesError(TableError):
    """A table with missing values, and no choice of how to handle them.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import MissingValuesError, encode_table, recognise_columns
    >>> table = pd.DataFrame({"height": [1.8, None, 1.9]})
    >>> try:
    ...     encode_table(table, recognise_columns(table))
    ... except MissingValuesError as error:
    ...     print(str(error)[:56])
    Some values are missing: 'height' 1, of 3 rows. Use --mi
    """


@dataclass(frozen=True)
class Encoding:
    """How columns become numbers: learned from one table, applied to others.

    Attributes
    ----------
    offsets : dict
        By column of categories, then by category: how far its rows lie from all rows, one number
        per numeric column.
    fills : dict
        By column: the value that replaces missing ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import encode_table, recognise_columns
    >>> table = pd.DataFrame({"height": [1.8, 1.7, 1.9]})
    >>> encode_table(table, recognise_columns(table)).encoding
    Encoding(offsets={}, fills={'height': 1.8})
    """

    offsets: dict[str, dict[str, list[float]]]
    fills: dict[str, Any]


@dataclass(frozen=True)
class Numbers:
    """A table as numbers.

    Attributes
    ----------
    values : array of shape (n_kept, n_features)
        Numbers without missing values, with the effect of the categories subtracted.
    names : tuple of str
        Name of each column: that of the table, or ``column=category``.
    sources : tuple of str
        The column of the table that each one comes from.
    is_kept : array of bool of shape (n_rows,)
        Rows of the table that `values` holds; the others had missing values and were dropped.
    encoding : Encoding
        How the numbers were made.
    notes : tuple of str
        What was done about missing values.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import encode_table, recognise_columns
    >>> table = pd.DataFrame({"height": [1.8, None, 1.9]})
    >>> encode_table(table, recognise_columns(table), missing="drop").is_kept.tolist()
    [True, False, True]
    """

    values: FloatArray
    names: tuple[str, ...]
    sources: tuple[str, ...]
    is_kept: BoolArray
    encoding: Encoding
    notes: tuple[str, ...] = ()

    def to_frame(self, rows: Any = slice(None)) -> pd.DataFrame:
        """Return the values, or some rows of them, as a data frame.

        Parameters
        ----------
        rows : slice or array of int
            Which rows; all by default.

        Returns
        -------
        DataFrame

        Examples
        --------
        >>> import pandas as pd
        >>> from eosparse.tables import encode_table, recognise_columns
        >>> table = pd.DataFrame({"height": [1.8, 1.7, 1.9]})
        >>> encode_table(table, recognise_columns(table)).to_frame().equals(table)
        True
        """
        import pandas as pd

        return pd.DataFrame(self.values[rows], columns=list(self.names))


def encode_table(
    frame: pd.DataFrame,
    columns: list[Column],
    *,
    missing: Missing = "error",
    encoding: Encoding | None = None,
    indicate: bool = False,
) -> Numbers:
    """Encode the usable columns of a table as numbers.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : list of Column
        The roles of its columns.
    missing : {"error", "drop", "impute"}, default="error"
        What to do with rows that have missing values.
    encoding : Encoding, optional
        The encoding of the table that a model was fitted to. By default it is learned from this
        table.
    indicate : bool, default=False
        Encode each category but the most frequent one as a 0/1 column, as classifiers need, instead
        of subtracting medians.

    Returns
    -------
    Numbers

    Raises
    ------
    MissingValuesError
        If values are missing and `missing` is "error".
    TableError
        If no column can be used.

    Examples
    --------
    >>> import pandas as pd
    >>> from eosparse.tables import encode_table, recognise_columns
    >>> table = pd.DataFrame({"x": [1.5, 2.0, 3.0], "c": ["b", "a", "b"]})
    >>> encode_table(table, recognise_columns(table)).names
    ('x',)
    """
    used = [column for column in columns if column.role.is_used]
    names = tuple(column.name for column in used if column.role is Role.NUMBER)
    if not names and not (indicate and used):
        found = ", ".join(f"{column.name!r} ({column.role})" for column in columns[:8])
        raise TableError(f"No column holds numbers: {found}. Select columns with --columns.")
    values = extract_numbers(frame, names)
    categories = {c.name: _factorise(frame[c.name]) for c in used if c.role is Role.CATEGORY}
    fills = _compute_fills(values, names, categories) if encoding is None else encoding.fills
    values, categories, is_kept, notes = _handle_missing(values, names, categories, missing, fills)
    if indicate:
        return _add_indicators(values, names, categories, is_kept, fills, notes)
    offsets = _compute_offsets(values, categories) if encoding is None else encoding.offsets
    values = _subtract_offsets(values, categories, offsets)
    return Numbers(values, names, names, is_kept, Encoding(offsets, fills), notes)


def extract_numbers(frame: pd.DataFrame, names: Sequence[str]) -> FloatArray:
    """Return columns as numbers; cells that are not finite numbers become NaN."""
    from pandas.api.types import is_numeric_dtype

    cells = frame[list(names)]
    text = [name for name, dtype in cells.dtypes.items() if not is_numeric_dtype(dtype)]
    cells = cells.assign(**{str(name): parse_numbers(cells[name]) for name in text})
    values = np.array(cells.to_numpy(dtype=np.float64, na_value=np.nan))
    values[np.isinf(values)] = np.nan
    return values


def _factorise(cells: pd.Series[Any]) -> Categories:
    import pandas as pd

    codes, levels = pd.factorize(cells, sort=True)
    return codes, np.asarray(levels.astype(str), dtype=object)


def _add_indicators(
    values: FloatArray,
    names: tuple[str, ...],
    categories: dict[str, Categories],
    is_kept: BoolArray,
    fills: dict[str, Any],
    notes: tuple[str, ...],
) -> Numbers:
    parts, all_names, sources = [values], [*names], [*names]
    for name, (codes, levels) in categories.items():
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


def _compute_offsets(
    values: FloatArray, categories: dict[str, Categories]
) -> dict[str, dict[str, list[float]]]:
    """Compute how far the medians of each category lie from those of all rows (median polish)."""
    if not categories:
        return {}
    codes = np.column_stack([codes for codes, _ in categories.values()]).astype(np.float64)
    effects = learn_effects(values, codes, np.ones(len(values)))
    return {
        name: {
            str(levels[int(code)]): step.tolist() for code, step in zip(found, steps, strict=True)
        }
        for (name, (_, levels)), found, steps in zip(
            categories.items(), effects.levels, effects.steps, strict=True
        )
    }


def _subtract_offsets(
    values: FloatArray,
    categories: dict[str, Categories],
    offsets: dict[str, dict[str, list[float]]],
) -> FloatArray:
    """Subtract the offsets of each row's categories; rare and unknown ones have none."""
    if not categories:
        return values
    found, steps = [], []
    for name, (_, levels) in categories.items():
        known = {
            code: offsets[name][level]
            for code, level in enumerate(levels)
            if level in offsets.get(name, {})
        }
        found.append(np.array(list(known), dtype=np.float64))
        steps.append(np.array(list(known.values())).reshape(len(known), values.shape[1]))
    codes = np.column_stack([codes for codes, _ in categories.values()]).astype(np.float64)
    return LevelEffects(tuple(found), tuple(steps)).subtract(values, codes)


def _compute_fills(
    values: FloatArray, names: Sequence[str], categories: dict[str, Categories]
) -> dict[str, Any]:
    """Return the median of each numeric column, and the most frequent category of the others."""
    median = np.nanmedian if np.isnan(values).any() else np.median  # nanmedian is slow
    medians = median(values, axis=0)
    fills: dict[str, Any] = dict(zip(names, medians.tolist(), strict=True))
    for name, (codes, levels) in categories.items():
        fills[name] = levels[np.bincount(codes[codes >= 0]).argmax()]
    return fills


def _handle_missing(
    values: FloatArray,
    names: Sequence[str],
    categories: dict[str, Categories],
    missing: Missing,
    fills: dict[str, Any],
) -> tuple[FloatArray, dict[str, Categories], BoolArray, tuple[str, ...]]:
    """Drop, fill or refuse missing values; also return which rows are kept, and a note."""
    n_rows, is_missing = len(values), np.isnan(values)
    everything: BoolArray = np.ones(n_rows, dtype=np.bool_)
    counts = dict(zip(names, is_missing.sum(axis=0).tolist(), strict=True))
    counts |= {name: int((codes < 0).sum()) for name, (codes, _) in categories.items()}
    counts = {name: count for name, count in counts.items() if count}
    if not counts:
        return values, categories, everything, ()
    if missing == "error":
        raise MissingValuesError(
            f"Some values are missing: {_format_counts(counts)}, of {n_rows} rows. Use --missing "
            "drop to leave these rows out, or --missing impute to fill in the column's median."
        )
    if missing == "impute":
        filled = np.where(is_missing, [fills[name] for name in names], values)
        whole = {
            name: _fill_category(category, fills[name]) for name, category in categories.items()
        }
        filling = "the median or the most frequent category"
        note = f"Missing values were filled with {filling}: {_format_counts(counts)}."
        return filled, whole, everything, (note,)
    is_whole = [~is_missing.any(axis=1), *(codes >= 0 for codes, _ in categories.values())]
    is_kept: BoolArray = np.logical_and.reduce(is_whole)
    if not is_kept.any():
        raise MissingValuesError(
            f"Every row has a missing value: {_format_counts(counts)}. Use --missing impute."
        )
    dropped = int(np.count_nonzero(~is_kept))
    have, were = ("has", "was") if dropped == 1 else ("have", "were")
    note = (
        f"{dropped} of {n_rows} rows {have} missing values and {were} left out: "
        f"{_format_counts(counts)}."
    )
    rest = {name: (codes[is_kept], levels) for name, (codes, levels) in categories.items()}
    return values[is_kept], rest, is_kept, (note,)


def _fill_category(category: Categories, fill: str) -> Categories:
    """Give rows without a category the category `fill`."""
    codes, levels = category
    if fill not in levels:
        levels = np.append(levels, fill)
    return np.where(codes < 0, int(np.flatnonzero(levels == fill)[0]), codes), levels


def _format_counts(counts: dict[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name!r} {count}" for name, count in shown[:8])
    return text if len(shown) <= 8 else f"{text}, and {len(shown) - 8} more columns"
