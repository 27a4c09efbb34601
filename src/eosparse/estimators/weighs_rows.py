"""What the estimators around an error model share: parameters, and what is said of rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eosparse.core import ErrorModel, FloatArray, check_alpha, check_number, check_whole
from eosparse.estimators.notebook import SummaryMixin, flags_summary
from eosparse.fitting.error_fit import ErrorFit
from eosparse.fitting.gaussian_choices import FitOptions
from eosparse.fitting.model_choices import fit_model
from eosparse.fitting.notices import warn_unless_converged
from eosparse.fitting.read_out import Judgement, Rule, read_out
from eosparse.fitting.table_input import new_table
from eosparse.rows import Table, as_float64


class WeighsRows(SummaryMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """An estimator around an error model."""

    alpha: float | Literal["auto"]
    efficiency: float
    fdr: float
    tol: float
    max_iter: int

    def _check_parameters(self) -> None:
        check_alpha(self.alpha)
        check_number("efficiency", self.efficiency, "(0, 1)")
        check_number("fdr", self.fdr, "(0, 1)")
        check_number("tol", self.tol, "[0, inf)")
        check_whole("max_iter", self.max_iter, 1)

    def _fit_to(
        self, model: ErrorModel[FloatArray, Any, Any], table: Table, prepare: Any = as_float64
    ) -> ErrorFit[Any]:
        options = FitOptions(
            alpha=self.alpha, efficiency=self.efficiency, tol=self.tol, max_iter=self.max_iter
        )
        return fit_model(table, model, options, prepare)

    def _keep(self, fit: ErrorFit[Any], table: Table) -> None:
        """Keep a fit, and read out which rows do not belong."""
        self._fit_, self._dtype = fit, table.dtype
        distances = table.mapped(fit.uncorrected_distances)
        self._read_out = read_out(fit, distances, Rule("fdr", self.fdr))
        self.alpha_ = fit.result.alpha
        self.objective_ = fit.result.objective
        self.objective_history_ = np.array(fit.result.objective_history)
        self.n_iter_ = fit.result.n_iter
        self.effective_sample_size_ = fit.result.effective_size
        self.status_ = fit.result.status
        self.offset_ = -self._read_out.judge.cut
        warn_unless_converged(fit.result, self.max_iter)

    def _summary(self) -> list[tuple[str, str]]:
        return flags_summary(self)

    @property
    def weights_(self) -> Any:
        """Weights of the training rows, summing to one."""
        check_is_fitted(self, "offset_")
        return self._read_out.of_training("weights_", self._dtype)

    @property
    def is_outlier_(self) -> Any:
        """Which training rows are flagged."""
        check_is_fitted(self, "offset_")
        return self._read_out.of_training("is_outlier_", self._dtype)

    def score_samples(self, X: Any) -> Any:
        """Return minus the error of each row: higher is more normal.

        Rows with a score below `offset_` do not belong. Rows on disk are streamed, those of Dask
        stay lazy.
        """
        return self._judged(X, "score_samples")

    def p_values(self, X: Any) -> Any:
        """Return the chance of an error at least as large, for a row that belongs."""
        return self._judged(X, "p_values")

    def _judged(self, X: Any, name: str) -> Any:
        check_is_fitted(self, "offset_")
        table = new_table(self, X)
        function = Judgement(self._read_out.judge, name, table.dtype)
        return table.mapped(function).column(table.dtype)
