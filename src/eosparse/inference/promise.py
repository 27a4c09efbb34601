"""May a false-discovery rate be promised? Only if good rows follow the law of the p-values.

P-values of good rows are uniform, and outliers are flagged, so that the rows with p-values between
the level of the flags and 0.2 are nearly all good ones. They tell how well the law describes its
own tail. With ``low`` well above that level,

    their number        E = rows beyond 0.2, times (0.2 - low)/0.8
    mean of log(0.2/p)  E = 1, or a little less, since it is cut off at low

Both are compared with what chance allows, and with a tolerance: in a million rows every law is
rejected. Too few rows in the tail make p-values too large, which breaks no promise; but where
hardly any row is near the middle, the rows are a ring or groups, and the law describes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eosparse.core import FloatArray

# P-values that count as the tail: up to this one, and down to this, or to this many times the level
# of the flags.
_TAIL, _FAR, _ABOVE_FLAGS = 0.2, 1e-4, 3.0
# P-values of flagged rows that lie just beyond the tail: down to this part of where it ends.
_NEAR = 1e-4
# Standard errors that chance allows before a law is given up, and before it is no more promised.
_CHANCE, _DOUBT = 3.0, 2.3
# More rows in the tail by this factor, and a mean larger by this, do no harm.
_MORE_ROWS, _LARGER_MEAN = 0.1, 0.06
# Mean product of squares, each less one, that does no harm: two directions are that independent.
_JOINT = 0.03
# P-values of the rows nearest to the middle, and the part of their expected number that must be
# there.
_MIDDLE, _LEAST_MIDDLE = 0.8, 1 / 3


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
        Mass of the rows with p-values between `low` and 0.2.
    far : float
        Mass of the rows with smaller p-values.
    logs : float
        Sum of log(0.2/p) over the tail.
    middle : float
        Mass of the rows with p-values above 0.8.
    low : float
        Where the tail ends.
    flagged : float
        Mass of the rows up to the level of the flags.
    near : float
        Mass of those among them that lie just beyond: outliers that are gross errors lie farther.

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
    middle: float
    low: float = _FAR
    flagged: float = 0.0
    near: float = 0.0

    @classmethod
    def of(cls, p_values: FloatArray, mass: FloatArray, flagged_at: float = 0.0) -> TailCheck:
        """Count some rows; given is the p-value up to which rows are flagged."""
        low = min(max(_FAR, _ABOVE_FLAGS * flagged_at), _TAIL / 2)
        in_tail = (p_values <= _TAIL) & (p_values > low)
        return cls(
            body=float(mass[p_values > _TAIL].sum()),
            tail=float(mass[in_tail].sum()),
            far=float(mass[p_values <= low].sum()),
            logs=float(mass[in_tail] @ np.log(_TAIL / p_values[in_tail])),
            middle=float(mass[p_values > _MIDDLE].sum()),
            low=low,
            flagged=float(mass[p_values <= flagged_at].sum()),
            near=float(mass[(p_values <= flagged_at) & (p_values > _NEAR * low)].sum()),
        )

    def __add__(self, other: TailCheck) -> TailCheck:
        return TailCheck(
            self.body + other.body,
            self.tail + other.tail,
            self.far + other.far,
            self.logs + other.logs,
            self.middle + other.middle,
            self.low,
            self.flagged + other.flagged,
            self.near + other.near,
        )

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
        expected = max(self.body * (_TAIL - self.low) / (1 - _TAIL), 1.0)
        # The body that the expectation comes from varies too.
        deviation = np.sqrt(expected * (1 + _TAIL / (1 - _TAIL)))
        rows = (self.tail - expected) / (chance * deviation + _MORE_ROWS * expected)
        tail = max(self.tail, 1.0)
        mean, variance = _cut_exponential(float(np.log(_TAIL / self.low)))
        allowed = chance * np.sqrt(variance / tail) + _LARGER_MEAN
        return float(max(rows, (self.logs / tail - mean) / allowed))

    @property
    def is_hollow(self) -> bool:
        """Whether hardly any row is near the middle."""
        expected = self.body * (1 - _MIDDLE) / (1 - _TAIL)
        most = self.middle + _CHANCE * float(np.sqrt(max(self.middle, 1.0)))
        return most < _LEAST_MIDDLE * expected

    @property
    def passes(self) -> bool:
        """Whether the rows that may be good follow the law, and are more than half."""
        return self.excess <= 1.0 and 2 * self.believed > 1.0 and not self.is_hollow

    @property
    def convinces(self) -> bool:
        """Whether the law may be relied upon: it passes without a doubt."""
        return self.passes and self._measure_excess(_DOUBT) <= 1.0

    @property
    def why_not(self) -> str:
        """Say in words what is wrong."""
        if 2 * self.believed <= 1.0:
            return f"only {self.believed:.0%} of the rows belong to it"
        return (
            "hardly any row is near its middle"
            if self.is_hollow
            else ("too many rows lie far out for it")
        )


def have_joint_tails(white: FloatArray, mass: FloatArray) -> bool:
    """Whether rows that lie far out in one direction do so in others too.

    Parameters
    ----------
    white : array of shape (n_rows, n_directions)
        Good rows in coordinates in which their covariance is the identity.
    mass : array of shape (n_rows,)
        Their prior weights.

    Returns
    -------
    bool
        Coordinates of Gaussian rows are independent, so that the products of two squares, each
        less its mean, average to zero, with a deviation of 2 for a row and a pair. For rows of
        Student's law with ν degrees of freedom, all columns at once, they average to 2/(ν-4).

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.inference import have_joint_tails
    >>> rng = np.random.default_rng(0)
    >>> rows, spread = rng.normal(size=(1000, 3)), rng.chisquare(5, 1000) / 5
    >>> have_joint_tails(rows, np.ones(1000)), have_joint_tails(
    ...     rows / np.sqrt(spread)[:, None], np.ones(1000)
    ... )
    (False, True)
    """
    n_pairs = white.shape[1] * (white.shape[1] - 1) / 2
    if n_pairs == 0:
        return False
    share = mass / mass.sum()
    squares = np.square(white)
    squares -= share @ squares
    products = (squares.sum(axis=1) ** 2 - np.einsum("ij,ij->i", squares, squares)) / 2
    chance = 2 / np.sqrt(n_pairs * mass.sum())
    return bool(share @ products / n_pairs > _JOINT + _DOUBT * chance)


def _cut_exponential(cut: float) -> tuple[float, float]:
    """Return mean and variance of an exponential variable that is cut off."""
    beyond = float(np.exp(-cut))
    rest = 1 - beyond
    return 1 - cut * beyond / rest, 1 - cut**2 * beyond / rest**2
