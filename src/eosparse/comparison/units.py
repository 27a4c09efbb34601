"""Running units side by side in processes of their own, each within a time limit."""

from __future__ import annotations

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

from eosparse.comparison.in_r import R_LIMIT
from eosparse.comparison.ledger import FAILED, OK, TOO_SLOW, Grid, Ledger, Plan, Unit, Work
from eosparse.comparison.store import Row, Store

# The limit is one of processor time. By the clock a unit gets more: the machine may be busy, and a
# new process loads and compiles what a method needs.
_PATIENCE = 3.0
_SECONDS_TO_LOAD = 60.0
_SECONDS_BETWEEN_GUESSES = 2.0


@dataclass(frozen=True)
class Standing:
    """What an observer sees now and then."""

    n_done: int
    seconds_left: float
    last: Row


Observer = Callable[[Standing], None]


def run_grids(
    grids: list[Grid], plan: Plan, store: Store, n_workers: int, observe: Observer | None = None
) -> None:
    """Run the units that are wanted and not yet kept; each is kept as soon as it is done."""
    ledger = Ledger(grids, plan)
    for row in store.kept():
        ledger.enter(row)
    units, pending = ledger.wanted(), dict[Future[Row], Unit]()
    n_done, told = 0, -np.inf
    with _single_threaded(), _pool(n_workers) as pool:
        while _top_up(pool, units, pending, n_workers, plan) or pending:
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                unit = pending.pop(future)
                row = unit.row | _outcome(future, unit.grid.most_seconds(plan))
                store.keep(row)
                ledger.enter(row)
                n_done += 1
            # The guess looks at every cell: not after every unit.
            if observe is not None and (
                time.monotonic() - told > _SECONDS_BETWEEN_GUESSES or not pending
            ):
                observe(Standing(n_done, ledger.seconds_left() / n_workers, row))
                told = time.monotonic()


def _top_up(
    pool: Any,
    units: Iterator[Unit],
    pending: dict[Future[Row], Unit],
    n_workers: int,
    plan: Plan,
) -> bool:
    """Hand out units, so that no worker waits for this process; whether any was left."""
    begun = False
    while len(pending) < 2 * n_workers and (unit := next(units, None)) is not None:
        work, limit = (unit.grid.prepare, unit.grid.work), unit.grid.most_seconds(plan)
        arguments = (*work, unit.setting, unit.method, unit.repetition, limit)
        patience = _PATIENCE * limit + _SECONDS_TO_LOAD
        pending[pool.schedule(attempt, args=arguments, timeout=patience)] = unit
        begun = True
    return begun


def attempt(
    prepare: Callable[[str], None],
    work: Work,
    setting: dict[str, Any],
    method: str,
    repetition: int,
    limit: float,
) -> Row:
    """Run a unit; a method that fails is a row that says so."""
    R_LIMIT.set(limit)
    begun = _processor_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            prepare(method)
            begun = _processor_time()
            with _limited(limit):
                row = work(setting, method, repetition)
    except TimeoutExpired:
        return _too_slow(limit)
    except Exception as error:  # whatever a method raises
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
        return {"status": FAILED, "took": _processor_time() - begun, "reason": reason}
    return {"status": OK, "took": _processor_time() - begun} | row


def _processor_time() -> float:
    """Seconds of this process and of those that it waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """End this process once it has computed for so long, be it in Python or in a library."""
    if not hasattr(signal, "setitimer"):
        yield  # what this system can measure is the clock, and others watch that
        return
    before = signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _too_slow(limit: float, measured: str = "") -> Row:
    return {"status": TOO_SLOW, "took": limit, "reason": f"over {limit:g} s{measured}"}


def _outcome(future: Future[Row], limit: float) -> Row:
    try:
        return future.result()
    except TimeoutError:
        return _too_slow(_PATIENCE * limit, " by the clock")
    except Exception as error:  # the worker died
        if getattr(error, "exitcode", None) == -getattr(signal, "SIGPROF", 0):
            return _too_slow(limit)
        return {"status": FAILED, "took": 0.0, "reason": f"the process ended: {error}"[:200]}


@contextmanager
def _pool(n_workers: int) -> Iterator[Any]:
    """Worker processes that are stopped when anything goes wrong here, Ctrl-C included."""
    from pebble import ProcessPool

    pool: Any = ProcessPool(
        max_workers=n_workers,
        context=multiprocessing.get_context("spawn"),
        initializer=_end_with_parent,
    )
    try:
        yield pool
        pool.close()
    except BaseException:
        pool.stop()
        raise
    finally:
        pool.join()


def _end_with_parent() -> None:
    """Let a worker end soon after the process that started it was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Let workers, which inherit the environment, compute on one thread each."""
    kinds = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
    names = [*(f"{kind}_NUM_THREADS" for kind in kinds), "VECLIB_MAXIMUM_THREADS"]
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
