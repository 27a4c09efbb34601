"""Where robust k-means starts: deterministic guesses, some of which outliers cannot reach.

The sparsity of a row is the distance within which a tenth of an average cluster lies: large for
scattered outliers, small for rows of a cluster. Centres are chosen among all rows, among the
densest three quarters, and among the densest half,

- by bisection along main axes (as for the boxes of SPA), and
- each as far as possible from those before (k-means++ without randomness),

and once among all rows by that distance in units of the row's own sparsity. Wrong guesses cost
time, not the answer, as long as one is right: the lowest objective decides. A row of mass k counts
as k rows, and neither the order of the rows nor a seed matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from eosparse.core import FloatArray, weighted_quantiles
from eosparse.models.box_starts import bisect_rows
from eosparse.models.lengths import (
    drop_rounding,
    first_largest,
    nearest_part,
    own_rounding,
    squared_distances,
    squared_norms,
)

# Shares of the rows, densest first, among which centres are chosen.
_KEPT = (1.0, 0.75, 0.5)
# Rows farther out have squares that may overflow, and are no start.
_FARTHEST = 1e130
# The part of an average cluster that the sparsity of a row has to reach.
_NEIGHBOUR_SHARE = 0.1


def cluster_starts(values: FloatArray, mass: FloatArray, n_clusters: int) -> Iterator[FloatArray]:
    """Yield guesses of the centres: fewer than `n_clusters` if there are fewer distinct rows.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [99.0]])
    >>> guesses = list(cluster_starts(rows, np.ones(7), 2))
    >>> sorted(guesses[-1].ravel().tolist())
    [0.0, 5.2]
    """
    # Sorted by value, so that ties of the sparsity do not depend on the order of the rows.
    order = np.lexsort(values.T[::-1])
    near = np.abs(values - weighted_quantiles(values, mass, (0.5,))[0]).max(axis=1) < _FARTHEST
    order = order[(mass[order] > 0) & near[order]]
    values, mass = values[order], mass[order]
    sparsity = _sparsity(values, mass, n_clusters)
    for share in _KEPT:
        kept = nearest_part(sparsity, mass, share)
        yield bisect_rows(values[kept], mass[kept], n_clusters)
        yield _choose_far_apart(values[kept], sparsity[kept], n_clusters, np.sqrt)
    # If every row has a duplicate, all sparsities are zero, and the distance alone decides.
    unit = np.maximum(sparsity, 1e-9 * float(sparsity.max()) or 1.0)
    yield _choose_far_apart(values, sparsity, n_clusters, lambda squares: np.sqrt(squares) / unit)


def _sparsity(values: FloatArray, mass: FloatArray, n_clusters: int) -> FloatArray:
    """Return the distance of each row within which enough mass lies, its own included."""
    company = max(_NEIGHBOUR_SHARE * float(mass.sum()) / n_clusters, 2.0)
    reach = np.empty(len(values))
    for start in range(0, len(values), _STRIDE):
        part = slice(start, start + _STRIDE)
        distances = squared_distances(values, values[part]).T
        order = np.argsort(distances, axis=1, kind="stable")
        enough = np.cumsum(mass[order], axis=1) >= min(company, mass.sum()) * (1 - 1e-12)
        chosen = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
        reach[part] = np.take_along_axis(distances, chosen, axis=1)[:, 0]
    # Rows that differ by rounding are equal, or it would choose the densest among them.
    return np.sqrt(drop_rounding(reach, own_rounding(squared_norms(values))))


# Rows whose distances to all others are in memory at once.
_STRIDE = 256


def _choose_far_apart(
    values: FloatArray,
    sparsity: FloatArray,
    n_clusters: int,
    worth: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Start at the densest row, and add the row that is worth most beside those chosen."""
    chosen = [first_largest(-sparsity)]
    nearest = squared_distances(values, values[chosen])[:, 0]
    while len(chosen) < n_clusters and nearest.max() > 0:
        chosen.append(first_largest(worth(nearest)))
        nearest = np.minimum(nearest, squared_distances(values, values[chosen[-1:]])[:, 0])
    return values[chosen]
