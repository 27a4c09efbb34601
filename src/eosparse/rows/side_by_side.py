"""Blocks side by side: as many threads as BLAS would use, each with a BLAS of one thread.

BLAS spreads one small product over all cores and waits for them again and again; whole blocks
spread better. NumPy releases the interpreter while it computes, so threads are enough.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, reduce
from threading import Lock, local
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from eosparse.core import Mergeable

Item = TypeVar("Item")
Part = TypeVar("Part", bound=Mergeable)
Value = TypeVar("Value")


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


class _Limit:
    """BLAS's own threads are a setting of the process: whoever comes first lowers it, the last
    one to leave restores it."""

    def __init__(self) -> None:
        self.lock, self.depth, self.n_threads = Lock(), 0, 1
        self.context: Any = None

    def enter(self) -> int:
        with self.lock:
            if self.depth == 0:
                self.n_threads = self._allowed()
                self.context = _blas().limit(limits=1)
            self.depth += 1
            return self.n_threads

    def _allowed(self) -> int:
        """Threads that BLAS may use; all cores where there is a BLAS that does not say."""
        infos = _blas().info()
        return max((info["num_threads"] for info in infos), default=os.cpu_count() or 1)

    def leave(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.context.restore_original_limits()


_limit = _Limit()


@contextmanager
def single_threaded_blas() -> Iterator[int]:
    """Give BLAS one thread; yields the number that it had, which blocks may use instead."""
    n_threads = _limit.enter()
    try:
        yield n_threads
    finally:
        _limit.leave()


_place = local()


def _enter_worker() -> None:
    _place.is_worker = True


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Threads are kept: to start them takes as long as to fold a block."""
    return ThreadPoolExecutor(n_threads, "eosparse", initializer=_enter_worker)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


def in_order(
    items: Iterable[Item], function: Callable[[Item], Value], *, n_threads: int
) -> Iterator[Value]:
    """Apply a function to items side by side; yield the results in order, few at a time.

    One item, or items of an item, are worked on where they are.
    """
    items = iter(items)
    first = list(itertools.islice(items, 2))
    items = itertools.chain(first, items)
    if n_threads == 1 or len(first) < 2 or getattr(_place, "is_worker", False):
        yield from map(function, items)
        return
    pending = deque[Future[Value]]()
    try:
        for item in items:
            pending.append(_pool(n_threads).submit(function, item))
            if len(pending) > n_threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
        wait(pending)


def folded(items: Iterable[Item], kernel: Callable[[Item], Part | None]) -> Part:
    """Apply a kernel to items side by side, and merge what it returns in order; None is nothing."""
    with single_threaded_blas() as n_threads:
        parts = in_order(items, kernel, n_threads=n_threads)
        present = (part for part in parts if part is not None)
        first = next(present, None)
        if first is None:
            raise ValueError("there are no rows that count.")
        return reduce(operator.add, present, first)


def each(function: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
    """Like `map`, side by side."""
    with single_threaded_blas() as n_threads:
        return list(in_order(items, function, n_threads=n_threads))
