"""a. Structured wrong cells: A09 and ALYZ correlations, after Raymaekers and Rousseeuw (2024).

In each row the wrong cells lie in the direction in which good rows vary least, at γ times the
length that a good row has there, so that hardly any stands out in its column.

cellMCD and DDC set aside whatever good cells do with a chance of 1 %. `EOSCells` flags fewer, at a
false-discovery rate; a second line has its cells at the same 1 %.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.bench import Bench, count_repetitions
from benchmarks.cells.robpy import has_robpy, keep_peers, run_robpy
from eosparse import EOSCells
from eosparse.comparison.intervals import summarise
from eosparse.comparison.runner import Row
from eosparse.core import BoolArray, FloatArray

FIRST_SEED = 80_000
SIZES = ((400, 20), (1000, 50))
SHARES = (0.1, 0.2)
LENGTHS = (1, 2, 3, 5, 8, 10)
# Of the rows, those that are wrong as a whole, besides wrong cells.
ROWS = (0.0, 0.1)
REPETITIONS = 10
# cellMCD takes a minute for a table of the smaller size, and many for one of the larger.
_LARGEST_PEER, _REPETITIONS_PEER = 20, 2
# The level of the peers' flags.
_LEVEL = 0.01
# The condition number of ALYZ correlations.
_CONDITION = 100.0
_STEPS = 200


def make_correlation(structure: str, size: int, rng: np.random.Generator) -> FloatArray:
    """Return (-0.9)^|i-j|, or a random correlation with condition number 100."""
    if structure == "A09":
        places = np.arange(size)
        return np.asarray((-0.9) ** np.abs(places[:, None] - places))
    values = np.concatenate([[1.0], np.sort(rng.uniform(1, _CONDITION, size - 2)), [_CONDITION]])
    vectors = np.linalg.qr(rng.standard_normal((size, size)))[0]
    for _ in range(_STEPS):
        covariance = (vectors * values) @ vectors.T
        unit = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(unit, unit)
        values, vectors = np.linalg.eigh(correlation)
        if abs(values[-1] / values[0] - _CONDITION) < 0.1:
            break
        values[-1] = _CONDITION * values[0]
    return np.asarray(correlation)


def spoil(
    correlation: FloatArray, n_rows: int, share: float, length: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return rows with wrong cells, the rows before, and which cells are wrong."""
    size = len(correlation)
    X = rng.multivariate_normal(np.zeros(size), correlation, n_rows)
    truth, wrong = X.copy(), np.zeros(X.shape, dtype=bool)
    for j in range(size):
        wrong[rng.choice(n_rows, round(share * n_rows), replace=False), j] = True
    for i in np.flatnonzero(wrong.any(axis=1)):
        cells = np.flatnonzero(wrong[i])
        part = correlation[np.ix_(cells, cells)]
        least = np.linalg.eigh(part)[1][:, 0]
        unit = np.sqrt(least @ np.linalg.solve(part, least))
        X[i, cells] = length * np.sqrt(len(cells)) * least / unit
    return X, truth, wrong


def spoil_rows(X: FloatArray, share: float, rng: np.random.Generator) -> int:
    """Replace some rows by others, uniform in a wide box; return how many."""
    n_wrong = round(share * len(X))
    X[:n_wrong] = rng.uniform(-10, 10, (n_wrong, X.shape[1]))
    return n_wrong


def measure(
    structure: str,
    n_rows: int,
    size: int,
    share: float,
    length: float,
    rows: float,
    repetition: int,
) -> list[Row]:
    rng = np.random.default_rng([FIRST_SEED + repetition, size])
    correlation = make_correlation(structure, size, rng)
    X, truth, wrong = spoil(correlation, n_rows, share, length, rng)
    n_wrong = spoil_rows(X, rows, rng)
    key = {"structure": structure, "rows": n_rows, "columns": size, "share": share}
    key |= {"γ": length, "wrong rows": rows}
    begun = time.perf_counter()
    model = EOSCells().fit(X)
    ours = {"wrong": model.is_wrong_cell_, "covariance": model.covariance_}
    ours |= {"expected": model.expected_, "seconds": time.perf_counter() - begun}
    found = {"EOSCells": ours, "EOSCells at 1 %": ours | {"wrong": model.cell_p_values_ < _LEVEL}}
    if has_robpy() and size <= _LARGEST_PEER:
        found["DDC"] = run_robpy(X, "DDC")
        if repetition < _REPETITIONS_PEER and rows == 0:
            found["cellMCD"] = run_robpy(X, "cellMCD")
    return [
        key | {"method": method} | _compare(one, correlation, truth, wrong, n_wrong)
        for method, one in found.items()
        if one is not None
    ]


def _compare(
    found: dict[str, FloatArray],
    correlation: FloatArray,
    truth: FloatArray,
    wrong: BoolArray,
    n_wrong: int,
) -> Row:
    ratio = np.linalg.solve(correlation, found["covariance"])
    flagged, is_wrong = found["wrong"][n_wrong:], wrong[n_wrong:]
    hits = np.count_nonzero(flagged & is_wrong)
    away = (found["expected"] - truth)[n_wrong:][is_wrong]
    return {
        "discrepancy": np.trace(ratio) - len(ratio) - np.linalg.slogdet(ratio)[1],
        "F1": 2 * hits / max(np.count_nonzero(flagged) + np.count_nonzero(is_wrong), 1),
        "recall": hits / max(np.count_nonzero(is_wrong), 1),
        "false discoveries": 1 - hits / max(np.count_nonzero(flagged), 1),
        "error of values": float(np.sqrt(np.nanmean(away**2))),
        "seconds": float(found["seconds"]),
    }


def run(bench: Bench) -> None:
    settings = [
        {"structure": structure, "n_rows": n, "size": d, "share": share, "length": length,
         "rows": rows, "repetition": r}
        for n, d in SIZES
        for structure in ("A09", "ALYZ")
        for share in SHARES
        for length in LENGTHS
        for rows in ROWS
        for r in range(count_repetitions(bench.scale, REPETITIONS, least=1))
    ]  # fmt: skip
    raw = bench.run_units("cells_a", measure, settings)
    by = ["structure", "rows", "columns", "share", "γ", "wrong rows", "method"]
    of = ["discrepancy", "F1", "recall", "false discoveries", "error of values", "seconds"]
    table = keep_peers(summarise(raw, by, of), bench.folder / "cells_a.csv").sort_values(
        by, kind="stable"
    )
    bench.report("cells_a", "a. Structured wrong cells", None, table)
