"""How many rows to flag: false-discovery control by counting alone, without sorting the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eosparse.core import FloatArray, Rows

# Counts per call: each call may be a pass over the rows.
_N_GUESSES = 16
# The smallest count of interest: prior weights may make a row count less than one.
_LEAST_COUNT = 1e-9


def count_rejections(count: Callable[[FloatArray], FloatArray], total: float, fdr: float) -> float:
    """Return how many rows the Benjamini-Hochberg procedure rejects, counted by their mass.

    It rejects the k smallest p-values for the largest k with ``N(fdr·k/T) = k``, where N(p) is the
    number of p-values up to p. N never falls, so its value for any larger k is an upper bound, and
    the search follows these bounds down until one is attained.

    Parameters
    ----------
    count : callable
        Takes falling levels; returns the number of p-values up to each, rows counted by mass.
    total : float
        T, the mass of all rows.
    fdr : float
        Target false-discovery rate.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.001, 0.8, 0.02, 0.3])
    >>> count_rejections(lambda levels: np.sum(p[:, None] <= levels, axis=0), 4.0, 0.05)
    2.0
    """
    most = total
    while most > 0:
        guesses = most * (_LEAST_COUNT / total) ** (np.arange(_N_GUESSES) / _N_GUESSES)
        bound = most
        for guess, counted in zip(guesses, count(fdr * guesses / total), strict=True):
            if guess < bound:
                break
            bound = min(bound, float(counted))
        if bound == most:
            return most
        most = bound
    return 0.0


def count_beyond(distances: Rows[FloatArray], cuts: FloatArray) -> FloatArray:
    """Return the mass of the rows beyond each cut.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.rows import MemoryRows
    >>> count_beyond(MemoryRows(np.array([1.0, 5.0, 9.0])), np.array([4.0, 8.0])).tolist()
    [2.0, 1.0]
    """

    def count(fitted: FloatArray, prior: FloatArray | None) -> FloatArray:
        beyond = (fitted > cut for cut in cuts)
        if prior is None:
            return np.array([float(np.count_nonzero(rows)) for rows in beyond])
        return np.array([float(prior[rows].sum()) for rows in beyond])

    return distances.fold(count)
