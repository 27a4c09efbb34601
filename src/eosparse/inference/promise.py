"""May a false-discovery rate be promised? Only if good rows follow the law of the p-values.

P-values of good rows are uniform. Outliers have p-values of about zero, so the rows with p-values
from 1e-4 to 0.2 are nearly all good ones, and tell how well the law describes its own tail:

    their number        E = rows beyond 0.2, times 0.2/0.8
    mean of log(0.2/p)  E = 1, or a little less, since it is cut off at 1e-4

Both are compared with what chance allows, and with a tolerance: in a million rows every law is
rejected. Too few rows in the tail make p-values too large, which breaks no promise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eosparse.core import FloatArray

# P-values that count as the tail.
_TAIL, _FAR = 0.2, 1e-4
# Standard errors that chance allows before a law is given up, and before it is no more promised.
_CHANCE, _DOUBT = 3.0, 2.3
# More rows in the tail by this factor, and a mean larger by this, do no harm.
_MORE_ROWS, _LARGER_MEAN = 0.1, 0.06
# Mean and variance of an exponential variable that is cut off at log(0.2 / 1e-4).
_CUT = float(np.log(_TAIL / _FAR))
_BEYOND = float(np.exp(-_CUT))
_MEAN = 1 - _CUT * _BEYOND / (1 - _BEYOND)
_VARIANCE = 1 - _CUT**2 * _BEYOND / (1 - _BEYOND) ** 2


@dataclass(frozen=True)
class Promise:
    """Whether a false-discovery rate can be promised, and why; true if it can.

    Examples
    --------
    >>> from eosparse.inference import Promise
    >>> bool(Promise(False, "the rows follow no simple law"))
    False
    """

    holds: bool
    reason: str

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return f"{'yes' if self.holds else 'no'}: {self.reason}"


@dataclass(frozen=True)
class TailCheck:
    """How the p-values of rows compare with those of good rows; those of disjoint rows add up.

    Attributes
    ----------
    body : float
        Mass of the rows with p-values above 0.2.
    tail : float
        Mass of the rows with p-values between 1e-4 and 0.2.
    far : float
        Mass of the rows with smaller p-values.
    logs : float
        Sum of log(0.2/p) over the tail.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.inference import TailCheck
    >>> p = (np.arange(2000) + 0.5) / 2000
    >>> TailCheck.of(p, np.ones(2000)).passes, TailCheck.of(p**2, np.ones(2000)).passes
    (True, False)
    """

    body: float
    tail: float
    far: float
    logs: float

    @classmethod
    def of(cls, p_values: FloatArray, mass: FloatArray) -> TailCheck:
        """Count some rows."""
        in_tail = (p_values <= _TAIL) & (p_values > _FAR)
        return cls(
            body=float(mass[p_values > _TAIL].sum()),
            tail=float(mass[in_tail].sum()),
            far=float(mass[p_values <= _FAR].sum()),
            logs=float(mass[in_tail] @ np.log(_TAIL / p_values[in_tail])),
        )

    def __add__(self, other: TailCheck) -> TailCheck:
        return TailCheck(
            self.body + other.body,
            self.tail + other.tail,
            self.far + other.far,
            self.logs + other.logs,
        )

    def scale(self, factor: float) -> TailCheck:
        """Return the check for rows that count for less or more."""
        return TailCheck(*(factor * x for x in (self.body, self.tail, self.far, self.logs)))

    @property
    def total(self) -> float:
        """Mass of all rows."""
        return self.body + self.tail + self.far

    @property
    def believed(self) -> float:
        """Share of the rows that may be good ones."""
        return (self.body + self.tail) / self.total

    @property
    def excess(self) -> float:
        """How far the tail is too heavy, in units of what is allowed: above one, too heavy."""
        return self._measure_excess(_CHANCE)

    def _measure_excess(self, chance: float) -> float:
        expected = max(self.body * (_TAIL - _FAR) / (1 - _TAIL), 1.0)
        # The body that the expectation comes from varies too.
        deviation = np.sqrt(expected * (1 + _TAIL / (1 - _TAIL)))
        rows = (self.tail - expected) / (chance * deviation + _MORE_ROWS * expected)
        tail = max(self.tail, 1.0)
        allowed = chance * np.sqrt(_VARIANCE / tail) + _LARGER_MEAN
        return float(max(rows, (self.logs / tail - _MEAN) / allowed))

    @property
    def passes(self) -> bool:
        """Whether the rows that may be good follow the law, and are more than half."""
        return self.excess <= 1.0 and 2 * self.believed > 1.0

    @property
    def convinces(self) -> bool:
        """Whether the law may be relied upon: it passes without a doubt."""
        return self.passes and self._measure_excess(_DOUBT) <= 1.0

    @property
    def why_not(self) -> str:
        """Say in words what is wrong."""
        if 2 * self.believed <= 1.0:
            return f"only {self.believed:.0%} of the rows belong to it"
        return "too many rows lie far out for it"
