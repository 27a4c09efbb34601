"""Where the Gaussian error does not fit: tables on which EOS should lose to somebody."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eosparse.comparison.contamination import METHODS
from eosparse.comparison.ledger import Grid, Setting
from eosparse.comparison.measures import measures
from eosparse.comparison.peers import EOS, PEERS, timed, warm
from eosparse.comparison.store import Row
from eosparse.core import FloatArray

_FIRST_SEED = 70_000
_COLUMNS = 5
Draw = Callable[[np.random.Generator, int, int], tuple[FloatArray, FloatArray]]


def _gaussian(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    return rng.standard_normal((n, _COLUMNS)), rng.uniform(1, 6, (k, _COLUMNS))


def _heavy_tails(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    return rng.standard_t(2, (n, _COLUMNS)), rng.uniform(3, 8, (k, _COLUMNS))


def _skewed(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    return rng.lognormal(0, 1, (n, _COLUMNS)), rng.uniform(-4, 0, (k, _COLUMNS))


def _two_groups(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    side = rng.integers(0, 2, (n, 1))
    return rng.standard_normal((n, _COLUMNS)) + 8 * side, rng.normal(4, 0.7, (k, _COLUMNS))


def _ring(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    rows = rng.standard_normal((n, _COLUMNS))
    rows[:, :2] *= 5 / np.linalg.norm(rows[:, :2], axis=1, keepdims=True)
    rows[:, :2] += 0.3 * rng.standard_normal((n, 2))
    return rows, 0.5 * rng.standard_normal((k, _COLUMNS))


# From a generator and numbers of rows to rows that belong and rows that do not.
TABLES: dict[str, tuple[Draw, int, int]] = {
    "Gaussian (control)": (_gaussian, 475, 25),
    "heavy tails (t, 2 degrees)": (_heavy_tails, 475, 25),
    "skewed (log-normal)": (_skewed, 475, 25),
    "two groups, outliers between": (_two_groups, 475, 25),
    "ring, outliers inside": (_ring, 475, 25),
    "very few rows (20)": (_gaussian, 18, 2),
}


def judge(setting: Setting, method: str, repetition: int) -> Row:
    """Draw a table, let a method judge it, and compare with the truth."""
    rng = np.random.default_rng(_FIRST_SEED + repetition)
    draw, n, k = TABLES[setting["table"]]
    rows, outliers = draw(rng, n, k)
    order = rng.permutation(n + k)
    X = np.concatenate([rows, outliers])[order]
    finding, seconds = timed(PEERS[method].find, X, repetition)
    return measures(finding, order >= n) | {"seconds": seconds}


def grid(quick: bool) -> Grid:  # noqa: ARG001  # these tables are small
    """Return all tables."""
    settings = tuple({"table": name} for name in TABLES)
    return Grid("limits", settings, (EOS, *METHODS[2:]), judge, warm, ("table",))
