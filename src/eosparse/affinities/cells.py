"""Exact Euclidean neighbours among many rows in many columns, without looking everywhere.

Rows are cut into cells around centres. A row's neighbours in its own cell bound how far away the
others can be, and by the triangle inequality no row of a cell is nearer than the cell's centre less
its radius: cells beyond the bound are not searched. Where rows form no groups all cells would be;
some rows are tried first, and a plain search is made if that is so.
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

# With fewer rows, or in so few columns that trees are used, a plain search is as fast.
LEAST_ROWS, LEAST_COLUMNS = 50_000, 16
_CELLS, _SAMPLE, _TRIED = 32, 4_000, 512
# The share of the rows that is searched for each, at most, for cells to be worth it.
_LARGEST_SHARE = 0.5
# Rows of a cell that reach farther than this share of them do are searched for apart.
_COMMON = 0.05


@dataclass(frozen=True)
class Cells:
    """Centres, the cell of each row, and how far its rows are from each centre at most."""

    rows: FloatArray
    centres: FloatArray
    cell: IntArray
    radii: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> Cells:
        """Cut rows into cells around the means of boxes of a sample."""
        sample = rows[spread_out(len(rows), _SAMPLE)]
        centres = bisect_rows(sample, np.ones(len(sample)), _CELLS)
        distances = pairwise_distances(rows, centres)
        cell = distances.argmin(axis=1)
        radii = np.zeros(len(centres))
        np.maximum.at(radii, cell, distances[np.arange(len(rows)), cell])
        return cls(rows, centres, cell, radii)

    def are_worthwhile(self, n_neighbors: int, n_threads: int) -> bool:
        """Whether some rows that are tried need only a part of the cells."""
        tried = spread_out(len(self.rows), _TRIED)
        sizes = np.bincount(self.cell, minlength=len(self.centres)) / len(self.rows)
        shares = []
        for number in np.unique(self.cell[tried]):
            asked = self.rows[tried[self.cell[tried] == number]]
            distances = pairwise_distances(asked, self.centres)
            reached = self._reached(asked, distances, int(number), n_neighbors + 1, n_threads)
            shares.append(reached @ sizes)
        return float(np.concatenate(shares).mean()) < _LARGEST_SHARE

    def nearest(self, queries: FloatArray | None, n_neighbors: int, n_threads: int) -> Nearest:
        """Find the nearest rows of queries, or of the rows themselves, their own not counted."""
        asked = self.rows if queries is None else queries
        distances = pairwise_distances(asked, self.centres)
        near = distances.argmin(axis=1)
        wanted = n_neighbors + (queries is None)
        indices = np.empty((len(asked), wanted), dtype=np.intp)
        errors = np.empty(indices.shape)
        for number in np.unique(near):
            own = np.flatnonzero(near == number)
            reached = self._reached(asked[own], distances[own], int(number), wanted, n_threads)
            for part, cells in _apart(reached):
                members = np.flatnonzero(cells[self.cell])
                found = _search(self.rows, members, asked[own[part]], wanted, n_threads)
                indices[own[part]], errors[own[part]] = found.indices, found.errors
        found = Nearest(indices, errors)
        return _without_self(found) if queries is None else found

    def _reached(
        self, asked: FloatArray, distances: FloatArray, number: int, wanted: int, n_threads: int
    ) -> BoolArray:
        """Return which cells may hold a neighbour of each query of a cell."""
        members = np.flatnonzero(self.cell == number)
        if len(members) < wanted:
            return np.ones(distances.shape, dtype=np.bool_)
        bounds = _search(self.rows, members, asked, wanted, n_threads).errors.max(axis=1)
        # Products may cancel; a bound that is a little too large costs time only.
        slack = 1e-6 * (distances + self.radii + bounds[:, None])
        return np.asarray(distances - self.radii <= bounds[:, None] + slack)


def _apart(reached: BoolArray) -> list[tuple[IntArray, BoolArray]]:
    """Part the queries of a cell into those that reach what many do, and those that reach farther.

    Returned are the numbers of the queries and the cells to search.
    """
    common = reached.mean(axis=0) > _COMMON
    is_far = (reached & ~common).any(axis=1)
    parts = [np.flatnonzero(~is_far), np.flatnonzero(is_far)]
    return [(part, np.asarray(reached[part].any(axis=0))) for part in parts if len(part)]


def _search(
    rows: FloatArray, members: IntArray, asked: FloatArray, wanted: int, n_threads: int
) -> Nearest:
    search = NearestNeighbors(n_neighbors=wanted, algorithm="brute", n_jobs=n_threads)
    errors, local = search.fit(rows[members]).kneighbors(asked)
    return Nearest(members[local], errors)


def _without_self(found: Nearest) -> Nearest:
    """Leave out each row itself or, where that is not among its equals, the last of these."""
    is_self = found.indices == np.arange(len(found.indices))[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    shape = (len(is_self), is_self.shape[1] - 1)
    return Nearest(found.indices[~is_self].reshape(shape), found.errors[~is_self].reshape(shape))
