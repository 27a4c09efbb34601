"""Checks of the numbers that a model was given; estimators check their own parameters."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np


def check_whole(name: str, value: object, low: float) -> None:
    """Raise unless value is a whole number from low on."""
    is_truth = isinstance(value, (bool, np.bool_))
    if is_truth or not isinstance(value, Integral) or value < low:
        bounds = "" if low == -np.inf else f" in [{low:g}, inf)"
        raise ValueError(f"{name}={value!r} must be a whole number{bounds}.")


def check_number(name: str, value: object, low: float, *, is_open: bool = False) -> None:
    """Raise unless value is a finite number from low on, or above it."""
    is_truth = isinstance(value, (bool, np.bool_))
    number = float(value) if isinstance(value, Real) and not is_truth else np.nan
    if not (low < number < np.inf or (number == low and not is_open)):
        words = "above" if is_open else "from"
        raise ValueError(f"{name}={value!r} must be a finite number {words} {low:g}.")
