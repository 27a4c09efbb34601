"""Whether rows that a start leaves out stay out.

A row at squared distance m has the weight ``exp(-c m/2)``. Rows that are left out still add λ to
the variance of one direction, which brings them nearer, so that they add more:

    V = 1 + λ exp(a (1 - 1/V)),    a = c m/2

This has a solution near one if ``λ a e <= 1``. Otherwise V may grow until the rows belong.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import BoolArray, FloatArray, chi_squared_quantile
from eosparse.models.normal import Normal

if TYPE_CHECKING:
    from eosparse.models.gaussian_ends import Candidate, StartSearch

# Rows with more than this share of the weight are taken in at once.
MOST_WEIGHT = 0.02
# Level of the ellipsoid in which rows belong to a fit.
_BELONGING = 0.99
# Hardly any good row lies beyond this level of a solution, so that more of them are a group.
_FAR = 0.9999


def stay_out(
    fit: Normal,
    values: FloatArray,
    distances: FloatArray,
    mass: FloatArray,
    left: BoolArray,
    coupling: float,
) -> bool:
    """Whether rows that are left out of a fit stay out of the alternation that starts there.

    Parameters
    ----------
    fit : Normal
        The fit to the other rows.
    values, distances, mass : array
        All rows, their squared distances from the fit, and their prior weights.
    left : array of bool of shape (n_rows,)
        Which are left out.
    coupling : float
        c of the alternation.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Normal
    >>> from eosparse.models.recapture import stay_out
    >>> rows = np.random.default_rng(0).normal(size=(200, 50))
    >>> rows[:20, 0] += 60.0
    >>> left = np.arange(200) < 20
    >>> fit = Normal(np.zeros(50), np.eye(50))
    >>> distances, mass = fit.mahalanobis(rows), np.ones(200)
    >>> [stay_out(fit, rows, distances, mass, left, c) for c in (0.002, 0.02)]
    [False, True]
    """
    weights = mass * np.exp(-coupling / 2 * distances)
    part = weights[left] / weights.sum()
    if part.sum() > MOST_WEIGHT:
        return False
    added = part * distances[left]
    total = float(added.sum())
    if total == 0.0:
        return True
    exponent = coupling / 2 * float(added @ distances[left]) / total
    if total * exponent * math.e <= 1:  # even if all of them lie in one direction
        return True
    white = np.sqrt(part)[:, None] * fit.whiten(values[left] - fit.location)
    few = white @ white.T if len(white) < white.shape[1] else white.T @ white
    return bool(float(np.linalg.eigvalsh(few)[-1]) * exponent * math.e <= 1)


def leaves_out(
    fit: Normal, coupling: float, values: FloatArray, mass: FloatArray, most: float
) -> bool:
    """Whether rows that lay far beyond a start are still beyond the fit to which it led.

    At some c, up to so much of their mass may belong to it: rows near the boundary change sides.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import Normal
    >>> from eosparse.models.recapture import leaves_out
    >>> fit, rows = Normal(np.zeros(2), np.eye(2)), np.array([[9.0, 0.0], [1.0, 0.0]])
    >>> [leaves_out(fit, 0.2, rows, np.ones(2), most) for most in (0.5, 1.0)]
    [False, True]
    """
    reach = chi_squared_quantile(_BELONGING, values.shape[1]) / (1 - coupling)
    return bool(mass @ (fit.mahalanobis(values) <= reach) <= most)


def lie_far(found: Candidate, search: StartSearch, factor: float) -> BoolArray:
    """Return which rows lie far beyond a solution, where hardly any good one does.

    Their squared distance is so many times that beyond which hardly any good row lies.
    """
    size = search.values.shape[1]
    farther = chi_squared_quantile(_FAR, size) / chi_squared_quantile(0.99, size)
    # Few rows for many directions put those that had no part in the fit too far out.
    cut = max(farther * found.cut, search.cut_of_new_rows(found.result, found.coupling, _FAR))
    return np.asarray(found.theta.mahalanobis(search.values) > factor * cut)
