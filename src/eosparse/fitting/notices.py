"""A warning for every fit that was cut short."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from eosparse.core import Result, Status, warn_caller


def warn_of_early_end(result: Result[Any], max_iter: int) -> None:
    """Warn of an alternation that was cut short."""
    if result.status is Status.MAX_ITER:
        warn_caller(
            f"the alternation did not converge in max_iter={max_iter} passes; the last fall of "
            "the objective exceeds tol. Raise max_iter or tol.",
            ConvergenceWarning,
        )
    elif result.status is Status.INTERRUPTED:
        warn_caller(
            f"the alternation was interrupted after {result.n_iter} passes; the state reached so "
            "far is kept.",
            ConvergenceWarning,
        )
