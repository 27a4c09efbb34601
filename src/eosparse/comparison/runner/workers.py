"""Run units in processes of their own, each within a time limit."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import TimeoutExpired
from typing import Any

import numpy as np

from eosparse.comparison.peers.in_r import R_LIMIT
from eosparse.comparison.runner.grid import FAILED, OK, TOO_SLOW, Grid, Plan, Row, Unit, Work
from eosparse.comparison.runner.schedule import Schedule
from eosparse.comparison.runner.store import Store

# The limit is one of processor time. By the clock a unit gets more: the machine may be busy, and a
# new process loads and compiles what a method needs.
_CLOCK_FACTOR = 3.0
_SECONDS_TO_LOAD = 60.0
# An estimate looks at every cell, so it is not made after every unit.
_SECONDS_BETWEEN_ESTIMATES = 2.0
# Enough to recognise an error, in one line of a table.
_LONGEST_REASON = 200


@dataclass(frozen=True)
class Workers:
    """The processes that run units.

    Attributes
    ----------
    count : int
        Units that run at the same time. With 1, a unit has the machine for itself, as it must if
        its seconds count.
    threads : int or None
        Threads of each process; None for as many as its libraries choose.
    units_each : int
        Units after which a process is replaced by a new one; 0 for never. With 1, no unit sees
        the memory or the caches of another.

    Examples
    --------
    >>> Workers(count=2)
    Workers(count=2, threads=1, units_each=0)
    >>> Workers(count=1, threads=None, units_each=1)  # to time units that use all cores
    Workers(count=1, threads=None, units_each=1)
    """

    count: int = 1
    threads: int | None = 1
    units_each: int = 0


@dataclass(frozen=True)
class Standing:
    """How far a run has come: units done, seconds left, and the last unit."""

    n_done: int
    seconds_left: float
    last: Row


Observer = Callable[[Standing], None]


def run_grids(
    grids: list[Grid],
    plan: Plan,
    store: Store,
    workers: Workers,
    observe: Observer | None = None,
) -> None:
    """Run the units that are planned and not yet stored; each is stored as soon as it is done.

    Parameters
    ----------
    grids : list of Grid
        What to run. Their functions must be importable by other processes.
    plan : Plan
        How much of it.
    store : Store
        Where units are kept. Open it first.
    workers : Workers
        How many processes, and threads in each.
    observe : callable, optional
        Called now and then with a `Standing`, and after the last unit.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> with store.open({"version": 1}):
    ...     run_grids([], Plan(), store, Workers())
    >>> store.read_units()
    []
    """
    schedule = Schedule(grids, plan)
    for row in store.read_units():
        schedule.record(row)
    units, pending = schedule.iterate_units(), dict[Future[Row], Unit]()
    n_done, observed = 0, -math.inf
    with _limit_threads(workers.threads), _start_pool(workers) as pool:
        while _submit_units(pool, units, pending, workers, plan) or pending:
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                unit = pending.pop(future)
                row = unit.row | _read_outcome(future, unit.grid.choose_limit(plan))
                store.append(row)
                schedule.record(row)
                n_done += 1
            is_time = time.monotonic() - observed > _SECONDS_BETWEEN_ESTIMATES
            if observe is not None and (is_time or not pending):
                left = schedule.estimate_seconds_left() / workers.count
                observe(Standing(n_done, left, row))
                observed = time.monotonic()


def _submit_units(
    pool: Any,
    units: Iterator[Unit],
    pending: dict[Future[Row], Unit],
    workers: Workers,
    plan: Plan,
) -> bool:
    """Submit a second unit for each worker, so that none is idle; return whether any was left."""
    has_submitted = False
    while len(pending) < 2 * workers.count and (unit := next(units, None)) is not None:
        limit = unit.grid.choose_limit(plan)
        arguments = (
            unit.grid.prepare, unit.grid.work, unit.setting, unit.method, unit.repetition, limit
        )  # fmt: skip
        by_clock = _CLOCK_FACTOR * limit + _SECONDS_TO_LOAD
        timeout = by_clock if math.isfinite(limit) else None
        pending[pool.schedule(attempt, args=arguments, timeout=timeout)] = unit
        has_submitted = True
    return has_submitted


def attempt(
    prepare: Callable[[str], None],
    work: Work,
    setting: dict[str, Any],
    method: str,
    repetition: int,
    limit: float,
) -> Row:
    """Run a unit; if the method fails, return a row with the reason."""
    R_LIMIT.set(limit if math.isfinite(limit) else None)
    begun = _measure_processor_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            prepare(method)
            begun = _measure_processor_time()
            with _limit_processor_time(limit):
                row = work(setting, method, repetition)
    except TimeoutExpired:
        return _describe_timeout(limit)
    except Exception as error:  # whatever a method raises
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:_LONGEST_REASON]
        return {"status": FAILED, "took": _measure_processor_time() - begun, "reason": reason}
    return {"status": OK, "took": _measure_processor_time() - begun} | row


def _measure_processor_time() -> float:
    """Return the seconds of this process and of those that it waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@contextmanager
def _limit_processor_time(seconds: float) -> Iterator[None]:
    """End this process once it has computed for so long, in Python or in a library."""
    if not hasattr(signal, "setitimer") or not math.isfinite(seconds):
        yield  # without such a timer, the clock of the parent process has to do
        return
    before = signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _describe_timeout(limit: float, measured: str = "") -> Row:
    return {"status": TOO_SLOW, "took": limit, "reason": f"over {limit:g} s{measured}"}


def _read_outcome(future: Future[Row], limit: float) -> Row:
    try:
        return future.result()
    except TimeoutError:
        return _describe_timeout(_CLOCK_FACTOR * limit, " by the clock")
    except Exception as error:  # the worker died
        if getattr(error, "exitcode", None) == -getattr(signal, "SIGPROF", 0):
            return _describe_timeout(limit)
        reason = f"the process ended: {error}"[:_LONGEST_REASON]
        return {"status": FAILED, "took": 0.0, "reason": reason}


@contextmanager
def _start_pool(workers: Workers) -> Iterator[Any]:
    """Start worker processes, and stop them if anything goes wrong here, Ctrl-C included."""
    from pebble import ProcessPool

    pool: Any = ProcessPool(
        max_workers=workers.count,
        max_tasks=workers.units_each,
        context=multiprocessing.get_context("spawn"),
        initializer=_watch_parent,
    )
    try:
        yield pool
        pool.close()
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.join()


def _watch_parent() -> None:
    """End this worker soon after the process that started it was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _limit_threads(threads: int | None) -> Iterator[None]:
    """Set the threads of workers, which inherit the environment."""
    if threads is None:
        yield
        return
    kinds = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
    names = [*(f"{kind}_NUM_THREADS" for kind in kinds), "VECLIB_MAXIMUM_THREADS"]
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
