"""Means with 95 % intervals, and differences between methods on the same repetitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import t as student


def compute_half_interval(values: pd.Series) -> float:
    """Return half of the 95 % interval of the mean (Student); NaN for fewer than two values.

    Examples
    --------
    >>> import pandas as pd
    >>> round(compute_half_interval(pd.Series([1.0, 2.0, 3.0])), 3)
    2.484
    """
    n = int(values.count())
    if n < 2:
        return float("nan")
    return float(student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))


def summarise(rows: pd.DataFrame, by: list[str], of: list[str]) -> pd.DataFrame:
    """Return mean and half interval of some columns, one line per group, with the repetitions.

    Parameters
    ----------
    rows : DataFrame
        One line per repetition.
    by : list of str
        Columns that identify a group.
    of : list of str
        Columns to average.

    Examples
    --------
    >>> rows = pd.DataFrame({"method": ["a", "a"], "AUC": [0.8, 1.0]})
    >>> summarise(rows, ["method"], ["AUC"]).round(2).values.tolist()
    [['a', 0.9, 1.27, 2]]
    """
    grouped = rows.groupby(by, sort=False, dropna=False)
    table = grouped[of].mean()
    for column in of:
        table[f"{column} ±"] = grouped[column].apply(compute_half_interval)
    table = table[[name for column in of for name in (column, f"{column} ±")]]
    table["repetitions"] = grouped.size()
    return table.reset_index()


def compare_pairs(
    rows: pd.DataFrame, by: list[str], value: str, one: str, other: str, pair: str = "repetition"
) -> pd.DataFrame:
    """Return the mean difference between two methods on the same data, with its half interval.

    Parameters
    ----------
    rows : DataFrame
        One line per method and repetition.
    by : list of str
        Columns that identify a setting.
    value : str
        The column to compare.
    one, other : str
        Methods; the difference is the first minus the second.
    pair : str, default="repetition"
        Lines of a setting with the same value here are on the same data.

    Returns
    -------
    DataFrame
        Columns `by`, ``difference``, ``±``, ``splits``, ``method``, ``against``.

    Examples
    --------
    >>> rows = pd.DataFrame({"p": 0.1, "method": ["a", "b"], "repetition": 0, "AUC": [0.9, 0.7]})
    >>> compare_pairs(rows, ["p"], "AUC", "a", "b")["difference"].round(2).tolist()
    [0.2]
    """
    wide = rows.pivot_table(index=[*by, pair], columns="method", values=value)
    if one not in wide or other not in wide:
        return pd.DataFrame(columns=[*by, "difference", "±", "splits", "method", "against"])
    difference = (wide[one] - wide[other]).dropna().rename("difference").reset_index()
    grouped = difference.groupby(by)["difference"]
    table = grouped.mean().to_frame()
    table["±"] = grouped.apply(compute_half_interval)
    table["splits"] = grouped.size()
    return table.reset_index().assign(method=one, against=other)
