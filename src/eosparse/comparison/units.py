"""Units of a comparison: which are wanted, and running them side by side, each within a limit.

A unit is one repetition of one method at one setting of a grid. Repetitions go in rounds, so that
every method has some before any has all; a slow method gets fewer, as its budget allows.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from subprocess import TimeoutExpired
from typing import Any, NamedTuple

import numpy as np

from eosparse.comparison.in_r import R_LIMIT
from eosparse.comparison.store import Row, Store

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
        Repetitions that even a slow method gets.
    budget : float
        Seconds after which a method gets no more repetitions at a setting.
    limit : float
        Seconds after which a unit is stopped.
    """

    repetitions: int
    least: int
    budget: float
    limit: float


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
    family : tuple of str
        Settings equal in these are alike: a method too slow at one is not tried at later ones.
    repetitions : int or None
        Most repetitions, where fewer than planned make sense.
    once : tuple of str
        Methods whose repetitions would all be equal.
    """

    name: str
    settings: tuple[Setting, ...]
    methods: tuple[str, ...]
    work: Work
    family: tuple[str, ...] = ()
    repetitions: int | None = None
    once: tuple[str, ...] = ()


class Cell(NamedTuple):
    """What is repeated: a method at a setting of a grid."""

    grid: str
    setting: str
    method: str


def cell_of(row: Row) -> Cell:
    """Return the cell that a kept unit belongs to."""
    return Cell(row["grid"], json.dumps(row["setting"], sort_keys=True), row["method"])


@dataclass
class Ledger:
    """What has been done, and so what is wanted next."""

    plan: Plan
    done: dict[Cell, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    too_slow: set[tuple[str, str, str]] = field(default_factory=set)
    families: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def enter(self, row: Row) -> None:
        """Take note of a finished unit."""
        self.done[cell_of(row)][row["repetition"]] = row["took"]
        if row["status"] == TOO_SLOW:
            self.too_slow.add(self._family(row["grid"], row["setting"], row["method"]))

    def _family(self, grid: str, setting: Setting, method: str) -> tuple[str, str, str]:
        alike = {name: setting.get(name) for name in self.families.get(grid, ())}
        return grid, json.dumps(alike, sort_keys=True), method

    def wants(self, grid: Grid, setting: Setting, method: str, repetition: int) -> bool:
        """Whether a unit should be run."""
        done = self.done[Cell(grid.name, json.dumps(setting, sort_keys=True), method)]
        most = self.most(grid, method)
        if repetition in done or repetition >= most:
            return False
        if self._family(grid.name, setting, method) in self.too_slow:
            return False
        spent = sum(done.values())
        return len(done) < self.plan.least or spent + spent / len(done) <= self.plan.budget

    def most(self, grid: Grid, method: str) -> int:
        """Repetitions wanted of a method."""
        if method in grid.once:
            return 1
        return min(self.plan.repetitions, grid.repetitions or self.plan.repetitions)

    def seconds_left(self, grids: list[Grid]) -> float:
        """Guess the seconds of all units still wanted, by what those before them took."""
        known = [sum(done.values()) / len(done) for done in self.done.values() if done]
        typical = float(np.mean(known)) if known else 1.0
        return sum(
            self._cell_left(grid, setting, method, typical)
            for grid in grids
            for setting in grid.settings
            for method in grid.methods
        )

    def _cell_left(self, grid: Grid, setting: Setting, method: str, typical: float) -> float:
        if self._family(grid.name, setting, method) in self.too_slow:
            return 0.0
        done = self.done[Cell(grid.name, json.dumps(setting, sort_keys=True), method)]
        each = sum(done.values()) / len(done) if done else typical
        affordable = max(self.plan.least, int(self.plan.budget / max(each, 1e-3)))
        return each * max(min(self.most(grid, method), affordable) - len(done), 0)


@dataclass(frozen=True)
class Standing:
    """What an observer sees after each unit."""

    n_done: int
    seconds_left: float
    last: Row


Observer = Callable[[Standing], None]


def run_grids(
    grids: list[Grid], plan: Plan, store: Store, n_workers: int, observe: Observer | None = None
) -> None:
    """Run the units that are wanted and not yet kept; each is kept as soon as it is done."""
    from pebble import ProcessPool  # type: ignore[import-untyped,unused-ignore]

    ledger = Ledger(plan, families={grid.name: grid.family for grid in grids})
    for row in store.kept():
        ledger.enter(row)
    units, pending = _wanted(grids, ledger), dict[Future[Row], Row]()
    n_done = 0
    with _single_threaded(), _pool(ProcessPool, n_workers) as pool:
        while _top_up(pool, units, pending, n_workers, plan.limit) or pending:
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                row = pending.pop(future) | _outcome(future, plan.limit)
                store.keep(row)
                ledger.enter(row)
                n_done += 1
                if observe is not None:
                    left = ledger.seconds_left(grids) / n_workers
                    observe(Standing(n_done, left, row))


def _wanted(grids: list[Grid], ledger: Ledger) -> Iterator[tuple[Grid, Row]]:
    """Yield the units wanted at the moment each is asked for."""
    for repetition in range(ledger.plan.repetitions):
        for grid in grids:
            for setting in grid.settings:
                for method in grid.methods:
                    if ledger.wants(grid, setting, method, repetition):
                        unit = {"grid": grid.name, "setting": setting, "method": method}
                        yield grid, unit | {"repetition": repetition}


def _top_up(
    pool: Any,
    units: Iterator[tuple[Grid, Row]],
    pending: dict[Future[Row], Row],
    n_workers: int,
    limit: float,
) -> bool:
    """Hand out units while workers are free; whether any was."""
    begun = False
    while len(pending) < n_workers and (unit := next(units, None)) is not None:
        grid, row = unit
        arguments = (grid.work, row["setting"], row["method"], row["repetition"], limit)
        pending[pool.schedule(attempt, args=arguments, timeout=limit)] = row
        begun = True
    return begun


def attempt(work: Work, setting: Setting, method: str, repetition: int, limit: float) -> Row:
    """Run a unit; a method that fails is a row that says so."""
    R_LIMIT.set(0.9 * limit)
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            row = work(setting, method, repetition)
    except TimeoutExpired:
        return _too_slow(limit)
    except Exception as error:  # whatever a method raises
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
        return {"status": FAILED, "took": time.perf_counter() - begun, "reason": reason}
    return {"status": OK, "took": time.perf_counter() - begun} | row


def _too_slow(limit: float) -> Row:
    return {"status": TOO_SLOW, "took": limit, "reason": f"over {limit:g} s"}


def _outcome(future: Future[Row], limit: float) -> Row:
    try:
        return future.result()
    except TimeoutError:
        return _too_slow(limit)
    except Exception as error:  # the worker died
        return {"status": FAILED, "took": 0.0, "reason": f"the process ended: {error}"[:200]}


@contextmanager
def _pool(make: Any, n_workers: int) -> Iterator[Any]:
    """Worker processes that are stopped when anything goes wrong here, Ctrl-C included."""
    import multiprocessing

    pool = make(max_workers=n_workers, context=multiprocessing.get_context("spawn"))
    try:
        yield pool
        pool.close()
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.join()


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Let workers, which inherit the environment, compute on one thread each."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
