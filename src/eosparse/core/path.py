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

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.core import alpha_path
    >>> from eosparse.models import ClusterModel
    >>> from eosparse.rows import MemoryRows
    >>> rows = MemoryRows(np.array([[0.0], [1.0], [2.0], [9.0]]))
    >>> path = alpha_path(ClusterModel(1), rows, [1e3, 5.0], theta=np.array([[3.0]]))
    >>> [round(result.theta.item(), 2) for result in path]
    [2.95, 1.0]
    """
    results: list[Result[Theta]] = []
    for alpha in alphas:
        results.append(alternate(model, rows, alpha, theta, tol=tol, max_iter=max_iter))
        if results[-1].status in (Status.COLLAPSED, Status.INTERRUPTED):
            break
        theta = results[-1].theta
    return results


def longest_plateau(levels: ArrayLike, tolerance: float, places: ArrayLike | None = None) -> slice:
    """Return the longest run of consecutive values of which no two differ by more than `tolerance`.

    Parameters
    ----------
    levels : array-like of shape (n,) or (n, n_entries)
        Numbers, or rows of numbers, whose difference is the sum of absolute differences of their
        entries. For sets given as booleans, this counts the members that only one of two sets has.
    tolerance : float
        Largest difference between any two values of a run.
    places : array-like of shape (n,), optional
        Position of each value, rising or falling: the longest run spans the largest distance. By
        default, values are equally spaced.

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
