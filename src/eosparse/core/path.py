"""Warm-started paths: the same problem solved along falling values of alpha."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eosparse.core.alternation import (
    Block,
    ErrorModel,
    Result,
    Rows,
    Stats,
    Status,
    Theta,
    alternate,
)


def alpha_path(
    model: ErrorModel[Block, Theta, Stats],
    rows: Rows[Block],
    alphas: Iterable[float],
    theta: Theta,
    *,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> list[Result[Theta]]:
    """Solve for each alpha from the solution of the one before; end at a collapse or interrupt.

    The last result is kept whatever its status, so that the path shows how it ended.
    """
    results: list[Result[Theta]] = []
    for alpha in alphas:
        results.append(alternate(model, rows, alpha, theta, tol=tol, max_iter=max_iter))
        if results[-1].status in (Status.COLLAPSED, Status.INTERRUPTED):
            break
        theta = results[-1].theta
    return results


def longest_plateau(levels: Sequence[float], tolerance: float) -> slice:
    """Return the longest run of neighbours whose values all lie within `tolerance` of each other.

    Examples
    --------
    >>> from eosparse.core import longest_plateau
    >>> longest_plateau([0, 0, 9, 20, 20, 21, 20, 35], tolerance=1)
    slice(3, 7, None)
    """
    best = slice(0, 0)
    start = 0
    for stop in range(1, len(levels) + 1):
        while max(levels[start:stop]) - min(levels[start:stop]) > tolerance:
            start += 1
        if stop - start > best.stop - best.start:
            best = slice(start, stop)
    return best
