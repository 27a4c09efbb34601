"""What the estimators that judge rows share: their training rows, and statements about any row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eosparse.core import FloatArray
from eosparse.estimators.notebook import SummaryMixin, summarise_flags
from eosparse.fitting.judge import Judge, Rule, find_judge
from eosparse.fitting.notices import warn_of_minority
from eosparse.fitting.table_input import open_new
from eosparse.models import Fit
from eosparse.rows import Table


class RowEstimator(SummaryMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """An estimator that judges rows by an error model."""

    # Whether rows may have missing values: see `open_training`.
    _takes_gaps: bool = False
    _judge: Judge
    _training: Table | None

    def _judge_training(self, fit: Fit[Any], table: Table, rule: Rule) -> None:
        """Find the law of the distances and the cut-off; keep what is needed to judge any row."""
        distances = table.map(fit.measure)
        judge = find_judge(fit, distances, rule)
        if table.has_gaps:  # they are judged by other distances than those of the fit
            judge = judge.spread_weight(distances)
        warn_of_minority(judge, distances, table.n_features)
        self._keep_judge(judge, distances, table)

    def _keep_judge(self, judge: Judge, distances: Table, table: Table) -> None:
        """Keep what is needed to judge any row."""
        self._judge = replace(judge, dtype=table.dtype)
        self._training = distances if table.is_kept else None

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if state.get("_training") is not None:
            state = {**state, "_training": state["_training"].keep_for_pickle()}
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_gaps
        return tags

    def _summary(self) -> list[tuple[str, str]]:
        return summarise_flags(self)

    @property
    def weights_(self) -> Any:
        """Weights of the training rows, summing to one."""
        distances = self._training_distances("weights_")
        weights = distances.map(self._judge.weigh).to_column(self._judge.dtype)
        return distances.times_prior(weights)

    @property
    def is_outlier_(self) -> Any:
        """Which training rows are flagged."""
        return self._training_distances("is_outlier_").map(self._judge.is_outlier).to_column(bool)

    def _training_distances(self, name: str) -> Table:
        check_is_fitted(self, "offset_")
        if self._training is None:
            raise AttributeError(
                f"{name} is not kept for rows on disk, nor in a saved detector for rows on a "
                "cluster. score_samples(), p_values() and predict() return it as for new rows; "
                "EOSDetector.write_scores() streams it to a file."
            )
        return self._training

    def score_samples(self, X: Any) -> Any:
        """Return minus the error of each row: higher is more normal.

        Rows with a score below `offset_` are outliers. Rows on disk are streamed; Dask collections
        give lazy scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, opened rows or Dask collection
            New rows.

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSKMeans
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> model = EOSKMeans(1).fit(X)
        >>> (model.score_samples([[0.0, 0.0], [20.0, 0.0]]) < model.offset_).tolist()
        [False, True]
        """
        return self._judge_new(X, Judge.scores)

    def p_values(self, X: Any) -> Any:
        """Return the probability that a row that belongs has an error at least as large.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, opened rows or Dask collection
            New rows.

        Returns
        -------
        array of shape (n_samples,)

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSKMeans
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> EOSKMeans(1).fit(X).p_values([[0.0, 0.0], [20.0, 0.0]]).round(1).tolist()
        [1.0, 0.0]
        """
        return self._judge_new(X, Judge.p_values)

    def _judge_new(
        self, X: Any, statement: Callable[[Judge, FloatArray], Any], dtype: Any = None
    ) -> Any:
        table = open_new(self, X)
        judge = replace(self._judge, dtype=table.dtype)
        distances = table.map(judge.fit.measure)
        return distances.map(partial(statement, judge)).to_column(dtype or table.dtype)
