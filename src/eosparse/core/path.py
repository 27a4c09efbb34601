"""Warm-started paths: the same problem solved along falling values of alpha."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from eosparse.core.alternation import Block, Result, Status, Theta, alternate
from eosparse.core.model import ErrorModel, Stats
from eosparse.core.rows import Rows


def alpha_path(
    model: ErrorModel[Block, Theta, Stats],
    rows: Rows[Block],
    alphas: Iterable[float],
    theta: Theta,
    *,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> list[Result[Theta]]:
    """Solve for each alpha from the previous solution; stop at a collapse or an interrupt.

    The last result is kept whatever its status, so that the path shows how it ended.
    """
    results: list[Result[Theta]] = []
    for alpha in alphas:
        results.append(alternate(model, rows, alpha, theta, tol=tol, max_iter=max_iter))
        if results[-1].status in (Status.COLLAPSED, Status.INTERRUPTED):
            break
        theta = results[-1].theta
    return results


def longest_plateau(levels: ArrayLike, tolerance: float, places: ArrayLike | None = None) -> slice:
    """Return the longest run of neighbours that all differ by at most `tolerance`.

    Parameters
    ----------
    levels : array-like of shape (n,) or (n, n_entries)
        Numbers, or lists of them, which differ by the sum of their entries' differences: sets, as
        booleans, by the number of members that only one of two has.
    tolerance : float
        By how much any two of a run may differ.
    places : array-like of shape (n,), optional
        Where neighbours stand, rising or falling: the longest run is the one that spans most. By
        default they stand at equal steps.

    Returns
    -------
    slice

    Examples
    --------
    >>> from eosparse.core import longest_plateau
    >>> longest_plateau([0, 0, 9, 20, 20, 21, 20, 35], tolerance=1)
    slice(3, 7, None)
    """
    from scipy.spatial.distance import pdist, squareform  # slow to import, rarely needed

    values = np.asarray(levels, dtype=np.float64)
    if len(values) == 0:
        return slice(0, 0)
    x = np.arange(len(values)) if places is None else np.asarray(places)
    differences = squareform(pdist(values.reshape(len(values), -1), "cityblock"))
    best, start = slice(0, 1), 0
    for stop in range(1, len(values) + 1):
        while differences[start:stop, stop - 1].max() > tolerance:
            start += 1
        if abs(x[stop - 1] - x[start]) > abs(x[best.stop - 1] - x[best.start]):
            best = slice(start, stop)
    return best
