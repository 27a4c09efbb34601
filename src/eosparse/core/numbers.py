"""Checks of the numbers and words that people pass: errors name the parameter and its range."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

# Squares of larger numbers do not fit a float.
LARGEST_SQUARED = 1e150


def check_number(
    name: str,
    value: object,
    interval: str,
    *,
    words: tuple[str | None, ...] = (),
    is_whole: bool = False,
) -> Any:
    """Raise unless value is a number in an interval such as "(0, 1]", or one of `words`.

    Returns
    -------
    float, int, str or None
        The value as a plain number of Python: single precision, fractions and extended precision
        would spread through all that follows.

    Examples
    --------
    >>> check_number("fdr", np.float32(0.5), "(0, 1)")
    0.5
    >>> check_number("fdr", 2, "(0, 1)")
    Traceback (most recent call last):
    ValueError: fdr=2 must be a number in (0, 1).
    """
    if value is None or isinstance(value, str):
        is_right = value in words
    elif isinstance(value, (bool, np.bool_)) or not isinstance(
        value, Integral if is_whole else Real
    ):
        is_right = False
    else:
        low, high = (float(end) for end in interval[1:-1].split(","))
        plain = int(value) if is_whole else _to_float(value)  # type: ignore[call-overload]  # a Real
        is_right = low < plain < high
        is_right |= (interval[0] == "[" and plain == low) or (interval[-1] == "]" and plain == high)
    if not is_right:
        kind = "a whole number" if is_whole else "a number"
        bounds = "" if interval == "(-inf, inf)" else f" in {interval}"
        others = "".join(f" or {word!r}" for word in words)
        raise ValueError(f"{name}={_shorten(value)} must be {kind}{bounds}{others}.")
    return value if value is None or isinstance(value, str) else plain


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _to_float(value: Any) -> float:
    """Return a number of any type as one of Python's; NaN if it is too large for that."""
    try:
        return float(value)
    except OverflowError:
        return float("nan")


def check_whole(name: str, value: object, low: float, *, words: tuple[str | None, ...] = ()) -> Any:
    """Return a value as a plain number; raise unless it is a whole one of at least `low`, or one of
    `words`.

    Examples
    --------
    >>> check_whole("n_folds", 1, 2)
    Traceback (most recent call last):
    ValueError: n_folds=1 must be a whole number in [2, inf).
    """
    interval = "(-inf, inf)" if low == -np.inf else f"[{low:g}, inf)"
    return check_number(name, value, interval, words=words, is_whole=True)


def check_choice(name: str, value: object, options: tuple[str, ...]) -> None:
    """Raise unless value is one of the options.

    Examples
    --------
    >>> check_choice("start", "robst", ("robust", "plain"))
    Traceback (most recent call last):
    ValueError: start='robst' must be one of ('robust', 'plain').
    """
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name}={value!r} must be one of {options}.")


def check_alpha(value: object, *, words: tuple[str | None, ...] = ("auto",)) -> Any:
    """Return a plain number; raise unless it is positive, infinity included, or one of `words`.

    Examples
    --------
    >>> check_alpha(float("inf"))
    inf
    >>> check_alpha(0.0)
    Traceback (most recent call last):
    ValueError: alpha=0.0 must be a number in (0, inf] or 'auto'.
    """
    return check_number("alpha", value, "(0, inf]", words=words)
