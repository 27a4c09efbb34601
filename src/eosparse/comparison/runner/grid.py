"""What to run: settings crossed with methods, repeated as far as a budget allows.

A unit is one repetition of one method at one setting of a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

Row = dict[str, Any]
Setting = dict[str, Any]
# From setting, method and repetition to results; a function that other processes can import.
Work = Callable[[Setting, str, int], Row]
OK, FAILED, TOO_SLOW = "ok", "failed", "time limit"


@dataclass(frozen=True)
class Plan:
    """How much to run: repetitions, and the seconds that slow methods may take.

    Attributes
    ----------
    repetitions : int
        Of each method at each setting.
    least : int
        Repetitions that even a slow method gets, unless it is stopped.
    budget : float
        Seconds after which a method gets no more repetitions at a setting.
    limit : float
        Seconds of processor time after which a unit is stopped.

    Examples
    --------
    >>> Plan(repetitions=50, least=2, budget=3.0, limit=30.0).limit
    30.0
    """

    repetitions: int = 1
    least: int = 1
    budget: float = math.inf
    limit: float = math.inf


def _prepare_nothing(method: str) -> None:
    """Do nothing before the clock of a unit starts."""


@dataclass(frozen=True)
class Grid:
    """Settings and methods to cross.

    Attributes
    ----------
    name : str
        Name in the store.
    settings : tuple of dict
        Settings, cheap ones first.
    methods : tuple of str
        Names of methods.
    work : callable
        Runs a unit.
    prepare : callable
        Loads what a method needs, before its clock starts.
    family : tuple of str
        Names of settings. A method that is stopped at one setting is skipped at all later ones
        that have the same values of these.
    repetitions : int or None
        At most this many repetitions, if fewer than planned are enough.
    once : tuple of str
        Methods that are not repeated, because all repetitions would be equal.
    limit : float or None
        Seconds after which a unit is stopped, if not those of the plan.

    Examples
    --------
    >>> settings = ({"rows": 10}, {"rows": 20})
    >>> grid = Grid("sizes", settings, ("LOF",), work=lambda *unit: {}, once=("LOF",))
    >>> grid.count_repetitions("LOF", Plan(repetitions=5))
    1
    """

    name: str
    settings: tuple[Setting, ...]
    methods: tuple[str, ...]
    work: Work
    prepare: Callable[[str], None] = _prepare_nothing
    family: tuple[str, ...] = ()
    repetitions: int | None = None
    once: tuple[str, ...] = ()
    limit: float | None = None

    def count_repetitions(self, method: str, plan: Plan) -> int:
        """Return how often a method is repeated at each setting."""
        if method in self.once:
            return 1
        return min(plan.repetitions, self.repetitions or plan.repetitions)

    def choose_limit(self, plan: Plan) -> float:
        """Return the seconds after which a unit is stopped."""
        return self.limit or plan.limit


class Unit(NamedTuple):
    """One repetition of a method at a setting, and the grid that says how to run it."""

    grid: Grid
    setting: Setting
    method: str
    repetition: int

    @property
    def row(self) -> Row:
        """The unit as it is stored, without its results."""
        return {
            "grid": self.grid.name,
            "setting": self.setting,
            "method": self.method,
            "repetition": self.repetition,
        }
