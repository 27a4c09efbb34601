"""Gaussian rows with outliers among them: the paper's synthetic tables, and harder ones."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from eosparse.core import BoolArray, FloatArray

Outliers = Literal["uniform", "clustered", "radial"]
Inliers = Literal["independent", "autoregressive", "factor"]


class Contaminated(NamedTuple):
    """Rows, and which of them are outliers."""

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
    """Draw Gaussian rows and ``round(contamination * n_samples)`` outliers, in random order.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the table.
    contamination : float, default=0.1
        Share of outliers.
    outliers : {"uniform", "clustered", "radial"}, default="uniform"
        Uniform on ``[1, 6]`` in every column, as in the paper; uniform on ``[3, 4]``, a unit box
        at distance 3 in every column; or Gaussian with three times the standard deviation.
    inliers : {"independent", "autoregressive", "factor"}, default="independent"
        Covariance of the others: the identity, 0.5 to the power of the columns' distance, or that
        of random factors, which differs from draw to draw.
    random_state : int, Generator or None, default=None
        Seed.

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
    if not 0.0 <= contamination <= 1.0:
        raise ValueError(f"contamination={contamination!r} must lie in [0, 1].")
    rng = np.random.default_rng(random_state)
    n_outliers = round(contamination * n_samples)
    good = rng.standard_normal((n_samples - n_outliers, n_features))
    good = good @ _root(n_features, inliers, rng).T
    size = (n_outliers, n_features)
    match outliers:
        case "uniform":
            bad = rng.uniform(1.0, 6.0, size)
        case "clustered":
            bad = rng.uniform(3.0, 4.0, size)
        case "radial":
            bad = 3.0 * rng.standard_normal(size)
        case _:
            raise ValueError(f"outliers={outliers!r} must be 'uniform', 'clustered' or 'radial'.")
    X = np.concatenate([good, bad])
    order = rng.permutation(n_samples)
    return Contaminated(X[order], (np.arange(n_samples) >= n_samples - n_outliers)[order])


def inlier_covariance(n_features: int, inliers: Inliers) -> FloatArray:
    """Return the covariance of the inliers; that of "factor" differs from draw to draw."""
    match inliers:
        case "independent":
            return np.eye(n_features)
        case "autoregressive":
            gap = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
            return np.asarray(0.5**gap)
        case _:
            raise ValueError(
                f"inliers={inliers!r} must be 'independent', 'autoregressive' or 'factor'."
            )


def _root(n_features: int, inliers: Inliers, rng: np.random.Generator) -> FloatArray:
    """Return a matrix whose product with its transpose is the covariance of the inliers."""
    covariance: FloatArray
    if inliers == "factor":
        loadings = rng.standard_normal((n_features, n_features))
        covariance = np.asarray(loadings @ loadings.T / n_features + 0.1 * np.eye(n_features))
    else:
        covariance = inlier_covariance(n_features, inliers)
    return np.asarray(np.linalg.cholesky(covariance))
