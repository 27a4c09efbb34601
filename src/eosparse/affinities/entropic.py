"""t-SNE's densities, generalised: the closed form for every row's errors to the others.

For every row i the probabilities of the other rows solve

    minimise  Σ_j p_j e_ij + α_i Σ_j p_j log p_j    over the simplex, j ≠ i,

so ``p_j|i = exp(-e_ij / α_i) / Z_i``. With squared Euclidean errors these are t-SNE's Gaussians of
variance α_i / 2, which the paper shows not to be a heuristic; with any other error, its
generalisation. α_i is found for a wanted perplexity, the effective number of neighbours.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from eosparse.affinities.opentsne import to_opentsne
from eosparse.affinities.pairs import ErrorFunction, PairErrors, blocks, pair_errors
from eosparse.core import FloatArray, IntArray, RowWeights, row_weights, row_weights_for_perplexity
from eosparse.rows.side_by_side import each

Matrix: TypeAlias = Any  # FloatArray, or csr_array on neighbours; SciPy's stubs keep them apart

# Up to this many rows all pairs count; beyond, "auto" keeps the nearest neighbours.
EXACT_ROWS = 5000
_DEFAULT_PERPLEXITY = 30.0
_NEIGHBOURS_PER_PERPLEXITY = 3
_TILE = 1024


class UnreachedPerplexityWarning(UserWarning):
    """Ties keep some rows from the wanted perplexity."""


@dataclass(frozen=True)
class Regularisation:
    """How α is found: from a perplexity, row by row, or given."""

    perplexity: float | None
    alpha: float | None

    def weights(self, errors: FloatArray) -> RowWeights:
        """Solve the closed form for rows of errors."""
        if self.perplexity is not None:
            return row_weights_for_perplexity(errors, self.perplexity)
        assert self.alpha is not None
        return row_weights(errors, self.alpha)

    def check_reachable(self, n_others: int) -> None:
        """Refuse a perplexity that the number of other rows does not allow."""
        if self.perplexity is not None and not self.perplexity < n_others:
            raise ValueError(
                f"perplexity={self.perplexity!r} must be less than {n_others}, the number of rows "
                "that each row is compared with. Lower it, or raise n_neighbors."
            )


@dataclass(frozen=True, eq=False)
class NewRows:
    """Probabilities of new rows over their nearest training rows, by increasing error.

    Attributes
    ----------
    indices : ndarray of shape (n_new, n_neighbors)
        Numbers of training rows.
    errors : ndarray of shape (n_new, n_neighbors)
        The errors to them.
    solution : RowWeights
        Probabilities, alphas and entropies.
    """

    indices: IntArray
    errors: FloatArray
    solution: RowWeights

    def matrix(self, n_rows: int) -> csr_array:
        """Probabilities over all training rows."""
        return _sparse(self.indices, self.solution.weights, n_rows)


@dataclass(frozen=True, eq=False)
class EntropicAffinities:
    """Affinities between rows, and what is needed for those of new rows.

    Attributes
    ----------
    P : ndarray or csr_array of shape (n_rows, n_rows)
        Symmetric: ``(p_j|i + p_i|j) / 2n``, which sums to one. Otherwise ``p_j|i``, whose rows do.
        Sparse if `n_neighbors` is a number.
    alphas : ndarray of shape (n_rows,)
        α of every row; t-SNE's σ² is half of it. Zero where ties keep the row from the perplexity.
    perplexities : ndarray of shape (n_rows,)
        What every row reached.
    n_neighbors : int or None
        Neighbours that count for each row; None for all others.
    symmetric : bool
        Which of the two `P` is.
    """

    P: Matrix
    alphas: FloatArray
    perplexities: FloatArray
    n_neighbors: int | None
    symmetric: bool
    pairs: PairErrors = field(repr=False)
    regularisation: Regularisation = field(repr=False)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.pairs.n_rows

    def new_rows(self, X_new: Any, *, perplexity: float | None = None) -> NewRows:
        """Find the neighbours of new rows among the training rows, and their probabilities.

        Parameters
        ----------
        X_new : array-like of shape (n_new, n_columns)
            New rows; with ``error="precomputed"`` their errors to the training rows.
        perplexity : float, optional
            Another perplexity than that of the training rows.

        Returns
        -------
        NewRows
        """
        return self._found(X_new, perplexity)

    def to_new(self, X_new: Any, *, perplexity: float | None = None) -> Matrix:
        """Return the probabilities of new rows over the training rows.

        A new row that equals a training row has it among its neighbours.

        Parameters
        ----------
        X_new : array-like of shape (n_new, n_columns)
            New rows; with ``error="precomputed"`` their errors to the training rows.
        perplexity : float, optional
            Another perplexity than that of the training rows.

        Returns
        -------
        ndarray or csr_array of shape (n_new, n_rows)
            Each row sums to one.
        """
        matrix = self._found(X_new, perplexity).matrix(self.n_rows)
        return matrix.toarray() if self.n_neighbors is None else matrix

    def as_opentsne(self) -> Any:
        """Return an ``openTSNE.affinity.Affinities``, for ``TSNE().fit(affinities=...)``.

        New rows can be added to the map by openTSNE's `transform` and `prepare_partial`. Needs
        ``pip install 'eosparse[tsne]'``.
        """
        return to_opentsne(self)

    def _found(self, X_new: Any, perplexity: float | None) -> NewRows:
        rule = self.regularisation if perplexity is None else _regularisation(perplexity, None)
        count = self.n_neighbors or self.n_rows
        rule.check_reachable(count)
        nearest = self.pairs.nearest(self.pairs.queries(X_new), count)
        solution = _solved(nearest.errors, rule)
        _warn_of_ties(solution.alphas, rule, stacklevel=4)
        return NewRows(nearest.indices, nearest.errors, solution)


def entropic_affinities(
    X: Any,
    *,
    error: str | ErrorFunction = "sqeuclidean",
    perplexity: float | None = None,
    alpha: float | None = None,
    n_neighbors: int | str | None = "auto",
    symmetric: bool = True,
) -> EntropicAffinities:
    """Compute t-SNE's densities for any error.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Rows. For a function, an array of anything along its first axis. For ``"precomputed"``,
        the errors: a square matrix, or a sparse one with the errors of equally many neighbours in
        every row. The error of a row to itself never counts.
    error : str or callable, default="sqeuclidean"
        ``"sqeuclidean"`` gives t-SNE's densities. Also the name of any metric of
        `sklearn.metrics.pairwise_distances`, which is then itself the error, not its square;
        ``"precomputed"``; or a function ``error(A, B)`` that gets some rows of `X` and all of them,
        and returns the matrix of errors, of shape ``(len(A), len(B))``. It is called for one block
        after the other. Errors may be negative, since only differences within a row matter, and
        need not be symmetric: row i holds the errors that i makes. They must be finite.
    perplexity : float, optional
        Effective number of neighbours of each row, more than 1 and less than what it is compared
        with. 30 if `alpha` is not given either.
    alpha : float, optional
        The same α for all rows, instead of a perplexity.
    n_neighbors : int, None or "auto", default="auto"
        Neighbours that count for each row: those with the smallest errors. None: all other rows,
        exactly, with a dense result. ``"auto"``: all, up to 5,000 rows, and beyond that three times
        the perplexity. Neighbours are exact; to bring approximate ones, pass their errors
        as a sparse ``"precomputed"`` matrix.
    symmetric : bool, default=True
        Average ``p_j|i`` and ``p_i|j`` and divide by the number of rows, as t-SNE does.

    Returns
    -------
    EntropicAffinities

    Warns
    -----
    UnreachedPerplexityWarning
        If as many errors of a row as the perplexity are tied for the smallest, as with many equal
        rows. Such rows get equal probabilities on the ties, the limit of small α and the smallest
        perplexity that they can have; their α is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import entropic_affinities
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> affinities = entropic_affinities(X, perplexity=20)
    >>> affinities.P.shape, round(float(affinities.P.sum()), 12)
    ((200, 200), 1.0)
    >>> bool(np.allclose(affinities.perplexities, 20, rtol=1e-12))
    True

    Any other error will do, here one that forgives single columns:

    >>> def forgiving(A, B):
    ...     return np.log1p(np.square(A[:, None] - B)).sum(axis=2)
    >>> affinities = entropic_affinities(X, error=forgiving, perplexity=20, n_neighbors=60)
    >>> affinities.to_new(X[:3] + 0.1).sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    rule = _regularisation(perplexity, alpha)
    pairs = pair_errors(X, error)
    count = _count_neighbours(n_neighbors, pairs, rule)
    rule.check_reachable(pairs.n_rows - 1 if count is None else count)
    P, alphas, entropies = _exact(pairs, rule) if count is None else _on_nearest(pairs, rule, count)
    _warn_of_ties(alphas, rule, stacklevel=3)
    return EntropicAffinities(
        P=_symmetrised(P) if symmetric else P,
        alphas=alphas,
        perplexities=np.exp(entropies),
        n_neighbors=count,
        symmetric=symmetric,
        pairs=pairs,
        regularisation=rule,
    )


