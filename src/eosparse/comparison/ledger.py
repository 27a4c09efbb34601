"""Which units are wanted: settings crossed with methods, repeated as far as a budget goes.

A unit is one repetition of one method at one setting of a grid. Repetitions go in rounds, so that
every method has some before any has all; a slow method gets fewer, as its budget allows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from eosparse.comparison.store import Row

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
        Wanted of each method at each setting.
    least : int
        Repetitions that even a slow method gets, unless it is stopped.
    budget : float
        Seconds after which a method gets no more repetitions at a setting.
    limit : float
        Seconds after which a unit is stopped.
    """

    repetitions: int
    least: int
    budget: float
    limit: float


def _nothing(method: str) -> None:
    """Prepare nothing."""


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
        Settings equal in these are alike: a method stopped at one is not tried there or at those
        that come later.
    repetitions : int or None
        Most repetitions, where fewer than planned make sense.
    once : tuple of str
        Methods whose repetitions would all be equal.
    limit : float or None
        Seconds after which a unit is stopped, where another number than planned makes sense.
    """

    name: str
    settings: tuple[Setting, ...]
    methods: tuple[str, ...]
    work: Work
    prepare: Callable[[str], None] = _nothing
    family: tuple[str, ...] = ()
    repetitions: int | None = None
    once: tuple[str, ...] = ()
    limit: float | None = None

    def most(self, method: str, plan: Plan) -> int:
        """Repetitions wanted of a method."""
        if method in self.once:
            return 1
        return min(plan.repetitions, self.repetitions or plan.repetitions)

    def most_seconds(self, plan: Plan) -> float:
        """Seconds after which a unit is stopped."""
        return self.limit or plan.limit


class Cell(NamedTuple):
    """What is repeated: a method at a setting of a grid."""

    grid: str
    setting: str
    method: str


class Unit(NamedTuple):
    """One repetition of a cell, and how to run it."""

    grid: Grid
    setting: Setting
    method: str
    repetition: int

    @property
    def row(self) -> Row:
        """The unit as it is kept, without its results."""
        return {
            "grid": self.grid.name,
            "setting": self.setting,
            "method": self.method,
            "repetition": self.repetition,
        }


@dataclass
class _Account:
    """A cell: where it stands in its grid, and the seconds of each repetition done."""

    grid: Grid
    setting: Setting
    method: str
    place: int
    most: int
    done: dict[int, float] = field(default_factory=dict)

    @property
    def family(self) -> tuple[str, ...]:
        """What it shares with settings like its own."""
        return (self.grid.name, self.method, *(str(self.setting[n]) for n in self.grid.family))

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return sum(self.done.values())


class Ledger:
    """What has been done, and so what is wanted next."""

    def __init__(self, grids: list[Grid], plan: Plan) -> None:
        self.plan = plan
        self.accounts = {
            Cell(grid.name, _key(setting), method): _Account(
                grid, setting, method, place, grid.most(method, plan)
            )
            for grid in grids
            for place, setting in enumerate(grid.settings)
            for method in grid.methods
        }
        # The first place at which a method was stopped, by family.
        self.barred: dict[tuple[str, ...], int] = {}

    def enter(self, row: Row) -> None:
        """Take note of a finished unit; those of other grids count for nothing."""
        account = self.accounts.get(Cell(row["grid"], _key(row["setting"]), row["method"]))
        if account is None:
            return
        account.done[row["repetition"]] = row["took"]
        if row["status"] == TOO_SLOW:
            before = self.barred.get(account.family, account.place)
            self.barred[account.family] = min(before, account.place)

    def _is_barred(self, account: _Account) -> bool:
        return account.place >= self.barred.get(account.family, account.place + 1)

    def _wants(self, account: _Account, repetition: int) -> bool:
        if repetition in account.done or repetition >= account.most or self._is_barred(account):
            return False
        count, spent = len(account.done), account.spent
        return count < self.plan.least or spent + spent / count <= self.plan.budget

    def wanted(self) -> Iterator[Unit]:
        """Yield the units wanted at the moment each is asked for."""
        for repetition in range(self.plan.repetitions):
            for account in self.accounts.values():
                if self._wants(account, repetition):
                    yield Unit(account.grid, account.setting, account.method, repetition)

    def seconds_left(self) -> float:
        """Guess the seconds of all units still wanted, by what those before them took."""
        known = [account.spent / len(account.done) for account in self._begun()]
        typical = float(np.mean(known)) if known else 1.0
        return sum(self._left(account, typical) for account in self.accounts.values())

    def _begun(self) -> Iterator[_Account]:
        return (account for account in self.accounts.values() if account.done)

    def _left(self, account: _Account, typical: float) -> float:
        if self._is_barred(account):
            return 0.0
        each = account.spent / len(account.done) if account.done else typical
        affordable = max(self.plan.least, int(self.plan.budget / max(each, 1e-3)))
        return each * max(min(account.most, affordable) - len(account.done), 0)


def _key(setting: Setting) -> str:
    return json.dumps(setting, sort_keys=True)
