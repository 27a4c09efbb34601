"""Which unit to run next, given those that are finished.

Repetitions go in rounds, so that every method has some before any has all. A slow method gets as
many as its budget allows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from eosparse.comparison.runner.grid import TOO_SLOW, Grid, Plan, Row, Setting, Unit

# Units below a millisecond are not worth a larger estimate of how many fit into a budget.
_LEAST_SECONDS = 1e-3


class _Key(NamedTuple):
    """Identifies a cell: a method at a setting of a grid."""

    grid: str
    setting: str
    method: str


@dataclass
class _Cell:
    """A method at a setting: its place in the grid, and the seconds of finished repetitions."""

    grid: Grid
    setting: Setting
    method: str
    place: int
    repetitions: int
    seconds: dict[int, float] = field(default_factory=dict)

    @property
    def family(self) -> tuple[str, ...]:
        """What the cell shares with those that are skipped together with it."""
        return (self.grid.name, self.method, *(str(self.setting[n]) for n in self.grid.family))

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return sum(self.seconds.values())


class Schedule:
    """The units of some grids: which are finished, and which to run next.

    Parameters
    ----------
    grids : list of Grid
        What to run.
    plan : Plan
        How much of it.

    Examples
    --------
    >>> grid = Grid("g", ({"x": 1}, {"x": 2}), ("m",), work=lambda *unit: {})
    >>> schedule = Schedule([grid], Plan(repetitions=1))
    >>> schedule.record({"grid": "g", "setting": {"x": 1}, "method": "m", "repetition": 0,
    ...                  "status": "ok", "took": 2.0})
    >>> [unit.setting for unit in schedule.iterate_units()]
    [{'x': 2}]
    >>> schedule.estimate_seconds_left()
    2.0
    """

    def __init__(self, grids: list[Grid], plan: Plan) -> None:
        self.plan = plan
        self._cells = {
            _Key(grid.name, _identify(setting), method): _Cell(
                grid, setting, method, place, grid.count_repetitions(method, plan)
            )
            for grid in grids
            for place, setting in enumerate(grid.settings)
            for method in grid.methods
        }
        # The first place at which a method was stopped, by family.
        self._stopped: dict[tuple[str, ...], int] = {}

    def record(self, row: Row) -> None:
        """Take note of a finished unit. Units of other grids are ignored."""
        cell = self._cells.get(_Key(row["grid"], _identify(row["setting"]), row["method"]))
        if cell is None:
            return
        cell.seconds[row["repetition"]] = row["took"]
        if row["status"] == TOO_SLOW:
            before = self._stopped.get(cell.family, cell.place)
            self._stopped[cell.family] = min(before, cell.place)

    def iterate_units(self) -> Iterator[Unit]:
        """Yield units to run; each is chosen when it is asked for, by what is recorded then."""
        for repetition in range(self.plan.repetitions):
            for cell in self._cells.values():
                if self._is_due(cell, repetition):
                    yield Unit(cell.grid, cell.setting, cell.method, repetition)

    def estimate_seconds_left(self) -> float:
        """Return the seconds of all units still to run, judging by the finished ones."""
        known = [cell.spent / len(cell.seconds) for cell in self._cells.values() if cell.seconds]
        typical = float(np.mean(known)) if known else 1.0
        return sum(self._estimate_left(cell, typical) for cell in self._cells.values())

    def _is_skipped(self, cell: _Cell) -> bool:
        return cell.place >= self._stopped.get(cell.family, cell.place + 1)

    def _is_due(self, cell: _Cell, repetition: int) -> bool:
        is_over = repetition in cell.seconds or repetition >= cell.repetitions
        if is_over or self._is_skipped(cell):
            return False
        count, spent = len(cell.seconds), cell.spent
        return count < self.plan.least or spent + spent / count <= self.plan.budget

    def _estimate_left(self, cell: _Cell, typical: float) -> float:
        if self._is_skipped(cell):
            return 0.0
        each = cell.spent / len(cell.seconds) if cell.seconds else typical
        affordable = int(min(self.plan.budget / max(each, _LEAST_SECONDS), cell.repetitions))
        wanted = min(cell.repetitions, max(self.plan.least, affordable))
        return each * max(wanted - len(cell.seconds), 0)


def _identify(setting: Setting) -> str:
    return json.dumps(setting, sort_keys=True)
