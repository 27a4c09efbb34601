"""Affinities against scikit-learn's and openTSNE's: time and memory, with and without the search.

Every method runs in a process of its own, whose memory nothing else has touched; its time is the
best of a few runs there. Where neighbours are searched, which dominates, methods take turns three
times, and the median counts. Neighbours are the exact ones, the same for all, but for openTSNE's
own choice, which runs once.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.reporting import report
from benchmarks.speed.timing import THREADS, seconds

_SIZES = (2_000, 20_000, 100_000)
_COLUMNS, _PERPLEXITY, _NEIGHBOURS = 50, 30.0, 90
_EXACT_ROWS = 5_000  # all pairs, up to here
_RUNS, _LONG = 5, 20.0  # what takes longer runs once in each process
_ROUNDS = 3

Method = Callable[[np.ndarray], Callable[[], object]]


def table(n_rows: int) -> np.ndarray:
    """Ten Gaussian groups in 50 columns, as scores of principal components look."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=2.0, size=(10, _COLUMNS))
    return centres[rng.integers(10, size=n_rows)] + rng.normal(size=(n_rows, _COLUMNS))


def ours_all_pairs(X: np.ndarray) -> Callable[[], object]:
    from eosparse import entropic_affinities

    return lambda: entropic_affinities(X, perplexity=_PERPLEXITY, n_neighbors=None)


def scikit_learn_all_pairs(X: np.ndarray) -> Callable[[], object]:
    from sklearn.manifold import _t_sne
    from sklearn.metrics import pairwise_distances

    return lambda: _t_sne._joint_probabilities(
        pairwise_distances(X, squared=True), _PERPLEXITY, False
    )


def ours_neighbours(X: np.ndarray) -> Callable[[], object]:
    from eosparse import entropic_affinities

    return lambda: entropic_affinities(X, perplexity=_PERPLEXITY, n_neighbors=_NEIGHBOURS)


def scikit_learn_neighbours(X: np.ndarray) -> Callable[[], object]:
    from sklearn.manifold import _t_sne

    def run() -> object:
        graph = _search(X).kneighbors_graph(mode="distance")
        graph.data **= 2
        return _t_sne._joint_probabilities_nn(graph, _PERPLEXITY, False)

    return run


def opentsne_exact_neighbours(X: np.ndarray) -> Callable[[], object]:
    return _opentsne(X, "exact")


def opentsne_approximate_neighbours(X: np.ndarray) -> Callable[[], object]:
    return _opentsne(X, "annoy")


def ours_given_neighbours(X: np.ndarray) -> Callable[[], object]:
    from eosparse import entropic_affinities

    graph = _search(X).kneighbors_graph(mode="distance")
    graph.data **= 2
    return lambda: entropic_affinities(graph, error="precomputed", perplexity=_PERPLEXITY)


def scikit_learn_given_neighbours(X: np.ndarray) -> Callable[[], object]:
    from sklearn.manifold import _t_sne

    graph = _search(X).kneighbors_graph(mode="distance")
    graph.data **= 2
    return lambda: _t_sne._joint_probabilities_nn(graph, _PERPLEXITY, False)


def opentsne_given_neighbours(X: np.ndarray) -> Callable[[], object]:
    from openTSNE.affinity import joint_probabilities_nn

    distances, indices = _search(X).kneighbors()
    return lambda: joint_probabilities_nn(indices, distances, [_PERPLEXITY], n_jobs=THREADS)


# What is compared with what; ours comes first.
TASKS: dict[str, list[Method]] = {
    "all pairs": [ours_all_pairs, scikit_learn_all_pairs],
    "neighbours searched": [
        ours_neighbours,
        scikit_learn_neighbours,
        opentsne_exact_neighbours,
        opentsne_approximate_neighbours,
    ],
    "neighbours given": [
        ours_given_neighbours,
        scikit_learn_given_neighbours,
        opentsne_given_neighbours,
    ],
}


def run(scale: float = 1.0) -> None:
    measured = pd.concat(
        [
            _measured(n_rows, task)
            for n_rows in (max(2 * _NEIGHBOURS, int(size * scale)) for size in _SIZES)
            for task in TASKS
            if task != "all pairs" or n_rows <= _EXACT_ROWS
        ],
        ignore_index=True,
    )
    measured["method"] = measured["method"].str.replace("_", " ")
    setting = f"{_COLUMNS} columns, perplexity {_PERPLEXITY:g}, {THREADS} threads"
    report("models_affinities", f"Affinities, {setting}", None, measured)
    report("models_affinities_ratios", "Ours against the faster peer", None, _ratios(measured))


def _measured(n_rows: int, task: str) -> pd.DataFrame:
    """Return the medians of all methods of a task over some rounds."""
    methods, rounds = TASKS[task], _ROUNDS if task == "neighbours searched" else 1
    runs = pd.DataFrame(
        [
            {"method": method.__name__, **_in_process(method, n_rows)}
            for number in range(rounds)
            for method in methods
            if number == 0 or method is not opentsne_approximate_neighbours
        ]
    )
    medians = runs.groupby("method", sort=False).median().reset_index()
    medians.insert(0, "rows", n_rows)
    medians.insert(1, "task", task)
    return medians


def _ratios(measured: pd.DataFrame) -> pd.DataFrame:
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


def measure(method: str, n_rows: int) -> None:
    """Print the time and memory of one method; runs in a process of its own."""
    call = globals()[method](table(n_rows))
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _megabytes("VmRSS")
    first = seconds(call)
    memory = _megabytes("VmHWM") - before
    runs = [first] if first > _LONG else [seconds(call) for _ in range(_RUNS)]
    print(f"{min(runs)} {memory}")


def _in_process(method: Method, n_rows: int) -> dict[str, float]:
    name = method.__name__
    code = f"from benchmarks.models.affinities import measure; measure({name!r}, {n_rows})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {"seconds": float("nan"), "MB": float("nan")}
    time, memory = done.stdout.split()[-2:]
    return {"seconds": float(time), "MB": float(memory)}


def _search(X: np.ndarray) -> Any:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=_NEIGHBOURS, n_jobs=THREADS).fit(X)


def _opentsne(X: np.ndarray, method: str) -> Callable[[], object]:
    from openTSNE.affinity import PerplexityBasedNN

    return lambda: PerplexityBasedNN(
        X, perplexity=_PERPLEXITY, method=method, n_jobs=THREADS, random_state=0
    )


def _megabytes(entry: str) -> float:
    """Resident memory of this process, now or at its peak; getrusage would count its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(entry))
