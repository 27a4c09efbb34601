"""Families of curves that bring a column to a normal law, each with up to two free numbers.

    line       z = a + b x
    power      z = a + b ((y^λ - 1) / λ),  y = (x - x₀)/r + s     skewed columns; λ = 0 is the log
    Student's  z = a + b Φ⁻¹(F_ν(y r_ν)),  y = (x - x₀)/r         heavy tails on both sides

with r_ν the interquartile range of Student's law with ν degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from eosparse.core import FloatArray

Box = tuple[tuple[float, float], tuple[float, float]]
"""The least and the largest value of each free number."""


class Family(Protocol):
    """A curve with two free numbers, of columns in units of their quartiles."""

    box: ClassVar[Box]

    def curve(self, y: FloatArray, first: FloatArray, second: FloatArray, /) -> FloatArray:
        """Return the curve at y for each pair of free numbers."""
        ...

    def invert(self, value: FloatArray, first: float, second: float, /) -> FloatArray:
        """Return where the curve has a value."""
        ...


@dataclass(frozen=True)
class Line:
    """The identity, for columns that are normal, or that nothing makes normal."""

    box: ClassVar[Box] = ((0.0, 0.0), (0.0, 0.0))

    def curve(self, y: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:  # noqa: ARG002  # no free numbers
        """Return y."""
        return y

    def invert(self, value: FloatArray, first: float, second: float) -> FloatArray:  # noqa: ARG002  # no free numbers
        """Return the value."""
        return value


@dataclass(frozen=True)
class Power:
    """Box and Cox's power λ of y + s, with log s as second number.

    Below zero, the lowest quantile that it was fitted to, it follows its tangent: there may be a
    bound near by, and nothing tells where.
    """

    box: ClassVar[Box] = ((-0.5, 1.0), (-6.0, 3.0))

    def curve(self, y: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the power, and its tangent below zero."""
        offset = np.exp(second)
        above = _box_cox(np.maximum(y, 0.0) + offset, first)
        return np.asarray(above + np.minimum(y, 0.0) * offset ** (first - 1.0))

    def invert(self, value: FloatArray, first: float, second: float) -> FloatArray:
        """Return where the curve has a value."""
        offset = float(np.exp(second))
        at_zero = float(_box_cox(np.array(offset), np.array(first)))
        above, below = np.maximum(value, at_zero), np.minimum(value - at_zero, 0.0)
        base = np.maximum(1.0 + first * above, 1e-300)  # a negative power ends at a finite value
        risen = np.exp(above) if abs(first) < _LOG_POWER else base ** (1 / first)
        return np.asarray(risen - offset + below / offset ** (first - 1.0))


_LOG_POWER = 1e-6


def _box_cox(y: FloatArray, power: FloatArray) -> FloatArray:
    is_log = np.abs(power) < _LOG_POWER
    divisor = np.where(is_log, 1.0, power)
    risen = np.where(is_log, np.log(y), (y**divisor - 1.0) / divisor)
    return np.asarray(risen)


# Chances that are still computed well; beyond, scores grow with the logarithm of the distance.
_LEAST_CHANCE = 1e-40
_LARGEST_SCORE = -float(ndtri(_LEAST_CHANCE))


@dataclass(frozen=True)
class Student:
    """Normal scores of Student's law; the first number is 1/ν, the second is not used.

    No other curve will do: of one that fits the middle of Student's law as well, such as Tukey's h,
    p-values of one in ten thousand are too small by a factor of two.
    """

    box: ClassVar[Box] = ((0.01, 1.0), (0.0, 0.0))

    def curve(self, y: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:  # noqa: ARG002  # one free number
        """Return the normal score of the chance of y."""
        freedom = 1.0 / first
        farthest = -stdtrit(freedom, _LEAST_CHANCE)
        length = np.minimum(np.abs(y) * 2 * stdtrit(freedom, 0.75), 1e300)
        beyond = np.log(np.maximum(length / farthest, 1.0))
        score = -ndtri(stdtr(freedom, -np.minimum(length, farthest)))
        return np.asarray(np.sign(y) * (score + beyond))

    def invert(self, value: FloatArray, first: float, second: float) -> FloatArray:  # noqa: ARG002  # one free number
        """Return where the curve has a value."""
        freedom, length = 1.0 / first, np.abs(value)
        within = -stdtrit(freedom, ndtr(-np.minimum(length, _LARGEST_SCORE)))
        beyond = np.exp(np.clip(length - _LARGEST_SCORE, 0.0, 300.0))
        return np.asarray(np.sign(value) * within * beyond / (2 * stdtrit(freedom, 0.75)))
