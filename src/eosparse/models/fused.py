"""The Gaussian error in one sweep, compiled: distances, weights and moments of rows in the cache.

NumPy writes and reads every block several times; here some dozens of rows at a time stay in the
innermost cache from the first subtraction to the last product. Used if Numba is installed; the
results equal those of NumPy up to rounding.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from eosparse.core import FloatArray

# With more columns BLAS is faster; with fewer rows compiled code is not worth loading.
_MOST_COLUMNS = 160
_FEWEST_ROWS = 2048
# Cells from which on it is, where each row needs a search or a system of its own.
_MANY_CELLS = 2**15


def is_large(values: FloatArray) -> bool:
    """Whether a block is large and narrow enough for compiled code, and Numba is installed."""
    return len(values) >= _FEWEST_ROWS and can_sweep(values.shape[1])


def can_sweep(n_columns: int) -> bool:
    """Whether columns are few enough for compiled code, and Numba is installed."""
    return n_columns <= _MOST_COLUMNS and load_kernels() is not None


def load_for_cells(n_cells: int) -> Any:
    """Load the compiled loops over the cells of rows, if there are many; None otherwise."""
    return load_kernels("cell_kernels") if n_cells >= _MANY_CELLS else None


def pad(matrix: FloatArray) -> FloatArray:
    """Return a matrix with rows and columns of zeros up to a multiple of four."""
    size = len(matrix)
    padded = -(-size // 4) * 4
    return np.pad(np.asarray(matrix), (0, padded - size))


def sweep(
    values: FloatArray,
    prior: FloatArray | None,
    centre: FloatArray,
    whitening: FloatArray,
    exponent: float,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Sum over rows with weights ``u exp(-exponent·m)``, m being the squared distance.

    In the precision of the whitening matrix, around the centre; the rows may have another.

    Returns
    -------
    tuple of arrays
        ``(Σ w, Σ w²/u, Σ w m)``; ``Σ w (x - centre)``; ``Σ w (x - centre)(x - centre)'``; and
        the distances m.
    """
    matrix = pad(whitening)
    size, wide = len(whitening), len(matrix)
    totals, sums, products = np.zeros(3), np.zeros(wide), np.zeros((wide, wide))
    weights, distances = np.ones(0) if prior is None else prior, np.empty(len(values))
    sums_up = load_kernels().sweep_rows
    sums_up(values, weights, centre, matrix, exponent, totals, sums, products, distances)
    lower = np.tril(products[:size, :size])
    return totals, sums[:size], lower + np.tril(lower, -1).T, distances


def squared_distances(values: FloatArray, centre: FloatArray, whitening: FloatArray) -> FloatArray:
    """Return the squared distances of rows."""
    distances = np.empty(len(values))
    load_kernels().measure_rows(values, centre, pad(whitening), distances)
    return distances


@cache
def load_kernels(name: str = "kernels") -> Any:
    """Load compiled code, which takes a moment; None without Numba."""
    if find_spec("numba") is None:
        return None
    try:
        return import_module(f"eosparse.models.{name}")
    except Exception as error:  # a Numba that does not fit this NumPy, no cache, ...
        warnings.warn(
            f"Numba cannot be used ({error}). Falling back to NumPy, which is slower.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
