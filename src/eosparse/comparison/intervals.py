"""Means with 95 % intervals, and differences between methods on the same repetitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import t as student


def half_interval(values: pd.Series) -> float:
    """Half of the 95 % interval of the mean (Student); NaN for fewer than two values.

    Examples
    --------
    >>> import pandas as pd
    >>> round(half_interval(pd.Series([1.0, 2.0, 3.0])), 3)
    2.484
    """
    n = int(values.count())
    if n < 2:
        return float("nan")
    return float(student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))


def summarise(rows: pd.DataFrame, by: list[str], of: list[str]) -> pd.DataFrame:
    """Mean and half interval of some columns, one line per group, with the repetitions."""
    grouped = rows.groupby(by, sort=False, dropna=False)
    table = grouped[of].mean()
    for column in of:
        table[f"{column} ±"] = grouped[column].apply(half_interval)
    table = table[[name for column in of for name in (column, f"{column} ±")]]
    table["repetitions"] = grouped.size()
    return table.reset_index()


def paired(
    rows: pd.DataFrame, by: list[str], value: str, one: str, other: str, pair: str = "repetition"
) -> pd.DataFrame:
    """Mean of the differences between two methods on the same data, with its half interval.

    Parameters
    ----------
    rows : DataFrame
        One line per method and repetition.
    by : list of str
        Columns that tell settings apart.
    value : str
        The column to compare.
    one, other : str
        Methods; the difference is that of the first less the second.
    pair : str, default="repetition"
        The column whose equal values mean the same data.

    Returns
    -------
    DataFrame
        Columns `by`, ``difference``, ``±``, ``splits``, ``method``, ``against``.
    """
    wide = rows.pivot_table(index=[*by, pair], columns="method", values=value)
    if one not in wide or other not in wide:
        return pd.DataFrame(columns=[*by, "difference", "±", "splits", "method", "against"])
    difference = (wide[one] - wide[other]).dropna().rename("difference").reset_index()
    grouped = difference.groupby(by)["difference"]
    table = grouped.mean().to_frame()
    table["±"] = grouped.apply(half_interval)
    table["splits"] = grouped.size()
    return table.reset_index().assign(method=one, against=other)
