"""Panel "limits": tables that the Gaussian error does not fit, on which others should win."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eosparse.comparison.measures import measure_detection
from eosparse.comparison.panels.contamination import PEER_DETECTORS
from eosparse.comparison.peers.eos import EOS
from eosparse.comparison.peers.timing import time_detection, warm_up
from eosparse.comparison.runner import Grid, Row, Setting
from eosparse.core import FloatArray

# Our rules were developed on tables with smaller seeds.
_FIRST_SEED = 70_000
_COLUMNS = 5
Draw = Callable[[np.random.Generator, int, int], tuple[FloatArray, FloatArray]]


def _draw_gaussian(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    return rng.standard_normal((n, _COLUMNS)), rng.uniform(1, 6, (k, _COLUMNS))


def _draw_heavy_tails(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    return rng.standard_t(2, (n, _COLUMNS)), rng.uniform(3, 8, (k, _COLUMNS))


def _draw_skewed(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    return rng.lognormal(0, 1, (n, _COLUMNS)), rng.uniform(-4, 0, (k, _COLUMNS))


def _draw_two_groups(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    side = rng.integers(0, 2, (n, 1))
    return rng.standard_normal((n, _COLUMNS)) + 8 * side, rng.normal(4, 0.7, (k, _COLUMNS))


def _draw_ring(rng: np.random.Generator, n: int, k: int) -> tuple[FloatArray, FloatArray]:
    rows = rng.standard_normal((n, _COLUMNS))
    rows[:, :2] *= 5 / np.linalg.norm(rows[:, :2], axis=1, keepdims=True)
    rows[:, :2] += 0.3 * rng.standard_normal((n, 2))
    return rows, 0.5 * rng.standard_normal((k, _COLUMNS))


# How to draw inliers and outliers, and how many of each.
TABLES: dict[str, tuple[Draw, int, int]] = {
    "Gaussian (control)": (_draw_gaussian, 475, 25),
    "heavy tails (t, 2 degrees)": (_draw_heavy_tails, 475, 25),
    "skewed (log-normal)": (_draw_skewed, 475, 25),
    "two groups, outliers between": (_draw_two_groups, 475, 25),
    "ring, outliers inside": (_draw_ring, 475, 25),
    "very few rows (20)": (_draw_gaussian, 18, 2),
}


def judge_table(setting: Setting, method: str, repetition: int) -> Row:
    """Draw a table, let a method judge its rows, and compare with the truth.

    Examples
    --------
    >>> row = judge_table({"table": "Gaussian (control)"}, "classical covariance", 0)
    >>> row["AUC-ROC"] > 0.95
    True
    """
    rng = np.random.default_rng(_FIRST_SEED + repetition)
    draw, n, k = TABLES[setting["table"]]
    rows, outliers = draw(rng, n, k)
    order = rng.permutation(n + k)
    X = np.concatenate([rows, outliers])[order]
    detection, seconds = time_detection(method, X, repetition)
    return measure_detection(detection, order >= n) | {"seconds": seconds}


def make_grid(quick: bool) -> Grid:  # noqa: ARG001  # these tables are small
    """Return all tables."""
    settings = tuple({"table": name} for name in TABLES)
    return Grid("limits", settings, (EOS, *PEER_DETECTORS), judge_table, warm_up, ("table",))
