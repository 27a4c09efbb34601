"""Robust covariances: each estimates location and covariance, and so judges rows by distance.

They are used with their defaults, and flag rows beyond the 97.5 % quantile of χ², as is usual for
them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import chi2

from eosparse.comparison.peers.in_r import fit_in_r
from eosparse.comparison.peers.outcomes import Detection, Estimate
from eosparse.comparison.peers.registry import EstimateCovariance, Task, register
from eosparse.core import FloatArray

# Beyond it a row is flagged: the customary level of robust distances.
_LEVEL = 0.975


def judge_by_covariance(X: FloatArray, estimate: Estimate) -> Detection:
    """Judge rows by their distance in an estimated covariance.

    If the estimate was timed in another process, the time of the distances is added.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [3.0, 4.0]])
    >>> detection = judge_by_covariance(X, Estimate(np.zeros(2), np.eye(2)))
    >>> detection.scores.tolist(), detection.flagged.tolist()
    ([1.0, 25.0], [False, True])
    """
    location, covariance, seconds = estimate
    begun = time.process_time()
    try:
        factor = np.linalg.cholesky(covariance)
        white = solve_triangular(factor, (X - location).T, lower=True)
        distances = np.einsum("ij,ij->j", white, white)
    except np.linalg.LinAlgError:  # singular
        centred = X - location
        distances = np.einsum("ij,ij->i", centred @ np.linalg.pinv(covariance), centred)
    if seconds is not None:
        seconds += time.process_time() - begun
    flagged = distances > chi2.ppf(_LEVEL, X.shape[1])
    return Detection(distances, flagged, location, covariance, seconds)


def register_covariance(
    name: str, needs: str, *, is_random: bool = False
) -> Callable[[EstimateCovariance], EstimateCovariance]:
    """Return a decorator that registers an estimator of a covariance as a detector.

    Examples
    --------
    >>> from eosparse.comparison.peers import PEERS
    >>> import numpy as np
    >>> @register_covariance("identity", needs="numpy")
    ... def estimate_identity(X, seed):
    ...     return Estimate(X.mean(axis=0), np.eye(X.shape[1]))
    >>> PEERS.pop("identity").run(np.array([[-1.0], [1.0]]), 0).scores
    array([1., 1.])
    """

    def add(estimate: EstimateCovariance) -> EstimateCovariance:
        def detect(X: FloatArray, seed: int) -> Detection:
            return judge_by_covariance(X, estimate(X, seed))

        register(name, Task.DETECT, needs, is_random=is_random, estimate=estimate)(detect)
        return estimate

    return add


@register_covariance("classical covariance", needs="numpy")
def _estimate_classically(X: FloatArray, seed: int) -> Estimate:  # noqa: ARG001  # shared signature
    return Estimate(X.mean(axis=0), np.cov(X, rowvar=False).reshape(X.shape[1], -1))


@register_covariance("FastMCD (scikit-learn)", needs="sklearn", is_random=True)
def _estimate_by_fast_mcd(X: FloatArray, seed: int) -> Estimate:
    from sklearn.covariance import MinCovDet

    mcd = MinCovDet(random_state=seed).fit(X)
    return Estimate(mcd.location_, mcd.covariance_)


@register_covariance("DetMCD (statsmodels)", needs="statsmodels")
def _estimate_by_det_mcd(X: FloatArray, seed: int) -> Estimate:  # noqa: ARG001  # shared signature
    from statsmodels.robust.covariance import CovDetMCD

    n, d = X.shape
    return _read_statsmodels(CovDetMCD(X).fit((n + d + 1) // 2))


@register_covariance("OGK (statsmodels)", needs="statsmodels")
def _estimate_by_ogk(X: FloatArray, seed: int) -> Estimate:  # noqa: ARG001  # shared signature
    from statsmodels.robust.covariance import cov_ogk

    return _read_statsmodels(cov_ogk(X))


def _read_statsmodels(result: Any) -> Estimate:
    return Estimate(np.asarray(result.mean), np.asarray(result.cov))


def _make_r_estimator(package: str, expression: str) -> EstimateCovariance:
    """Return an estimator of an R package; the expression gives a list of center and cov."""

    def estimate(X: FloatArray, seed: int) -> Estimate:
        return fit_in_r(X, package, expression, seed)

    return estimate


register_covariance("OGK (R)", needs="R:robustbase")(
    _make_r_estimator(
        "robustbase", "with(covOGK(X, sigmamu = scaleTau2), list(center = wcenter, cov = wcov))"
    )
)
register_covariance("Stahel-Donoho (R)", needs="R:rrcov", is_random=True)(
    _make_r_estimator("rrcov", "{s <- CovSde(X); list(center = getCenter(s), cov = getCov(s))}")
)
# Versions of the same estimators that are only timed: in panels they would be there twice.
for _name, _call, _is_random in (
    ("FastMCD (R)", "covMcd(X)", True),
    ("DetMCD (R)", 'covMcd(X, nsamp = "deterministic")', False),
    ("comedian (R)", "covComed(X)", False),
):
    _estimator = _make_r_estimator("robustbase", _call)
    register(_name, Task.ESTIMATE, "R:robustbase", is_random=_is_random, estimate=_estimator)(
        _estimator
    )
