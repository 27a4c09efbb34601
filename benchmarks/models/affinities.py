"""Affinities against scikit-learn's and openTSNE's: time and memory.

``python -m benchmarks.models.affinities [--rows 2000 20000 100000]``. Every method runs in a
process of its own, whose memory nothing else has touched; its time is the best of a few runs.
"""

from __future__ import annotations

import argparse
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
_RUNS = 3


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
GROUPS: dict[str, list[Callable[[np.ndarray], Callable[[], object]]]] = {
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


def measure(method: str, n_rows: int) -> None:
    """Print the time and memory of one method; runs in a process of its own."""
    run = globals()[method](table(n_rows))
    before = _peak_megabytes()
    first = seconds(run)
    runs = [first] if first > 20 else [seconds(run) for _ in range(_RUNS)]
    print(f"{min(runs)} {_peak_megabytes() - before}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.models.affinities")
    parser.add_argument("--rows", nargs="*", type=int, default=_SIZES)
    rows = [
        row
        for n_rows in parser.parse_args().rows
        for group, methods in GROUPS.items()
        if group != "all pairs" or n_rows <= _EXACT_ROWS
        for row in _compared(group, [method.__name__ for method in methods], n_rows)
    ]
    title = f"Affinities in {_COLUMNS} columns, perplexity {_PERPLEXITY:g}, {THREADS} threads"
    report("models_affinities", title, None, pd.DataFrame(rows))


def _compared(group: str, methods: list[str], n_rows: int) -> list[dict[str, object]]:
    measured = {method: _in_process(method, n_rows) for method in methods}
    ours = measured[methods[0]][0]
    return [
        {
            "rows": n_rows,
            "task": group,
            "method": method.replace("_", " "),
            "seconds": time,
            "times ours": time / ours,
            "MB": memory,
        }
        for method, (time, memory) in measured.items()
    ]


def _in_process(method: str, n_rows: int) -> tuple[float, float]:
    code = f"from benchmarks.models.affinities import measure; measure({method!r}, {n_rows})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{method}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return float("nan"), float("nan")
    time, memory = done.stdout.split()[-2:]
    return float(time), float(memory)


def _search(X: np.ndarray) -> Any:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=_NEIGHBOURS, n_jobs=THREADS).fit(X)


def _opentsne(X: np.ndarray, method: str) -> Callable[[], object]:
    from openTSNE.affinity import PerplexityBasedNN

    return lambda: PerplexityBasedNN(
        X, perplexity=_PERPLEXITY, method=method, n_jobs=THREADS, random_state=0
    )


def _peak_megabytes() -> float:
    """Most resident memory of this process; getrusage would count its parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
