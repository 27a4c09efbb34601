"""Gaussian rows with outliers: the paper's synthetic tables, and harder ones."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.core.numbers import check_choice, check_number

Outliers = Literal["uniform", "clustered", "radial"]
Inliers = Literal["independent", "autoregressive", "factor"]


class Contaminated(NamedTuple):
    """Rows, and which of them are outliers.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    is_outlier : ndarray of bool of shape (n_samples,)
        Which rows are outliers.

    Examples
    --------
    >>> from eosparse.datasets import make_contaminated
    >>> data = make_contaminated(100, 2, 0.1, random_state=0)
    >>> bool(data.X[data.is_outlier].min() >= 1)
    True
    """

    X: FloatArray
    is_outlier: BoolArray


def make_contaminated(
    n_samples: int = 1000,
    n_features: int = 10,
    contamination: float = 0.1,
    *,
    outliers: Outliers = "uniform",
    inliers: Inliers = "independent",
    random_state: int | np.random.Generator | None = None,
) -> Contaminated:
    """Draw Gaussian rows and ``round(contamination * n_samples)`` outliers, shuffled.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the table.
    contamination : float, default=0.1
        Share of outliers.
    outliers : {"uniform", "clustered", "radial"}, default="uniform"
        "uniform" on ``[1, 6]`` in every column, as in the paper; "clustered" in a unit box,
        uniform on ``[3, 4]`` in every column; or "radial", Gaussian with three times the standard
        deviation.
    inliers : {"independent", "autoregressive", "factor"}, default="independent"
        Covariance of the other rows: the identity; 0.5 to the power of the distance between
        columns; or that of random factors, which differs from draw to draw.
    random_state : int, Generator or None, default=None
        Seed or generator of the random numbers.

    Returns
    -------
    Contaminated
        The table `X` and the mask `is_outlier`.

    Examples
    --------
    >>> from eosparse.datasets import make_contaminated
    >>> X, is_outlier = make_contaminated(200, 3, 0.05, random_state=0)
    >>> X.shape, int(is_outlier.sum())
    ((200, 3), 10)
    """
    check_number("contamination", contamination, "[0, 1]")
    check_choice("outliers", outliers, get_args(Outliers))
    check_choice("inliers", inliers, get_args(Inliers))
    rng = np.random.default_rng(random_state)
    n_outliers = round(contamination * n_samples)
    good = rng.standard_normal((n_samples - n_outliers, n_features))
    good = good @ _factorise_covariance(n_features, inliers, rng).T
    size = (n_outliers, n_features)
    match outliers:
        case "uniform":
            bad = rng.uniform(1.0, 6.0, size)
        case "clustered":
            bad = rng.uniform(3.0, 4.0, size)
        case "radial":
            bad = 3.0 * rng.standard_normal(size)
    X = np.concatenate([good, bad])
    order = rng.permutation(n_samples)
    return Contaminated(X[order], (np.arange(n_samples) >= n_samples - n_outliers)[order])


def compute_inlier_covariance(n_features: int, inliers: Inliers) -> FloatArray:
    """Compute the covariance of the inliers, unless it is "factor", which differs by draw."""
    check_choice("inliers", inliers, ("independent", "autoregressive"))
    if inliers == "independent":
        return np.eye(n_features)
    gap = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
    return np.asarray(0.5**gap)


def _factorise_covariance(
    n_features: int, inliers: Inliers, rng: np.random.Generator
) -> FloatArray:
    """Return a triangular matrix whose product with its transpose is the inliers' covariance."""
    covariance: FloatArray
    if inliers == "factor":
        loadings = rng.standard_normal((n_features, n_features))
        covariance = np.asarray(loadings @ loadings.T / n_features + 0.1 * np.eye(n_features))
    else:
        covariance = compute_inlier_covariance(n_features, inliers)
    return np.asarray(np.linalg.cholesky(covariance))
