"""Arrays as people pass them: masks, numbers beyond floats, and weights that count no rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from eosparse.core import LARGEST_SQUARED, FloatArray

MOST_ROWS = 2.0**53
"""Weights count rows; a float counts no further."""
# Whole numbers of a column must be told apart by floats at least this finely, beside their range.
_FINE = 0.01
_TOO_LARGE = (
    "Input X contains a whole number that is too large for a float. Divide the column by a "
    "constant, or drop it."
)


def fill_mask(X: Any) -> Any:
    """Return a masked array as one with NaN where it is masked, and anything else as it is.

    Examples
    --------
    >>> fill_mask(np.ma.masked_equal([[1, 2], [3, 9]], 9)).tolist()
    [[1.0, 2.0], [3.0, nan]]
    """
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return np.asarray(X.data)
    kind = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
    return np.where(np.ma.getmaskarray(X), np.nan, X.data.astype(kind))


def refuse_mask(name: str, values: Any) -> Any:
    """Return an array that may not be masked; raise if it is.

    Examples
    --------
    >>> refuse_mask("y", np.ma.masked_equal([1, 9], 9))
    Traceback (most recent call last):
    ValueError: y is masked in 1 row, first in row 1. Leave out these rows.
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    masked = np.flatnonzero(np.ma.getmaskarray(values))
    if len(masked):
        rows = "1 row" if len(masked) == 1 else f"{len(masked)} rows"
        raise ValueError(
            f"{name} is masked in {rows}, first in row {masked[0]}. Leave out these rows."
        )
    return np.asarray(values.data)


def validate_numbers(estimator: Any, X: Any, **options: Any) -> FloatArray:
    """Check rows of numbers as scikit-learn does, after masks and whole numbers.

    Without an estimator, only the array is checked.
    """
    X = fill_mask(X)
    check_whole_numbers(X)
    try:
        if estimator is None:
            return np.asarray(check_array(X, **options))
        return np.asarray(validate_data(estimator, X, **options))
    except OverflowError:
        raise ValueError(_TOO_LARGE) from None


def check_objects(X: Any) -> None:
    """Raise if an array of objects holds a whole number beyond all floats; it may hold text.

    Examples
    --------
    >>> check_objects(np.array([["a"], [1]], dtype=object))
    >>> check_objects(np.array([[10**400], [1]], dtype=object))
    Traceback (most recent call last):
    ValueError: Input X contains a whole number that is too large for a float. Divide the column ...
    """
    if not (isinstance(X, np.ndarray) and X.dtype.kind == "O"):
        return
    try:
        X.astype(np.float64)
    except OverflowError:
        raise ValueError(_TOO_LARGE) from None
    except (TypeError, ValueError):  # text, or another kind of object
        return


def check_whole_numbers(X: Any) -> None:
    """Raise if floats cannot tell the whole numbers of a column apart, as of long identifiers.

    Examples
    --------
    >>> check_whole_numbers(np.array([[1], [2**60]]))
    >>> check_whole_numbers(np.array([[2**60 + 1], [2**60 + 2], [2**60 + 90]]))
    Traceback (most recent call last):
    ValueError: column 0 of X holds whole numbers around 1.15e+18, which floats tell apart only ...
    """
    if not (isinstance(X, np.ndarray) and X.dtype.kind in "iu" and X.dtype.itemsize == 8):
        return
    if X.ndim != 2 or not X.size:
        return
    low, high = (edge.astype(np.float64) for edge in (X.min(axis=0), X.max(axis=0)))
    width = np.array([float(int(b) - int(a)) for a, b in zip(X.min(0), X.max(0), strict=True)])
    step = np.spacing(np.maximum(np.abs(low), np.abs(high)))
    lost = np.flatnonzero((step > 1.0) & (width > 0) & (step > _FINE * width))
    if len(lost):
        column = int(lost[0])
        raise ValueError(
            f"column {column} of X holds whole numbers around {high[column]:.3g}, which floats "
            f"tell apart only in steps of {step[column]:g}. Subtract its smallest value first."
        )


def check_range(X: Any) -> None:
    """Raise if an array has numbers so large, or a column so small, that squares fit no float.

    Examples
    --------
    >>> check_range(np.array([[1.0], [1e200]]))
    Traceback (most recent call last):
    ValueError: X has the value 1e+200 in row 1, column 0, whose square does not fit a float: ...
    """
    is_double = isinstance(X, np.ndarray) and X.dtype == np.float64  # single has no such numbers
    if not (is_double and X.ndim == 2 and X.size):
        return
    sizes = np.where(np.isfinite(X), np.abs(X), 0.0)
    is_large = sizes > LARGEST_SQUARED
    peaks = sizes.max(axis=0)
    is_small = (peaks > 0) & (peaks < 1 / LARGEST_SQUARED)
    if is_small.any():
        column = int(np.flatnonzero(is_small)[0])
        raise ValueError(
            f"column {column} of X has no value larger than {peaks[column]:.3g}, whose square does "
            "not fit a float: multiply the column by a constant."
        )
    if is_large.any():
        row, column = np.argwhere(is_large)[0].tolist()
        raise ValueError(
            f"X has the value {X[row, column]:.3g} in row {row}, column {column}, whose square "
            "does not fit a float: scale the column, or leave out the row."
        )


def check_mass(mass: float) -> None:
    """Raise if weights count more rows than a float can.

    Examples
    --------
    >>> check_mass(1e300)
    Traceback (most recent call last):
    ValueError: sample_weight sums to 1e+300. Weights count rows, and no more than 9e+15 can be ...
    """
    if not mass <= MOST_ROWS:
        raise ValueError(
            f"sample_weight sums to {mass:g}. Weights count rows, and no more than {MOST_ROWS:.0e} "
            "can be counted: scale them so that their mean is about 1."
        )
