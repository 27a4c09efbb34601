"""Probabilities of rows over rows: the closed form in blocks, as a dense or a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from eosparse.affinities.pairs import Nearest, PairErrors, cut_blocks
from eosparse.affinities.regularisation import Alpha, Perplexity
from eosparse.core import FloatArray, IntArray, RowwiseWeights
from eosparse.rows.parallel import map_parallel

Matrix: TypeAlias = Any  # FloatArray, or csr_array on neighbours; SciPy's stubs keep them apart

# Rows and columns of the tiles in which a matrix is symmetrised: two of them, 16 MB, at a time.
_TILE = 1024


@dataclass(frozen=True)
class Densities:
    """Conditional probabilities, one row for each row, with the rows' alphas and entropies."""

    P: Matrix
    alphas: FloatArray
    entropies: FloatArray


def compute_all_densities(pairs: PairErrors, rule: Perplexity | Alpha) -> Densities:
    """Compute the probabilities of all pairs of training rows."""
    n_rows = pairs.n_rows
    P, alphas, entropies = np.empty((n_rows, n_rows)), np.empty(n_rows), np.empty(n_rows)

    def fill(block: slice) -> None:
        found = rule.compute_weights(pairs.compute_training_errors(block))
        P[block], alphas[block], entropies[block] = found.weights, found.alphas, found.entropies

    pairs.map_blocks(cut_blocks(n_rows, n_rows), fill)
    return Densities(P, alphas, entropies)


def compute_nearest_densities(
    pairs: PairErrors, rule: Perplexity | Alpha, n_neighbors: int
) -> Densities:
    """Compute the probabilities of training rows over their nearest neighbours."""
    nearest = pairs.find_nearest(None, n_neighbors)
    found = compute_weights(nearest, rule)
    P = build_sparse_matrix(nearest.indices, found.weights, pairs.n_rows)
    return Densities(P, found.alphas, found.entropies)


def compute_weights(nearest: Nearest, rule: Perplexity | Alpha) -> RowwiseWeights:
    """Solve the closed form for errors to neighbours, block by block, in threads."""
    errors = nearest.errors
    weights, alphas, entropies = np.empty_like(errors), np.empty(len(errors)), np.empty(len(errors))

    def fill(block: slice) -> None:
        found = rule.compute_weights(errors[block])
        weights[block], alphas[block] = found.weights, found.alphas
        entropies[block] = found.entropies

    map_parallel(fill, cut_blocks(*errors.shape))
    return RowwiseWeights(alphas, weights, entropies)


def build_sparse_matrix(indices: IntArray, weights: FloatArray, n_rows: int) -> csr_array:
    """Return probabilities over neighbours as a matrix over all training rows."""
    ends = np.arange(len(weights) + 1) * weights.shape[1]
    entries = weights.ravel(), indices.ravel(), ends
    # sort_indices works in place: the copy keeps it from changing the arguments.
    matrix = csr_array(entries, shape=(len(weights), n_rows), copy=True)
    matrix.sort_indices()
    _check_distinct(matrix.indices.reshape(indices.shape))
    return matrix


def _check_distinct(neighbours: IntArray) -> None:
    """Raise if a precomputed neighbour is stored twice; `neighbours` are sorted."""
    is_repeated = (neighbours[:, 1:] == neighbours[:, :-1]).any(axis=1)
    if is_repeated.any():
        raise ValueError(
            "a sparse matrix of errors has two entries for the same pair of rows, in row "
            f"{int(np.argmax(is_repeated))}. Keep only one of them."
        )


def symmetrise(P: Matrix) -> Matrix:
    """Return ``(P + P') / 2n``; a dense matrix is changed in place, tile by tile."""
    n_rows = P.shape[0]
    P *= 1.0 / (2.0 * n_rows)
    if not isinstance(P, np.ndarray):
        return csr_array(P + P.T)
    cuts = [slice(first, first + _TILE) for first in range(0, n_rows, _TILE)]
    for number, upper in enumerate(cuts):
        for lower in cuts[number:]:
            sums = P[upper, lower] + P[lower, upper].T
            P[upper, lower], P[lower, upper] = sums, sums.T
    return P
