"""Random parts of real tables, twisted as tables of other people are.

A draw is a function of its generator alone: the same seed gives the same table, from the same
folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from eosparse.core import FloatArray, IntArray

_COLUMNS, _ROWS = (2, 8), (12, 600)
# Columns of text beside the numbers, and the most texts that may stand in one.
_MOST_LABELS, _MOST_TEXTS = 3, 12
# The share of draws with no twist, with one and with two of them.
_TWIST_CHANCES = (0.25, 0.5, 0.25)
# The share of cells that are taken out, at least and at most.
_GAPS = (0.02, 0.3)
Twist = Callable[[FloatArray, np.random.Generator], FloatArray]


@dataclass(frozen=True)
class Table:
    """The columns of a table without gaps: numbers, and text and truths of few levels."""

    numbers: FloatArray
    labels: pd.DataFrame


@dataclass(frozen=True)
class Subtable(Table):
    """Some rows and columns of a table, and how they came about."""

    name: str


def read_tables(folder: Path) -> dict[str, Table]:
    """Return the columns without gaps of every table in a folder, by name."""
    tables = {}
    for path in sorted(folder.glob("*.csv.gz")):
        whole = pd.read_csv(path).dropna(axis=1)
        values = whole.select_dtypes("number").to_numpy(dtype=np.float64)
        labels = whole.select_dtypes(exclude="number")
        if values.shape[1] >= _COLUMNS[0] and len(values) >= _ROWS[0]:
            few = labels.loc[:, labels.nunique() <= _MOST_TEXTS]
            tables[path.name.removesuffix(".csv.gz")] = Table(values, few)
    return tables


def draw_subtable(
    tables: dict[str, Table], rng: np.random.Generator, *, with_labels: bool = False
) -> Subtable:
    """Draw some columns and rows of one of the tables, and twist the numbers."""
    name = str(rng.choice(sorted(tables)))
    whole, labels = tables[name].numbers, tables[name].labels
    n_columns = int(rng.integers(_COLUMNS[0], min(_COLUMNS[1], whole.shape[1]) + 1))
    # Small tables hold more surprises, and cost less.
    most = min(_ROWS[1], len(whole))
    n_rows = int(np.exp(rng.uniform(np.log(_ROWS[0]), np.log(most + 1))))
    columns = rng.choice(whole.shape[1], n_columns, replace=False)
    rows = str(rng.choice(list(WAYS)))
    taken = WAYS[rows](len(whole), n_rows, rng)
    twists = rng.choice(list(TWISTS), rng.choice(3, p=_TWIST_CHANCES), replace=False).tolist()
    values = twist(whole[taken][:, columns], twists, rng)
    n_labels = int(rng.integers(min(_MOST_LABELS, labels.shape[1]) + 1)) if with_labels else 0
    chosen = rng.choice(labels.shape[1], n_labels, replace=False)
    words = [f"{len(chosen)} columns of text"] if len(chosen) else []
    return Subtable(values, labels.iloc[taken, chosen], ", ".join([name, rows, *twists, *words]))


def twist(values: FloatArray, twists: Sequence[str], rng: np.random.Generator) -> FloatArray:
    """Apply twists by name, one after the other."""
    values = values.copy()
    for name in twists:
        values = TWISTS[name](values, rng)
    return values


def _take_contiguous(n: int, size: int, rng: np.random.Generator) -> IntArray:
    return np.arange(size) + rng.integers(n - size + 1)


def _take_random(n: int, size: int, rng: np.random.Generator) -> IntArray:
    return rng.choice(n, size, replace=False)


def _take_repeats(n: int, size: int, rng: np.random.Generator) -> IntArray:
    return rng.choice(n, size)


WAYS: dict[str, Callable[[int, int, np.random.Generator], IntArray]] = {
    "contiguous rows": _take_contiguous,
    "random rows": _take_random,
    "rows with repeats": _take_repeats,
}


def _pick(values: FloatArray, rng: np.random.Generator) -> int:
    return int(rng.integers(values.shape[1]))


def _round(values: FloatArray, _: np.random.Generator) -> FloatArray:
    unit = np.where((spread := values.std(axis=0)) > 0, spread, 1.0)
    return np.asarray(np.round(values / unit) * np.exp2(np.round(np.log2(unit))))


def _heap(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    column = _pick(values, rng)
    heaped = rng.random(len(values)) < rng.uniform(0.2, 0.9)
    values[heaped, column] = rng.choice([0.0, values[0, column]])
    return values


def _make_huge(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    values[rng.integers(len(values)), _pick(values, rng)] = 999999999.0
    return values


def _make_constant(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    column = _pick(values, rng)
    values[:, column] = values[0, column]
    return values


def _code(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    column = _pick(values, rng)
    ranks = pd.Series(values[:, column]).rank(method="min").to_numpy()
    values[:, column] = np.floor(int(rng.integers(2, 5)) * (ranks - 1) / len(values))
    return values


def _duplicate(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    again = rng.random(len(values)) < rng.uniform(0.1, 0.9)
    values[again] = values[rng.integers(len(values), size=int(again.sum()))]
    return values


def _magnify(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    values[:, _pick(values, rng)] *= 1e6
    return values


def _copy_column(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    source, copy = rng.choice(values.shape[1], 2, replace=False)
    values[:, copy] = 2.0 * values[:, source]
    return values


TWISTS: dict[str, Twist] = {
    "rounded": _round,
    "a heap": _heap,
    "a huge cell": _make_huge,
    "a constant column": _make_constant,
    "codes": _code,
    "duplicated rows": _duplicate,
    "a column times a million": _magnify,
    "a column twice": _copy_column,
}


def punch_gaps(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return rows with gaps, at random, of which each keeps a value at least."""
    is_missing = rng.random(values.shape) < rng.uniform(*_GAPS)
    is_missing[np.arange(len(values)), rng.integers(values.shape[1], size=len(values))] = False
    return np.where(is_missing, np.nan, values)
