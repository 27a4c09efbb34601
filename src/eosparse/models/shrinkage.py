"""How much to shrink a covariance when rows are few for the columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import FloatArray, weighted_moments, weighted_quantiles
from eosparse.models.normal import RANK_TOLERANCE, Normal
from eosparse.rows import Sample, find_middle

if TYPE_CHECKING:
    from eosparse.models.gaussian import GaussianModel

# With fewer rows per column than this, "auto" shrinks the covariance: its smallest eigenvalues are
# then too small by a factor of three or more (Marchenko and Pastur).
ROWS_PER_COLUMN = 5.0
# A covariance shrunk further no longer follows the rows at all. With fewer rows than columns, the
# rows vary more along the directions that they span, by that ratio, than they do on the whole.
_LEAST_FOLLOWED = 0.01
# Of the iteration for the largest variance; it decides about a bound, so that few digits do.
_POWER_STEPS = 20


def choose_shrinkage(model: GaussianModel, sample: Sample) -> GaussianModel:
    """Return a model with the requested shrinkage, or with one that suits the number of rows."""
    assert model.coordinates is not None
    rank, n_features = model.coordinates.rank, model.n_features
    is_crowded = sample.n_rows < ROWS_PER_COLUMN * sample.copies * rank
    if rank == 0 or model.shrinkage == 0.0 or (model.shrinkage == "auto" and not is_crowded):
        return replace(model, amount=0.0)
    working = model.coordinates(sample.values)
    centre, _ = find_middle(model.coordinates, sample, working)
    scatter, size = bounded_scatter(working - centre, sample.mass)
    size /= sample.copies
    most = 1 - _LEAST_FOLLOWED * min(1.0, size / n_features)
    chosen = min(oas_shrinkage(scatter, n_features, size), most)
    amount = chosen if model.shrinkage == "auto" else model.shrinkage
    if amount == 0.0:
        return model
    target = float(np.trace(scatter)) / n_features
    model = replace(model, amount=amount, target=target)
    if not is_crowded:
        return model
    followed, largest = follow_rows(scatter, n_features, amount)
    feedback = max(largest**2 / (1 - amount), 1.0)
    return replace(model, dimension=followed / largest, feedback=feedback)


def bounded_scatter(centred: FloatArray, mass: FloatArray) -> tuple[FloatArray, float]:
    """Return the scatter in which no row weighs more than the median one, and its Kish size."""
    squares = np.einsum("ij,ij->i", centred, centred)
    # Rows equal to the centre, which may be most of them, say nothing about a typical distance.
    apart = squares > RANK_TOLERANCE**2
    typical = weighted_quantiles(squares[apart], mass[apart], (0.5,)).item()
    bound = 1 / np.maximum(1.0, squares / typical)
    weights = mass * bound
    size = weights.sum() ** 2 / float(weights @ bound)
    return weighted_moments(centred, weights, diagonal=False).scatter, size


def oas_shrinkage(scatter: FloatArray, n_features: int, effective_size: float) -> float:
    """Return the oracle-approximating shrinkage towards a multiple of the identity.

    By the formula of Chen, Wiesel, Eldar and Hero (2010), with Kish's effective size of weighted
    rows in place of their number.

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

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse.models import oas_shrinkage
    >>> round(oas_shrinkage(np.diag([4.0, 1.0]), n_features=2, effective_size=20.0), 3)
    0.278
    """
    trace, squares = float(np.trace(scatter)), float(np.square(scatter).sum())
    spread = squares - trace**2 / n_features
    if spread <= 0.0:
        return 1.0
    above = (1 - 2 / n_features) * squares + trace**2
    return float(min(1.0, above / ((effective_size + 1 - 2 / n_features) * spread)))


def follow_rows(scatter: FloatArray, n_features: int, shrinkage: float) -> tuple[float, float]:
    """Return the sum and the largest of ρ, the part of each variance that follows the rows.

    The sum is the number of directions along which a shrunk covariance follows the rows.

    Examples
    --------
    >>> import numpy as np
    >>> followed, largest = follow_rows(np.diag([4.0, 1.0, 0.0]), n_features=3, shrinkage=0.5)
    >>> round(followed, 2), round(largest, 2)
    (1.08, 0.71)
    """
    floor = shrinkage * float(np.trace(scatter)) / n_features
    shrunk = (1 - shrinkage) * scatter
    shrunk.flat[:: len(scatter) + 1] += floor
    direction = np.ones(len(scatter))
    for _ in range(_POWER_STEPS):
        direction = shrunk @ direction
        direction /= np.linalg.norm(direction)
    largest = 1 - floor / float(direction @ shrunk @ direction)
    followed = len(scatter) - floor * Normal(direction, shrunk).precision_trace
    return max(followed, 1e-300), max(largest, 1e-300)
