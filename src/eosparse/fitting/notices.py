"""Warnings of fits that were cut short, and of rows that a fit does not tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from eosparse.core import MaskingWarning, Result, Status, warn_caller
from eosparse.fitting.judge import TAIL_GUARD, Judge

# Divergence of the weights from equal ones: they differ by less than a part in a million.
_EQUAL = 1e-12
# So many times as many rows as expected are no chance, and no error of the law; fewer rows are.
_MOST_UNCLEAR, _FEW_ROWS = 5.0, 10


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


def refuse_equal_weights(result: Result[Any], mass: float) -> None:
    """Raise if a finite α that was asked for tells no rows apart.

    The objective is then -α log Σu up to rounding, whatever θ is, and cannot say which is best.
    """
    if np.isinf(result.alpha) or result.status is Status.COLLAPSED:
        return
    if abs(np.log(mass) - np.log(result.perplexity)) < _EQUAL:
        raise ValueError(
            f"alpha={result.alpha:.6g} is so large beside the errors that all rows have the same "
            "weight, up to rounding. Pass alpha=float('inf') for that, or a smaller alpha."
        )


def warn_of_unclear_rows(judge: Judge, fdr: float) -> None:
    """Warn if many rows that are not flagged lie where hardly any good row does.

    Outliers at all distances leave no gap: some have weight, and widen the fit until the others
    look nearly good. The law of a Gaussian is known, so that their number shows it.
    """
    fit, n_unclear = judge.fit, judge.n_unclear
    expected = fdr / TAIL_GUARD * judge.n_kept
    if not fit.model.has_known_law or n_unclear < _FEW_ROWS * fit.copies:
        return
    if n_unclear > _MOST_UNCLEAR * expected:
        warn_caller(
            f"{n_unclear / judge.n_kept:.1%} of the rows that are not flagged have p-values below "
            f"{fdr / TAIL_GUARD:.2g}: there is no gap between outliers and other rows, and "
            "outliers may be among those that are not flagged. A lower efficiency may tell them "
            "apart, unless the rows have heavier tails than a Gaussian.",
            MaskingWarning,
        )
