"""Exact Euclidean neighbours among many rows in many columns, without searching everywhere.

Rows are divided into cells around centres. The neighbours of a row in its own cell bound how far
away its true neighbours can be. By the triangle inequality, no row of another cell is nearer than
the distance to that cell's centre minus the cell's radius, so cells beyond the bound are skipped.
Where the rows form no groups, every cell would be searched: a trial with a few rows detects this,
and a plain search is used instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from eosparse.affinities.pairs import Nearest
from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.models.box_starts import bisect_rows
from eosparse.rows import spread_out

# With fewer rows, or in so few columns that scikit-learn uses trees, a plain search is as fast.
LEAST_ROWS, LEAST_COLUMNS = 50_000, 16
# Enough cells to skip most rows, few enough that the distances to all centres cost little.
_N_CELLS = 32
# Rows from which the centres are computed, and rows of the trial: a small part of LEAST_ROWS.
_N_SAMPLED, _N_TRIED = 4_000, 512
# Cells are worth their overhead if a row searches less than this share of the rows.
_LARGEST_SHARE = 0.5
# A cell needed by fewer queries than this share is searched only for those queries.
_COMMON = 0.05


@dataclass(frozen=True)
class Cells:
    """Centres, the cell of each row, and the largest distance of a cell's rows to its centre."""

    rows: FloatArray
    centres: FloatArray
    cell: IntArray
    radii: FloatArray

    @classmethod
    def from_rows(cls, rows: FloatArray) -> Cells:
        """Divide rows into cells around the means of boxes of a sample."""
        sample = rows[spread_out(len(rows), _N_SAMPLED)]
        centres = bisect_rows(sample, np.ones(len(sample)), _N_CELLS)
        distances = pairwise_distances(rows, centres)
        cell = distances.argmin(axis=1)
        radii = np.zeros(len(centres))
        np.maximum.at(radii, cell, distances[np.arange(len(rows)), cell])
        return cls(rows, centres, cell, radii)

    def are_worthwhile(self, n_neighbors: int, n_threads: int) -> bool:
        """Whether a sample of rows needs only a part of the cells."""
        tried = spread_out(len(self.rows), _N_TRIED)
        sizes = np.bincount(self.cell, minlength=len(self.centres)) / len(self.rows)
        shares = []
        for number in np.unique(self.cell[tried]):
            queries = self.rows[tried[self.cell[tried] == number]]
            distances = pairwise_distances(queries, self.centres)
            reached = self._find_reached(
                queries, distances, int(number), n_neighbors + 1, n_threads
            )
            shares.append(reached @ sizes)
        return float(np.concatenate(shares).mean()) < _LARGEST_SHARE

    def find_nearest(self, new: FloatArray | None, n_neighbors: int, n_threads: int) -> Nearest:
        """Find the nearest rows of new rows, or of the rows themselves, which do not count."""
        queries = self.rows if new is None else new
        distances = pairwise_distances(queries, self.centres)
        home = distances.argmin(axis=1)
        count = n_neighbors + (new is None)
        indices = np.empty((len(queries), count), dtype=np.intp)
        errors = np.empty(indices.shape)
        for number in np.unique(home):
            own = np.flatnonzero(home == number)
            reached = self._find_reached(
                queries[own], distances[own], int(number), count, n_threads
            )
            for part, cells in _split_far(reached):
                members = np.flatnonzero(cells[self.cell])
                found = _search(self.rows, members, queries[own[part]], count, n_threads)
                indices[own[part]], errors[own[part]] = found.indices, found.errors
        found = Nearest(indices, errors)
        return _drop_self(found) if new is None else found

    def _find_reached(
        self, queries: FloatArray, distances: FloatArray, number: int, count: int, n_threads: int
    ) -> BoolArray:
        """Return which cells may hold a neighbour of each query of a cell."""
        members = np.flatnonzero(self.cell == number)
        if len(members) < count:
            return np.ones(distances.shape, dtype=np.bool_)
        bounds = _search(self.rows, members, queries, count, n_threads).errors.max(axis=1)
        # Distances computed from products lose digits; a bound that is slightly too large only
        # costs time.
        slack = 1e-6 * (distances + self.radii + bounds[:, None])
        return np.asarray(distances - self.radii <= bounds[:, None] + slack)


def _split_far(reached: BoolArray) -> list[tuple[IntArray, BoolArray]]:
    """Split the queries of a cell into those that reach common cells and those that reach farther.

    Returns the numbers of the queries, and the cells to search for them.
    """
    common = reached.mean(axis=0) > _COMMON
    is_far = (reached & ~common).any(axis=1)
    parts = [np.flatnonzero(~is_far), np.flatnonzero(is_far)]
    return [(part, np.asarray(reached[part].any(axis=0))) for part in parts if len(part)]


def _search(
    rows: FloatArray, members: IntArray, queries: FloatArray, count: int, n_threads: int
) -> Nearest:
    search = NearestNeighbors(n_neighbors=count, algorithm="brute", n_jobs=n_threads)
    errors, local = search.fit(rows[members]).kneighbors(queries)
    return Nearest(members[local], errors)


def _drop_self(found: Nearest) -> Nearest:
    """Drop each row from its neighbours; if duplicates crowd it out, drop the last neighbour."""
    is_self = found.indices == np.arange(len(found.indices))[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    shape = (len(is_self), is_self.shape[1] - 1)
    return Nearest(found.indices[~is_self].reshape(shape), found.errors[~is_self].reshape(shape))
