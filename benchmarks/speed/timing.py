"""Tables, clocks and ratios. A time means little without a reference on the same machine."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

import numpy as np

from eosparse.comparison.peers import Estimate, Peer

THREADS = len(os.sched_getaffinity(0))


def make_table(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    """Return standard normal rows, 20 % of them replaced by uniform ones on [-10, 10]."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    outliers = rng.choice(n_rows, n_rows // 5, replace=False)
    X[outliers] = rng.uniform(-10, 10, (len(outliers), n_columns))
    return X


def measure_seconds(function: Callable[[], object]) -> float:
    """Return the seconds that a call takes, by the clock."""
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def time_estimate(peer: Peer, X: np.ndarray) -> tuple[Estimate, float]:
    """Return the covariance that a peer estimates, and its seconds; of R, those of R itself."""
    begun = time.perf_counter()
    estimate = peer.estimate(X, 0)
    spent = time.perf_counter() - begun
    return estimate, spent if estimate.seconds is None else estimate.seconds


def measure_ratio(
    ours: Callable[[], object], reference: Callable[[], object], runs: int
) -> tuple[float, float, float]:
    """Return the median seconds of both, and their ratio.

    The reference runs before and after, not by turns: BLAS would have to wake up its threads
    every time, which makes it slower.
    """
    ours()  # loads compiled code
    reference()
    before = [measure_seconds(reference) for _ in range(runs)]
    mine = statistics.median(measure_seconds(ours) for _ in range(runs))
    reference()
    after = [measure_seconds(reference) for _ in range(runs)]
    theirs = statistics.median(before + after)
    return mine, theirs, mine / theirs
