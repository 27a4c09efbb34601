"""How many rows to flag: false-discovery control."""

from __future__ import annotations

import numpy as np

from eosparse.core import FloatArray


def benjamini_hochberg(p_values: FloatArray, fdr: float, mass: FloatArray) -> float:
    """Return the largest p-value to reject at a wanted false-discovery rate, 0 if none.

    Parameters
    ----------
    p_values : array of shape (n_samples,)
        One p-value per row.
    fdr : float
        Wanted rate.
    mass : array of shape (n_samples,)
        How many times each row counts.

    Examples
    --------
    >>> import numpy as np
    >>> benjamini_hochberg(np.array([0.001, 0.8, 0.02, 0.3]), 0.05, np.ones(4))
    0.02
    """
    order = np.argsort(p_values, kind="stable")
    rank = np.cumsum(mass[order])
    passing = np.flatnonzero((p_values[order] <= fdr * rank / rank[-1]) & (mass[order] > 0))
    return float(p_values[order[passing[-1]]]) if passing.size else 0.0
