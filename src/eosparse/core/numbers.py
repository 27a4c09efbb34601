"""Checks of the numbers and words that people pass: errors name the parameter and its range."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np


def check_number(
    name: str, value: object, interval: str, *, words: tuple[str | None, ...] = ()
) -> None:
    """Raise unless value is a real number in an interval such as "(0, 1]", or one of some words.

    Examples
    --------
    >>> check_number("fdr", 0.05, "(0, 1)")
    >>> check_number("fdr", 2, "(0, 1)")
    Traceback (most recent call last):
    ValueError: fdr=2 must be a number in (0, 1).
    """
    if value is None or isinstance(value, str):
        is_right = value in words
    else:
        is_right = isinstance(value, Real) and _is_in(value, interval)
    if not is_right:
        raise ValueError(f"{name}={value!r} must be a number in {interval}{_list(words)}.")


def check_whole(
    name: str, value: object, low: float, *, words: tuple[str | None, ...] = ()
) -> None:
    """Raise unless value is a whole number from low on, or one of some words."""
    if value is None or isinstance(value, str):
        is_right = value in words
    else:
        is_right = isinstance(value, Integral) and _is_in(value, f"[{low}, inf)")
    if not is_right:
        bounds = "" if low == -np.inf else f" in [{low:g}, inf)"
        raise ValueError(f"{name}={value!r} must be a whole number{bounds}{_list(words)}.")


def check_choice(name: str, value: object, options: tuple[str, ...]) -> None:
    """Raise unless value is one of some words."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name}={value!r} must be one of {options}.")


def check_alpha(value: object, *, words: tuple[str | None, ...] = ("auto",)) -> None:
    """Raise unless value is a positive number or one of some words; infinity weighs rows alike."""
    check_number("alpha", value, "(0, inf]", words=words)


def _is_in(value: object, interval: str) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return False
    number = float(value)  # type: ignore[arg-type]  # a real number
    low, high = (float(end) for end in interval[1:-1].split(","))
    from_low = number > low or (interval[0] == "[" and number == low)
    return from_low and (number < high or (interval[-1] == "]" and number == high))


def _list(words: tuple[str | None, ...]) -> str:
    return "".join(f" or {word!r}" for word in words)
