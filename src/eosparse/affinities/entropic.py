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
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import _get_feature_names

from eosparse.affinities.computed import ErrorFunction
from eosparse.affinities.densities import (
    Matrix,
    over_all,
    over_nearest,
    solved,
    sparse,
    symmetrised,
)
from eosparse.affinities.kinds import pair_errors
from eosparse.affinities.opentsne import to_opentsne
from eosparse.affinities.pairs import PairErrors
from eosparse.affinities.regularisation import Alpha, Perplexity, regularisation
from eosparse.core import FloatArray, IntArray, RowwiseWeights

# Up to this many rows all pairs count; beyond, "auto" keeps the nearest neighbours.
EXACT_ROWS = 5000
_NEIGHBOURS_PER_PERPLEXITY = 3


class UnreachedPerplexityWarning(UserWarning):
    """Ties keep some rows from the wanted perplexity."""


@dataclass(frozen=True, eq=False)
class NewRows:
    """Probabilities of new rows over their nearest training rows, by increasing error.

    Attributes
    ----------
    indices : ndarray of shape (n_new, n_neighbors)
        Numbers of training rows.
    errors : ndarray of shape (n_new, n_neighbors)
        The errors to them.
    solution : RowwiseWeights
        Probabilities, alphas and entropies.
    """

    indices: IntArray
    errors: FloatArray
    solution: RowwiseWeights

    def matrix(self, n_rows: int) -> csr_array:
        """Probabilities over all training rows."""
        return sparse(self.indices, self.solution.weights, n_rows)


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
    regularisation: Perplexity | Alpha = field(repr=False)
    column_names: Any = field(default=None, repr=False)

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
        rule = self.regularisation if perplexity is None else regularisation(perplexity, None)
        count = self.n_neighbors or self.n_rows
        rule.check_reachable(count)
        self._check_names(X_new)
        nearest = self.pairs.nearest(self.pairs.queries(X_new), count).sorted()
        solution = solved(nearest, rule)
        _warn_of_ties(solution.alphas, rule, stacklevel=4)
        return NewRows(nearest.indices, nearest.errors, solution)

    def _check_names(self, X_new: Any) -> None:
        """Refuse columns of other names, or in another order."""
        names = _get_feature_names(X_new)
        if self.column_names is None or names is None or list(names) == list(self.column_names):
            return
        raise ValueError(
            f"columns of new rows must be those of the training rows, in their order: expected "
            f"{list(self.column_names)}, got {list(names)}."
        )


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
    if not isinstance(symmetric, (bool, np.bool_)):
        raise ValueError(f"symmetric must be True or False, got {symmetric!r}.")
    rule = regularisation(perplexity, alpha)
    pairs = pair_errors(X, error)
    count = _count_neighbours(n_neighbors, pairs, rule)
    rule.check_reachable(pairs.n_rows - 1 if count is None else count)
    found = over_all(pairs, rule) if count is None else over_nearest(pairs, rule, count)
    _warn_of_ties(found.alphas, rule, stacklevel=3)
    return EntropicAffinities(
        P=symmetrised(found.P) if symmetric else found.P,
        alphas=found.alphas,
        perplexities=np.exp(found.entropies),
        n_neighbors=count,
        symmetric=symmetric,
        pairs=pairs,
        regularisation=rule,
        column_names=_get_feature_names(X),
    )


def _count_neighbours(
    n_neighbors: int | str | None, pairs: PairErrors, rule: Perplexity | Alpha
) -> int | None:
    """Return the number of neighbours, None for all."""
    n_others = pairs.n_rows - 1
    if n_neighbors is None:
        return None
    if isinstance(n_neighbors, str):
        if n_neighbors != "auto":
            raise ValueError(f"n_neighbors must be a number, None or 'auto', got {n_neighbors!r}.")
        return _automatic_neighbours(pairs, rule)
    if not (isinstance(n_neighbors, (int, np.integer)) and 2 <= n_neighbors <= n_others):
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be a whole number from 2 to {n_others}, the number "
            "of other rows."
        )
    return int(n_neighbors)


def _automatic_neighbours(pairs: PairErrors, rule: Perplexity | Alpha) -> int | None:
    if pairs.n_neighbors is not None:
        return pairs.n_neighbors
    if pairs.n_rows <= EXACT_ROWS:
        return None
    if isinstance(rule, Alpha):
        raise ValueError(
            f"with an alpha and more than {EXACT_ROWS} rows, say how many neighbours count: give "
            "n_neighbors, or None for all, which takes a dense matrix."
        )
    wanted = max(2, int(_NEIGHBOURS_PER_PERPLEXITY * rule.value))
    return min(wanted, pairs.n_rows - 1)


def _warn_of_ties(alphas: FloatArray, rule: Perplexity | Alpha, *, stacklevel: int) -> None:
    tied = np.flatnonzero(alphas == 0)
    if len(tied):
        warnings.warn(
            f"{len(tied)} rows, the first of them row {tied[0]}, cannot reach perplexity="
            f"{rule.value:g}: as many of their errors or more are tied for the smallest. They "
            "have equal probabilities on the ties. Remove duplicates, or raise the perplexity.",
            UnreachedPerplexityWarning,
            stacklevel=stacklevel,
        )