def _regularisation(perplexity: float | None, alpha: float | None) -> Regularisation:
    if perplexity is not None and alpha is not None:
        raise ValueError("give a perplexity or an alpha, not both.")
    if alpha is not None:
        if not _is_above(alpha, 0):
            raise ValueError(f"alpha must be a positive number, got {alpha!r}.")
        return Regularisation(None, float(alpha))
    wanted = _DEFAULT_PERPLEXITY if perplexity is None else perplexity
    if not _is_above(wanted, 1):
        raise ValueError(f"perplexity must be a number greater than 1, got {wanted!r}.")
    return Regularisation(float(wanted), None)


def _is_above(value: object, bound: float) -> bool:
    return isinstance(value, Real) and float(value) > bound


def _count_neighbours(
    n_neighbors: int | str | None, pairs: PairErrors, rule: Regularisation
) -> int | None:
    """Return the number of neighbours, None for all."""
    n_others = pairs.n_rows - 1
    if isinstance(n_neighbors, str):
        if n_neighbors != "auto":
            raise ValueError(f"n_neighbors must be a number, None or 'auto', got {n_neighbors!r}.")
        return _automatic_neighbours(pairs, rule)
    if n_neighbors is None:
        return None
    if not _is_above(n_neighbors, 1) or n_neighbors > n_others or n_neighbors % 1:
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be a whole number from 2 to {n_others}, the number "
            "of other rows."
        )
    return int(n_neighbors)


