"""A table as a matrix of numbers, as classifiers need it: categories as 0/1 columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.tables.cells import (
    Missing,
    check_any_numbers,
    compute_fills,
    extract_numbers,
    handle_missing,
    read_category,
)
from eosparse.tables.columns import Column, Role

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Numbers:
    """A table as numbers.

    Attributes
    ----------
    values : array of shape (n_kept, n_features)
        Numbers without missing values.
    names : tuple of str
        Name of each column: that of the table, or ``column=category``.
    sources : tuple of str
        The column of the table that each one comes from.
    is_kept : array of bool of shape (n_rows,)
        Rows of the table that `values` holds; the others had missing values and were dropped.
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
    notes: tuple[str, ...] = ()


def encode_table(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    *,
    missing: Missing = "error",
    indicate: bool = False,
) -> Numbers:
    """Encode the columns of numbers, and those of categories if you like, as numbers.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : sequence of Column
        The roles of its columns; dates are not used.
    missing : {"error", "drop", "impute"}, default="error"
        What to do with rows that have missing values.
    indicate : bool, default=False
        Whether to add a 0/1 column for each category but the most frequent one.

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
    >>> encode_table(table, recognise_columns(table), indicate=True).names
    ('x', 'c=a')
    """
    import pandas as pd

    check_any_numbers(columns, Role.NUMBER, *([Role.CATEGORY] if indicate else []))
    names = [column.name for column in columns if column.role is Role.NUMBER]
    categories = [c.name for c in columns if indicate and c.role is Role.CATEGORY]
    cells = pd.DataFrame(extract_numbers(frame, names), columns=names)
    for name in categories:
        cells[name] = read_category(frame[name]).array
    fills = compute_fills(cells) if missing == "impute" else {}
    cells, is_kept, notes = handle_missing(cells, missing, fills)
    parts, all_names, sources = [cells[names].to_numpy()], [*names], [*names]
    for name in categories:
        counts = cells[name].value_counts(sort=False)
        own = [level for level in counts.index if counts[level] and level != counts.idxmax()]
        parts += [(cells[name] == level).to_numpy(np.float64)[:, None] for level in own]
        all_names += [f"{name}={level}" for level in own]
        sources += [name] * len(own)
    return Numbers(np.hstack(parts), tuple(all_names), tuple(sources), is_kept, notes)
