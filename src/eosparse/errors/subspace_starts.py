"""Where robust principal component analysis starts: subspaces that outliers turn little.

The classical one; that of the directions from the spatial median to the rows, in which no row
counts more than another (spherical PCA); and that of the half of the rows nearest to the spatial
median. All turn with the rows, and a row of mass k counts as k rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eosparse.core import FloatArray
from eosparse.errors.gaussian import weighted_moments
from eosparse.errors.starts import weighted_quantiles
from eosparse.errors.subspace import Plane, SubspaceError

_STEPS_TO_MEDIAN = 100
# Rows farther out have squares that may overflow: there is no classical subspace.
_FARTHEST = 1e130


def subspace_starts(values: FloatArray, mass: FloatArray, model: SubspaceError) -> Iterator[Plane]:
    """Yield guesses of the subspace.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[-2.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 90.0]])
    >>> guesses = list(subspace_starts(rows, np.ones(6), SubspaceError(1)))
    >>> [guess.components[0].round(6).tolist() for guess in guesses]
    [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """
    middle = spatial_median(values, mass)
    centred = values - middle
    lengths = _lengths(centred)
    if lengths.max() < _FARTHEST:
        yield model.solve(model.statistics(values, mass))
    near = lengths <= weighted_quantiles(lengths, mass, (0.5,))[0]
    directions = np.divide(
        centred, lengths[:, None], out=np.zeros_like(centred), where=lengths[:, None] > 0
    )
    turned = model.solve(weighted_moments(directions, mass, diagonal=False))
    yield Plane(middle, turned.components, turned.variances)
    yield model.solve(model.statistics(values[near], mass[near]))


def spatial_median(values: FloatArray, mass: FloatArray) -> FloatArray:
    """Return the point with the smallest sum of distances to the rows, nearly (Weiszfeld).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 1.0], [1e9, 1.0]])
    >>> np.abs(spatial_median(rows, np.ones(6)) - 1).max() < 0.5
    np.True_
    """
    point: FloatArray = weighted_quantiles(values, mass, (0.5,))[0]
    for _ in range(_STEPS_TO_MEDIAN):
        distances = _lengths(values - point)
        typical = float(weighted_quantiles(distances, mass, (0.5,))[0])
        if typical == 0.0:
            return point
        # A row on the point itself would stop the iteration; this rounds the cone's tip.
        pull = mass / np.hypot(distances, 1e-3 * typical)
        moved: FloatArray = pull @ values / pull.sum()
        if np.abs(moved - point).max() <= 1e-9 * typical:
            return moved
        point = moved
    return point


def _lengths(gaps: FloatArray) -> FloatArray:
    """Return the length of each row, also where its square would overflow."""
    largest = np.abs(gaps).max(axis=1)
    unit = np.where(largest > 0, largest, 1.0)
    lengths: FloatArray = unit * np.sqrt(np.square(gaps / unit[:, None]).sum(axis=1))
    return lengths
