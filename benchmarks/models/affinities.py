"""Affinities against scikit-learn's and openTSNE's: time and memory, with and without the search.

Every method runs in a process of its own, whose memory nothing else has touched; its time is the
best of a few runs there. Where neighbours are searched, which dominates, methods take turns three
times, and the median counts. Neighbours are the exact ones, the same for all, except for openTSNE's
own approximate choice, which runs once.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.bench import ALONE, Bench
from benchmarks.speed.timing import THREADS, measure_seconds
from eosparse.comparison.peers import PEERS
from eosparse.comparison.peers.affinities import AffinitySettings
from eosparse.comparison.runner import Row

_SIZES = (2_000, 20_000, 100_000)
_COLUMNS = 50
_SETTINGS = AffinitySettings(perplexity=30.0, n_neighbours=90, n_threads=THREADS)
# All pairs need memory for the square of the rows, so only up to here.
_MOST_ROWS_OF_PAIRS = 5_000
_RUNS, _LONG = 5, 20.0  # what takes longer runs once in each process
_SEARCHED, _ROUNDS = "neighbours searched", 3
_APPROXIMATE = "opentsne approximate neighbours"
# What is compared with what; ours comes first.
TASKS = {
    "all pairs": ("ours all pairs", "scikit learn all pairs"),
    _SEARCHED: (
        "ours neighbours", "scikit learn neighbours", "opentsne exact neighbours", _APPROXIMATE,
    ),
    "neighbours given": (
        "ours given neighbours", "scikit learn given neighbours", "opentsne given neighbours",
    ),
}  # fmt: skip


def make_rows(n_rows: int) -> np.ndarray:
    """Return ten Gaussian groups in 50 columns, which look like scores of principal components."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(10, _COLUMNS))
    return centres[rng.integers(10, size=n_rows)] + rng.normal(size=(n_rows, _COLUMNS))


def measure(n_rows: int, task: str, method: str, turn: int) -> list[Row]:  # noqa: ARG001
    """Return the time and memory of one method."""
    compute = PEERS[method].run(make_rows(n_rows), _SETTINGS)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _measure_megabytes("VmRSS")
    first = measure_seconds(compute)
    memory = _measure_megabytes("VmHWM") - before
    runs = [first] if first > _LONG else [measure_seconds(compute) for _ in range(_RUNS)]
    key = {"rows": n_rows, "task": task, "method": method}
    return [key | {"seconds": min(runs), "MB": memory}]


def _measure_megabytes(entry: str) -> float:
    """Return resident memory, now or at its peak; getrusage would count that of the parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(entry))


def _make_settings(n_rows: int, task: str) -> list[Row]:
    turns = _ROUNDS if task == _SEARCHED else 1
    return [
        {"n_rows": n_rows, "task": task, "method": method, "turn": turn}
        for turn in range(turns)
        for method in TASKS[task]
        if turn == 0 or method != _APPROXIMATE
    ]


def run(bench: Bench) -> None:
    sizes = [max(2 * _SETTINGS.n_neighbours, int(size * bench.scale)) for size in _SIZES]
    settings = [
        setting
        for n_rows in dict.fromkeys(sizes)
        for task in TASKS
        if task != "all pairs" or n_rows <= _MOST_ROWS_OF_PAIRS
        for setting in _make_settings(n_rows, task)
    ]
    raw = bench.run_units("models_affinities", measure, settings, ALONE)
    measured = raw.groupby(["rows", "task", "method"], sort=False).median().reset_index()
    title = f"{_COLUMNS} columns, perplexity {_SETTINGS.perplexity:g}, {THREADS} threads"
    bench.report("models_affinities", f"Affinities, {title}", None, measured)
    ratios = _compare_with_fastest(measured)
    bench.report("models_affinities_ratios", "Ours against the faster peer", None, ratios)


def _compare_with_fastest(measured: pd.DataFrame) -> pd.DataFrame:
    lines = []
    for (n_rows, task), group in measured.groupby(["rows", "task"], sort=False):
        ours, peers = group.iloc[0], group.iloc[1:]
        fastest = peers.loc[peers["seconds"].idxmin()]
        lines.append(
            {
                "rows": n_rows,
                "task": task,
                "faster peer": fastest["method"],
                "time ratio": ours["seconds"] / fastest["seconds"],
                "memory ratio": ours["MB"] / fastest["MB"],
            }
        )
    return pd.DataFrame(lines)
