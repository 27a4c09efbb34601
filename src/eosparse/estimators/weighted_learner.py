"""What `EOSClassifier` and `EOSRegressor` share: options, checks and the inner estimator."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from eosparse.core import check_alpha, check_choice, check_number, check_whole
from eosparse.estimators.notebook import SummaryMixin, summarise_weights
from eosparse.fitting.learning import LearningOptions
from eosparse.fitting.meta_input import check_rows
from eosparse.fitting.weighted_fit import route_weights


class WeightedLearner(SummaryMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    """Base of estimators that wrap a scikit-learn estimator and weigh its rows."""

    estimator: Any
    alpha: float | Literal["auto"]
    out_of_fold: bool | Literal["auto"]
    n_folds: int
    tol: float
    max_iter: int | None
    random_state: int | np.random.RandomState | None

    @abstractmethod
    def _inner(self) -> Any:
        """Return the estimator to wrap, or the default one."""

    def _check_options(self) -> LearningOptions:
        """Check the parameters that all subclasses have."""
        if not isinstance(self.out_of_fold, (bool, np.bool_)):
            check_choice("out_of_fold", self.out_of_fold, ("auto",))
        return LearningOptions(
            alpha=check_alpha(self.alpha),
            out_of_fold=self.out_of_fold,
            n_folds=check_whole("n_folds", self.n_folds, 2),
            tol=check_number("tol", self.tol, "[0, inf)"),
            max_iter=check_whole("max_iter", self.max_iter, 1, words=(None,)),
            random_state=self.random_state,
        )

    def _check_inner(self) -> Any:
        """Return the estimator to wrap, if it is of the right kind and takes weights."""
        inner, kind = self._inner(), get_tags(self).estimator_type
        if get_tags(inner).estimator_type != kind:
            raise ValueError(f"estimator={inner!r} must be a {kind}.")
        route_weights(inner, np.ones(1))  # raises if it takes none
        return inner

    def _check_new(self, X: Any) -> Any:
        """Return new rows as the fitted estimator takes them."""
        check_is_fitted(self, "estimator_")
        return check_rows(self, X, self.estimator_, reset=False)

    def _summary(self) -> list[tuple[str, str]]:
        return summarise_weights(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._inner()).input_tags
        return tags
