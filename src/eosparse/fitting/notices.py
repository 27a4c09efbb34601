"""Warnings of fits that were cut short, of minorities, and of rows that are not told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from eosparse.core import CollapseError, MaskingWarning, Result, Status, warn_caller
from eosparse.fitting.judge import TAIL_GUARD, Judge
from eosparse.inference import count_beyond
from eosparse.rows import Table

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


# Rows that are farther than this share of good ones do not follow a fit.
_FARTHER = 0.01


def warn_of_minority(judge: Judge, distances: Table, n_features: int) -> None:
    """Warn if less than half of the rows follow a fit.

    One that no more rows follow than it can pass through exactly says nothing about any row. The
    search of a Gaussian has warned already.
    """
    fit = judge.fit
    if fit.model.has_known_law:
        return
    cut = judge.pull.take_in(judge.law.distance_at(np.array([_FARTHER])))
    share = 1 - float(count_beyond(distances, cut)[0]) / fit.n_rows
    if share >= 0.5:
        return
    name = type(fit.model).__name__
    if share * fit.n_rows / fit.copies <= fit.model.n_determining(n_features):
        size = fit.result.effective_size / fit.copies
        raise CollapseError(
            f"the weights gather on {size:.3g} effective rows: no solution of {name} holds half of "
            "them. Use a model with fewer parameters, or pass a larger alpha."
        )
    warn_caller(
        f"no solution of {name} holds half of the rows; the one that is reported holds "
        f"{share:.0%}, and the others may not be outliers.",
        MaskingWarning,
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
