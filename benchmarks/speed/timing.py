"""Tables, clocks and ratios: this machine is noisy, so a time means little without a reference."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

import numpy as np

THREADS = len(os.sched_getaffinity(0))


def table(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    """Standard normal rows, of which 20 % are uniform on [-10, 10]."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    outliers = rng.choice(n_rows, n_rows // 5, replace=False)
    X[outliers] = rng.uniform(-10, 10, (len(outliers), n_columns))
    return X


def seconds(function: Callable[[], object]) -> float:
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def ratio(
    ours: Callable[[], object], reference: Callable[[], object], runs: int
) -> tuple[float, float, float]:
    """Medians of both, and their ratio; the reference is run before and after, undisturbed.

    Run by turns, a reference that uses BLAS's threads is slower: they are woken up every time.
    """
    ours()  # compiled code is loaded once
    reference()
    before = [seconds(reference) for _ in range(runs)]
    mine = statistics.median(seconds(ours) for _ in range(runs))
    reference()
    after = [seconds(reference) for _ in range(runs)]
    theirs = statistics.median(before + after)
    return mine, theirs, mine / theirs
