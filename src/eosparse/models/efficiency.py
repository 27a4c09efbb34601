"""How strong the weighting may be: from a target efficiency to alpha, and the smallest safe alpha.

All in terms of ``c = 1/(αD)``, the exponent of the Gaussian weights ``w ∝ exp(-c·m/2)``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import brentq

Structure = Literal["full", "diag", "spherical"]


def coupling_for_efficiency(efficiency: float, n_dimensions: float) -> float:
    """Return the c at which the location has a given efficiency on Gaussian rows.

    The efficiency is ``(1-c²)^(D/2+1)``: its variance is that of the mean divided by it.

    Examples
    --------
    >>> round(coupling_for_efficiency(0.7, 10), 3)
    0.24
    """
    return float(np.sqrt(-np.expm1(2 * np.log(efficiency) / (n_dimensions + 2))))


def largest_stable_coupling(n_parameters: float, n_rows: float, safety: float = 2.0) -> float:
    """Return the largest c at which `n_rows` inliers keep the fit from collapsing.

    A solution with k free parameters in its covariance is locally stable while
    ``1/c > (1 + √(k/n))²``; `safety` multiplies that bound. Twice the bound was safe in all trials.

    Examples
    --------
    >>> round(largest_stable_coupling(n_parameters=55, n_rows=500), 3)
    0.282
    """
    return float(1.0 / (safety * (1 + np.sqrt(n_parameters / n_rows)) ** 2))


def largest_uncaptured_coupling(n_dimensions: float, n_rows: float, safety: float = 2.0) -> float:
    """Return the largest c at which no single row can capture a full covariance.

    A row with a share ω of the weight lies at the squared distance 1/ω, others at about D. It keeps
    its share if ``exp(c (D - 1/ω) / 2) ≥ n ω``, which some ω satisfies unless
    ``exp(c D / 2) < e n c / 2``; `safety` divides n. Only hundreds of columns with few rows for
    each come near that bound.

    Examples
    --------
    >>> round(largest_uncaptured_coupling(500, 10_000), 3), largest_uncaptured_coupling(5, 1000)
    (0.02, 1.0)
    """
    lowest = 2.0 / n_dimensions

    def excess(c: float) -> float:
        return float(c * n_dimensions / 2 - 1 - np.log(n_rows * c / (2 * safety)))

    if lowest >= 1.0 or excess(1.0) <= 0.0:
        return 1.0
    return lowest if excess(lowest) >= 0.0 else float(brentq(excess, lowest, 1.0))


def covariance_parameters(structure: Structure, n_dimensions: float) -> float:
    """Return the number of free parameters of a covariance.

    Examples
    --------
    >>> covariance_parameters("full", 10), covariance_parameters("diag", 10)
    (55.0, 10)
    """
    if structure == "full":
        return n_dimensions * (n_dimensions + 1) / 2
    return n_dimensions if structure == "diag" else 1.0
