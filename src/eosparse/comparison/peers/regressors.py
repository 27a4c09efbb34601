"""Linear regressions that tolerate outliers; each returns its coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    RANSACRegressor,
    TheilSenRegressor,
)

from eosparse.comparison.peers.registry import Task, register
from eosparse.core import FloatArray
from eosparse.estimators import EOSRegressor


def _register_sklearn(name: str, make: Callable[[], Any]) -> None:
    @register(name, Task.REGRESS, needs="sklearn")
    def fit_coefficients(X: FloatArray, y: FloatArray) -> FloatArray:
        fitted = make().fit(X, y)
        return np.asarray(getattr(fitted, "estimator_", fitted).coef_)


def _register_rlm(name: str, norm: str) -> None:
    """Add an M-estimator of statsmodels with one of its norms."""

    @register(name, Task.REGRESS, needs="statsmodels")
    def fit_coefficients(X: FloatArray, y: FloatArray) -> FloatArray:
        import statsmodels.api as sm

        model = sm.RLM(y, sm.add_constant(X), M=getattr(sm.robust.norms, norm)())
        return np.asarray(model.fit().params[1:])


_register_sklearn("EOSRegressor", EOSRegressor)
_register_sklearn("least squares", LinearRegression)
# More iterations than by default, so that it converges with many outliers too.
_register_sklearn("Huber", lambda: HuberRegressor(max_iter=500))
_register_sklearn("RANSAC", lambda: RANSACRegressor(random_state=0))
# A fifth of the default subpopulation, to save time.
_register_sklearn("Theil-Sen", lambda: TheilSenRegressor(random_state=0, max_subpopulation=2000))
_register_rlm("RLM (Huber)", "HuberT")
_register_rlm("RLM (Tukey)", "TukeyBiweight")
