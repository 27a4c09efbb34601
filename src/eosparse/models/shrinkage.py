"""How much to shrink a covariance when rows are few for the columns."""

from __future__ import annotations

import numpy as np

from eosparse.core import FloatArray


def oas_shrinkage(scatter: FloatArray, n_features: int, effective_size: float) -> float:
    """Oracle-approximating shrinkage towards a multiple of the identity, for weighted rows.

    The formula of Chen, Wiesel, Eldar and Hero (2010) with Kish's effective size in place of the
    number of rows.

    Parameters
    ----------
    scatter : array of shape (rank, rank)
        Weighted scatter in an orthonormal basis of the rows' span.
    n_features : int
        Dimension of the whole space.
    effective_size : float
        Kish's size of the weights.

    Returns
    -------
    float
        λ in [0, 1].
    """
    trace, squares = float(np.trace(scatter)), float(np.square(scatter).sum())
    spread = squares - trace**2 / n_features
    if spread <= 0.0:
        return 1.0
    above = (1 - 2 / n_features) * squares + trace**2
    return float(min(1.0, above / ((effective_size + 1 - 2 / n_features) * spread)))


def effective_dimension(scatter: FloatArray, n_features: int, shrinkage: float) -> float:
    """Number of directions along which a shrunk covariance follows the rows.

    With ρ_i the part of the i-th variance that comes from the rows, it is (Σ ρ)² / Σ ρ².
    """
    variances = np.maximum(np.linalg.eigvalsh(scatter), 0.0)
    followed = (1 - shrinkage) * variances
    parts = followed / (followed + shrinkage * variances.sum() / n_features)
    return float(parts.sum() ** 2 / np.square(parts).sum())
