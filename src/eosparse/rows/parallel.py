"""Blocks in parallel: as many threads as BLAS would use, each with a single-threaded BLAS.

BLAS splits every small product over all cores and waits for them again and again; splitting whole
blocks is faster. NumPy releases the interpreter lock while it computes, so threads are enough.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, reduce
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from eosparse.core import FloatArray, Mergeable

# Factors of smaller matrices are faster on one thread.
_MANY_COLUMNS = 1000
# Fewer columns are not worth a thread.
_COLUMNS_PER_THREAD = 100

Item = TypeVar("Item")
Part = TypeVar("Part", bound=Mergeable)
Value = TypeVar("Value")


@dataclass
class _Limit:
    """BLAS threads are a setting of the process: the first to enter lowers it, the last to leave
    restores it."""

    lock: Lock = field(default_factory=Lock)
    depth: int = 0
    n_threads: int = 1
    blas: Any = None
    context: Any = None


_limit = _Limit()


@contextmanager
def single_threaded_blas() -> Iterator[int]:
    """Give BLAS one thread; yields the number that it had, which blocks may use instead."""
    with _limit.lock:
        if _limit.depth == 0:
            if _limit.blas is None:  # looking for it takes a while
                _limit.blas = ThreadpoolController().select(user_api="blas")
            # A BLAS that does not tell its number of threads uses all cores.
            threads = [info["num_threads"] for info in _limit.blas.info()]
            _limit.n_threads = max(threads, default=os.cpu_count() or 1)
            _limit.context = _limit.blas.limit(limits=1)
        _limit.depth += 1
    try:
        yield _limit.n_threads
    finally:
        with _limit.lock:
            _limit.depth -= 1
            if _limit.depth == 0:
                _limit.context.restore_original_limits()


def fit_threads(n_columns: int) -> AbstractContextManager[Any]:
    """Give BLAS one thread for the whole of a fit, unless columns are many.

    Products of many columns are worth all threads; blocks of rows limit them as they run. NumPy and
    SciPy bring a BLAS each, whose threads go on waiting for work and so take the cores from the
    other's. Products are NumPy's, so SciPy's, which factors matrices, has one thread.
    """
    return single_threaded_blas() if n_columns < _MANY_COLUMNS else _numpy_threads()


def _numpy_threads() -> AbstractContextManager[Any]:
    """Give one thread to every BLAS but that of NumPy, if NumPy has one of its own."""
    blas = ThreadpoolController().select(user_api="blas")
    paths = [info["filepath"] for info in blas.info()]
    others = [path for path in paths if "numpy" not in path]
    if len(others) == len(paths):
        return nullcontext()
    limited: AbstractContextManager[Any] = blas.select(filepath=others).limit(limits=1)
    return limited


_place = local()


def _enter_worker() -> None:
    _place.is_worker = True


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Keep the threads: starting them takes as long as folding a block."""
    return ThreadPoolExecutor(n_threads, "eosparse", initializer=_enter_worker)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


def map_in_order(
    items: Iterable[Item], function: Callable[[Item], Value], *, n_threads: int
) -> Iterator[Value]:
    """Apply a function to items in parallel; yield the results in order, a few at a time.

    A single item, and items within an item, run in the calling thread.
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


def fold_in_order(items: Iterable[Item], kernel: Callable[[Item], Part | None]) -> Part:
    """Apply a kernel to items in parallel, and merge the results in order, skipping None."""
    items = iter(items)
    begin = list(itertools.islice(items, 2))
    if len(begin) == 1:  # a single block leaves all threads to BLAS
        return _merge(map(kernel, begin))
    with single_threaded_blas() as n_threads:
        return _merge(map_in_order(itertools.chain(begin, items), kernel, n_threads=n_threads))


def _merge(parts: Iterable[Part | None]) -> Part:
    present = (part for part in parts if part is not None)
    first = next(present, None)
    if first is None:
        raise ValueError("there are no rows with a positive weight.")
    return reduce(operator.add, present, first)


def map_parallel(function: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
    """Like `map`, in parallel; returns a list. A single item leaves all threads to BLAS.

    Examples
    --------
    >>> map_parallel(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    items = list(items)
    if len(items) == 1:
        return [function(items[0])]
    with single_threaded_blas() as n_threads:
        return list(map_in_order(items, function, n_threads=n_threads))


def map_columns(function: Callable[[FloatArray], Value], values: FloatArray) -> list[Value]:
    """Apply a function to parts of the columns, in parallel if they are many.

    Examples
    --------
    >>> import numpy as np
    >>> map_columns(np.shape, np.zeros((3, 5)))
    [(3, 5)]
    """
    n_parts = min(max(values.shape[1] // _COLUMNS_PER_THREAD, 1), os.cpu_count() or 1)
    return map_parallel(function, np.array_split(values, n_parts, axis=1))
