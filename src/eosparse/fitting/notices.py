"""Warnings: what they are called, and whom they point at."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from eosparse.core import Result, Status


class DegenerateDataWarning(UserWarning):
    """Rows are tied, satisfy an exact relation, or are too few for the fit."""


class MaskingWarning(UserWarning):
    """No solution holds half of the rows: the answer may describe a minority."""


class LostClassWarning(UserWarning):
    """A class lost almost all of its weight."""


def warn_unless_converged(result: Result[Any], max_iter: int) -> None:
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


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the first line outside this package: the user's call."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("eosparse."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