def _automatic_neighbours(pairs: PairErrors, rule: Regularisation) -> int | None:
    if pairs.n_neighbors is not None:
        return pairs.n_neighbors
    if pairs.n_rows <= EXACT_ROWS:
        return None
    if rule.perplexity is None:
        raise ValueError(
            f"with an alpha and more than {EXACT_ROWS} rows, say how many neighbours count: give "
            "n_neighbors, or None for all, which takes a dense matrix."
        )
    wanted = max(2, int(_NEIGHBOURS_PER_PERPLEXITY * rule.perplexity))
    return min(wanted, pairs.n_rows - 1)


def _exact(pairs: PairErrors, rule: Regularisation) -> tuple[Matrix, FloatArray, FloatArray]:
    """Return conditional probabilities of all pairs, alphas and entropies."""
    n_rows = pairs.n_rows
    P, alphas, entropies = np.empty((n_rows, n_rows)), np.empty(n_rows), np.empty(n_rows)

    def fill(block: slice) -> None:
        solution = rule.weights(pairs.others(block))
        own = np.arange(block.start, block.stop)
        P[block, :-1] = solution.weights
        P[own, -1] = P[own, own]  # the last row took the own one's place
        P[own, own] = 0.0
        alphas[block], entropies[block] = solution.alphas, solution.entropies

    pairs.over(blocks(n_rows, n_rows), fill)
    return P, alphas, entropies


def _on_nearest(
    pairs: PairErrors, rule: Regularisation, n_neighbors: int
) -> tuple[Matrix, FloatArray, FloatArray]:
    """Return conditional probabilities of the nearest neighbours, alphas and entropies."""
    nearest = pairs.nearest(None, n_neighbors)
    solution = _solved(nearest.errors, rule)
    P = _sparse(nearest.indices, solution.weights, pairs.n_rows)
    return P, solution.alphas, solution.entropies


def _solved(errors: FloatArray, rule: Regularisation) -> RowWeights:
    """Solve the closed form in blocks, side by side."""
    parts = each(lambda block: rule.weights(errors[block]), blocks(*errors.shape))
    return RowWeights(
        np.concatenate([part.alphas for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.entropies for part in parts]),
    )


def _sparse(indices: IntArray, weights: FloatArray, n_rows: int) -> csr_array:
    ends = np.arange(len(weights) + 1) * weights.shape[1]
    entries = weights.ravel(), indices.ravel(), ends
    matrix = csr_array(entries, shape=(len(weights), n_rows), copy=True)
    matrix.sort_indices()  # in place, which the copy keeps from the arguments
    return matrix


def _symmetrised(P: Matrix) -> Matrix:
    """Return ``(P + P') / 2n``; a dense matrix is changed in place, tile by tile."""
    n_rows = P.shape[0]
    if not isinstance(P, np.ndarray):
        return csr_array((P + P.T) / (2.0 * n_rows))
    cuts = [slice(first, first + _TILE) for first in range(0, n_rows, _TILE)]
    for number, upper in enumerate(cuts):
        for lower in cuts[number:]:
            mean = (P[upper, lower] + P[lower, upper].T) / (2.0 * n_rows)
            P[upper, lower], P[lower, upper] = mean, mean.T
    return P


def _warn_of_ties(alphas: FloatArray, rule: Regularisation, *, stacklevel: int) -> None:
    tied = np.flatnonzero(alphas == 0)
    if len(tied):
        warnings.warn(
            f"{len(tied)} rows, the first of them row {tied[0]}, cannot reach perplexity="
            f"{rule.perplexity:g}: as many of their errors or more are tied for the smallest. They "
            "have equal probabilities on the ties. Remove duplicates, or raise the perplexity.",
            UnreachedPerplexityWarning,
            stacklevel=stacklevel,
        )
