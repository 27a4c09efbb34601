"""Principal components of rows among which there are outliers; each returns directions as columns.

A robust covariance gives components as well: see `take_leading`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from eosparse.comparison.peers.in_r import fit_in_r
from eosparse.comparison.peers.registry import Task, register
from eosparse.core import FloatArray
from eosparse.estimators import EOSPCA
from eosparse.models import spatial_median


def take_leading(covariance: FloatArray, n_components: int) -> FloatArray:
    """Return the eigenvectors of a covariance with the largest eigenvalues, as columns.

    Examples
    --------
    >>> abs(take_leading(np.diag([1.0, 9.0, 4.0]), 1)).ravel()
    array([0., 1., 0.])
    """
    return np.asarray(np.linalg.eigh(covariance)[1][:, -n_components:])


@register("EOSPCA", Task.REDUCE, needs="eosparse")
def _reduce_by_eos(X: FloatArray, n_components: int, seed: int) -> Any:  # noqa: ARG001
    return EOSPCA(n_components).fit(X).components_.T


@register("PCA (scikit-learn)", Task.REDUCE, needs="sklearn")
def _reduce_by_pca(X: FloatArray, n_components: int, seed: int) -> Any:  # noqa: ARG001
    return PCA(n_components).fit(X).components_.T


@register("spherical", Task.REDUCE, needs="eosparse")
def _reduce_spherically(X: FloatArray, n_components: int, seed: int) -> FloatArray:  # noqa: ARG001
    """Return components of the directions from the spatial median."""
    centred = X - spatial_median(X, np.ones(len(X)))
    directions = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    return take_leading(directions.T @ directions, n_components)


@register("ROBPCA (rrcov)", Task.REDUCE, needs="R:rrcov", is_random=True)
def _reduce_by_robpca(X: FloatArray, n_components: int, seed: int) -> FloatArray:
    # alpha = 0.5 trims half of the rows, the most robust choice.
    fit = f"f <- PcaHubert(X, k = {n_components}, alpha = 0.5)"
    expression = f"{{{fit}; list(center = f@center, cov = tcrossprod(f@loadings))}}"
    return take_leading(fit_in_r(X, "rrcov", expression, seed).covariance, n_components)
