"""Where robust k-means starts: deterministic guesses, some of which outliers cannot reach.

Rows are ordered by their sparsity, the distance within which lie as many rows as make a tenth of an
average cluster: scattered outliers are alone, rows of a cluster are not. Centres are then chosen
among all rows and among the denser three quarters and half of them,

- by bisection along main axes (as the boxes of SPA start), and
- each as far as possible from those before (k-means++ without its dice),

and once among all rows by that distance in units of the row's own sparsity. Wrong guesses cost
time, not the answer, as long as one is right: the lowest objective decides. A row of mass k counts
as k rows, and neither order nor a seed matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from eosparse.core import FloatArray, weighted_quantiles
from eosparse.models.box_starts import bisect_rows
from eosparse.models.lengths import squared_distances

# Shares of the rows among which centres are looked for, densest first.
_KEPT = (1.0, 0.75, 0.5)
# Deviations whose squares may overflow start nothing.
_FARTHEST = 1e130
# The part of an average cluster that has to be near a row for it not to be alone.
_NEIGHBOUR_SHARE = 0.1


def cluster_starts(values: FloatArray, mass: FloatArray, n_clusters: int) -> Iterator[FloatArray]:
    """Yield guesses of the centres; fewer than `n_clusters` where rows do not differ enough.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [99.0]])
    >>> guesses = list(cluster_starts(rows, np.ones(7), 2))
    >>> sorted(guesses[-1].ravel().tolist())
    [0.0, 5.0]
    """
    # In an order of their own: two rows that are each other's neighbours are equally alone.
    order = np.lexsort(values.T[::-1])
    near = np.abs(values - weighted_quantiles(values, mass, (0.5,))[0]).max(axis=1) < _FARTHEST
    order = order[(mass[order] > 0) & near[order]]
    values, mass = values[order], mass[order]
    sparsity = _sparsity(values, mass, n_clusters)
    for share in _KEPT:
        kept = sparsity <= weighted_quantiles(sparsity, mass, (share,))[0]
        yield bisect_rows(values[kept], mass[kept], n_clusters)
        yield _choose_far_apart(values[kept], sparsity[kept], n_clusters, np.sqrt)
    # Where every row has its double, none is alone, and the distance itself decides.
    unit = np.maximum(sparsity, 1e-9 * float(sparsity.max()) or 1.0)
    yield _choose_far_apart(values, sparsity, n_clusters, lambda squares: np.sqrt(squares) / unit)


def _sparsity(values: FloatArray, mass: FloatArray, n_clusters: int) -> FloatArray:
    """Distance of each row within which lies enough mass, its own included."""
    company = max(_NEIGHBOUR_SHARE * float(mass.sum()) / n_clusters, 2.0)
    reach = np.empty(len(values))
    for start in range(0, len(values), _STRIDE):
        part = slice(start, start + _STRIDE)
        distances = squared_distances(values, values[part]).T
        order = np.argsort(distances, axis=1, kind="stable")
        enough = np.cumsum(mass[order], axis=1) >= min(company, mass.sum()) * (1 - 1e-12)
        chosen = np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1)
        reach[part] = np.take_along_axis(distances, chosen, axis=1)[:, 0]
    return np.sqrt(reach)


# Rows whose distances to all others are held at once.
_STRIDE = 256


def _choose_far_apart(
    values: FloatArray,
    sparsity: FloatArray,
    n_clusters: int,
    worth: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Start at the densest row, and add the row that is worth most beside those chosen."""
    chosen = [int(sparsity.argmin())]
    nearest = squared_distances(values, values[chosen])[:, 0]
    while len(chosen) < n_clusters and nearest.max() > 0:
        chosen.append(int(worth(nearest).argmax()))
        nearest = np.minimum(nearest, squared_distances(values, values[chosen[-1:]])[:, 0])
    return values[chosen]
