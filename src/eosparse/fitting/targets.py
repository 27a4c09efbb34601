"""Class labels or a regression target: one rule for the library and the command."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

# Grades, stages and counts have up to about twenty values; more can hardly be learned as classes.
_MOST_CLASSES = 20
# Whole numbers are codes of classes if each occurs in about twenty rows or more.
_DISTINCT_WHOLE = 0.05
# Numbers with decimals of which most occur once are measurements, however few rows there are.
_DISTINCT_DECIMAL = 0.5


def is_regression_target(y: ArrayLike) -> bool:
    """Whether labels are numbers to predict rather than classes.

    Text and booleans are classes. Numbers are a target if they have more than 20 distinct values
    and either decimals or a distinct value for more than one in twenty rows. So are numbers with
    decimals of which more than half are distinct.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels without gaps.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_regression_target(["sick", "healthy", "sick"])
    False
    >>> is_regression_target([0, 1, 2] * 50)
    False
    >>> is_regression_target(range(214))
    True
    """
    # Ask the labels first: NumPy may take nullable numbers of pandas for objects.
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "kind", np.asarray(y).dtype.kind) not in "iuf":
        return False
    labels = np.asarray(y, dtype=np.float64)
    n_distinct = len(np.unique(labels))
    has_decimals = bool((labels % 1 != 0).any())
    if has_decimals and n_distinct > _DISTINCT_DECIMAL * len(labels):
        return True
    return n_distinct > _MOST_CLASSES and (
        has_decimals or n_distinct > _DISTINCT_WHOLE * len(labels)
    )
