"""Checks of the numbers and words that people pass: errors name the parameter and its range."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np


def check_number(
    name: str,
    value: object,
    interval: str,
    *,
    words: tuple[str | None, ...] = (),
    is_whole: bool = False,
) -> None:
    """Raise unless value is a number in an interval such as "(0, 1]", or one of `words`.

    Examples
    --------
    >>> check_number("fdr", 0.05, "(0, 1)")
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
        is_right = low < float(value) < high
        is_right |= (interval[0] == "[" and value == low) or (interval[-1] == "]" and value == high)
    if not is_right:
        kind = "a whole number" if is_whole else "a number"
        bounds = "" if interval == "(-inf, inf)" else f" in {interval}"
        others = "".join(f" or {word!r}" for word in words)
        raise ValueError(f"{name}={value!r} must be {kind}{bounds}{others}.")


def check_whole(
    name: str, value: object, low: float, *, words: tuple[str | None, ...] = ()
) -> None:
    """Raise unless value is a whole number of at least `low`, or one of `words`.

    Examples
    --------
    >>> check_whole("n_folds", 1, 2)
    Traceback (most recent call last):
    ValueError: n_folds=1 must be a whole number in [2, inf).
    """
    interval = "(-inf, inf)" if low == -np.inf else f"[{low:g}, inf)"
    check_number(name, value, interval, words=words, is_whole=True)


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


def check_alpha(value: object, *, words: tuple[str | None, ...] = ("auto",)) -> None:
    """Raise unless value is a positive number, infinity included, or one of `words`.

    Examples
    --------
    >>> check_alpha(float("inf"))
    >>> check_alpha(0.0)
    Traceback (most recent call last):
    ValueError: alpha=0.0 must be a number in (0, inf] or 'auto'.
    """
    check_number("alpha", value, "(0, inf]", words=words)
