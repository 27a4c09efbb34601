"""t-SNE's densities, generalised: the closed form for every row's errors to the others.

For every row i the probabilities of the other rows solve

    minimise  Σ_j p_j e_ij + α_i Σ_j p_j log p_j    over the simplex, j ≠ i,

so ``p_j|i = exp(-e_ij / α_i) / Z_i``. With squared Euclidean errors these are t-SNE's Gaussians of
variance α_i / 2; any other error generalises them. α_i is computed from a perplexity, the
effective number of neighbours.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import _get_feature_names

from eosparse.affinities.choice import choose_errors
from eosparse.affinities.densities import (
    Matrix,
    build_sparse_matrix,
    compute_all_densities,
    compute_nearest_densities,
    compute_weights,
    symmetrise,
)
from eosparse.affinities.function import ErrorFunction
from eosparse.affinities.opentsne import convert_to_opentsne
from eosparse.affinities.pairs import PairErrors
from eosparse.affinities.regularisation import Alpha, Perplexity, choose_regularisation
from eosparse.core import FloatArray, IntArray, RowwiseWeights

# Up to this many rows "auto" uses all pairs, a matrix of at most 200 MB; beyond, the nearest rows.
EXACT_ROWS = 5000
# As many as scikit-learn and openTSNE use: farther rows have hardly any probability.
_NEIGHBOURS_PER_PERPLEXITY = 3


class UnreachedPerplexityWarning(UserWarning):
    """Some rows cannot reach the requested perplexity because of ties.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from eosparse import UnreachedPerplexityWarning, entropic_affinities
    >>> X = np.repeat([[0.0], [1.0], [2.0]], 10, axis=0)  # ten copies of each row
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", UnreachedPerplexityWarning)
    ...     affinities = entropic_affinities(X, perplexity=5)
    >>> float(affinities.perplexities.min().round(6))
    9.0
    """


@dataclass(frozen=True, eq=False)
class NewRows:
    """Probabilities of new rows over their nearest training rows, by increasing error.

    Attributes
    ----------
    indices : ndarray of shape (n_new, n_neighbors)
        Numbers of the training rows.
    errors : ndarray of shape (n_new, n_neighbors)
        Errors to those training rows.
    solution : RowwiseWeights
        Probabilities, alphas and entropies.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import entropic_affinities
    >>> X = np.arange(10.0)[:, None]
    >>> found = entropic_affinities(X, perplexity=3).find_neighbours([[4.2]])
    >>> found.indices[0, :3].tolist()
    [4, 5, 3]
    >>> found.solution.weights[0, :3].round(2).tolist()
    [0.53, 0.3, 0.14]
    """

    indices: IntArray
    errors: FloatArray
    solution: RowwiseWeights

    def to_matrix(self, n_rows: int) -> csr_array:
        """Return the probabilities as a sparse matrix over all training rows.

        Parameters
        ----------
        n_rows : int
            Number of training rows.

        Returns
        -------
        csr_array of shape (n_new, n_rows)

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import entropic_affinities
        >>> affinities = entropic_affinities(np.arange(10.0)[:, None], perplexity=3)
        >>> affinities.find_neighbours([[4.2], [7.0]]).to_matrix(affinities.n_rows).shape
        (2, 10)
        """
        return build_sparse_matrix(self.indices, self.solution.weights, n_rows)


@dataclass(frozen=True, eq=False)
class EntropicAffinities:
    """Affinities between rows, returned by `entropic_affinities`.

    Attributes
    ----------
    P : ndarray or csr_array of shape (n_rows, n_rows)
        With ``symmetric=True`` the joint probabilities ``(p_j|i + p_i|j) / 2n``, which sum to one.
        Otherwise ``p_j|i``, each row of which sums to one. Sparse if `n_neighbors` is a number.
    alphas : ndarray of shape (n_rows,)
        α of every row, twice t-SNE's σ². Zero for rows that cannot reach the perplexity because
        of ties.
    perplexities : ndarray of shape (n_rows,)
        Perplexity that every row reached.
    n_neighbors : int or None
        Number of neighbours that count for each row; None if all other rows count.
    symmetric : bool
        Whether `P` is symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import entropic_affinities
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> affinities = entropic_affinities(X, perplexity=10, n_neighbors=30)
    >>> affinities.n_rows, affinities.n_neighbors, type(affinities.P).__name__
    (100, 30, 'csr_array')
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

    def find_neighbours(self, X_new: Any, *, perplexity: float | None = None) -> NewRows:
        """Find the neighbours of new rows among the training rows, with their probabilities.

        Parameters
        ----------
        X_new : array-like of shape (n_new, n_columns)
            New rows; with ``error="precomputed"`` their errors to the training rows.
        perplexity : float, optional
            Perplexity of the new rows. By default that of the training rows.

        Returns
        -------
        NewRows

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import entropic_affinities
        >>> affinities = entropic_affinities(np.arange(10.0)[:, None], perplexity=3)
        >>> affinities.find_neighbours([[7.4]]).errors[0, :2].round(2).tolist()
        [0.16, 0.36]
        """
        return self._find_neighbours(X_new, perplexity)

    def to_new(self, X_new: Any, *, perplexity: float | None = None) -> Matrix:
        """Return the probabilities of new rows over the training rows.

        A new row that equals a training row has that row among its neighbours.

        Parameters
        ----------
        X_new : array-like of shape (n_new, n_columns)
            New rows; with ``error="precomputed"`` their errors to the training rows.
        perplexity : float, optional
            Perplexity of the new rows. By default that of the training rows.

        Returns
        -------
        ndarray or csr_array of shape (n_new, n_rows)
            Each row sums to one.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import entropic_affinities
        >>> affinities = entropic_affinities(np.arange(10.0)[:, None], perplexity=3)
        >>> affinities.to_new([[7.0]]).argmax(axis=1).tolist()
        [7]
        """
        matrix = self._find_neighbours(X_new, perplexity).to_matrix(self.n_rows)
        return matrix.toarray() if self.n_neighbors is None else matrix

    def as_opentsne(self) -> Any:
        """Return an ``openTSNE.affinity.Affinities`` for ``TSNE().fit(affinities=...)``.

        openTSNE's `transform` and `prepare_partial` add new rows to the map. Requires
        ``pip install 'eosparse[tsne]'``.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import entropic_affinities
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> adapter = entropic_affinities(X, perplexity=10).as_opentsne()
        >>> adapter.n_samples, round(float(adapter.P.sum()), 6)
        (50, 1.0)
        """
        return convert_to_opentsne(self)

    def _find_neighbours(self, X_new: Any, perplexity: float | None) -> NewRows:
        rule = self.regularisation
        if perplexity is not None:
            rule = choose_regularisation(perplexity, None)
        count = self.n_neighbors or self.n_rows
        rule.check_reachable(count)
        self._check_names(X_new)
        nearest = self.pairs.find_nearest(self.pairs.check_queries(X_new), count).sort()
        solution = compute_weights(nearest, rule)
        _warn_about_ties(solution.alphas, rule, stacklevel=4)
        return NewRows(nearest.indices, nearest.errors, solution)

    def _check_names(self, X_new: Any) -> None:
        """Raise if the columns of new rows have other names, or another order."""
        names = _get_feature_names(X_new)
        if self.column_names is None or names is None or list(names) == list(self.column_names):
            return
        raise ValueError(
            "X_new must have the same columns as the training rows, in the same order: expected "
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
    """Compute t-SNE affinities for any error.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Rows. If `error` is a function, an array of anything along its first axis. If it is
        ``"precomputed"``, the errors: a square matrix, or a sparse matrix with the errors of the
        same number of neighbours in every row. The error of a row to itself never counts.
    error : str or callable, default="sqeuclidean"
        ``"sqeuclidean"`` gives t-SNE's probabilities. Other values are the name of any metric of
        `sklearn.metrics.pairwise_distances`, used as it is and not squared; ``"precomputed"``; or
        a function ``error(A, B)`` that takes some rows of `X` and all of them, and returns the
        matrix of errors, of shape ``(len(A), len(B))``. It is called for one block after the
        other. Errors must be finite. They may be negative, since only differences within a row
        matter, and need not be symmetric: row i holds the errors of i.
    perplexity : float, optional
        Effective number of neighbours of each row: above 1, and less than the number of rows it is
        compared with. Defaults to 30 if `alpha` is not given.
    alpha : float, optional
        One α for all rows, instead of a perplexity.
    n_neighbors : int, None or "auto", default="auto"
        Number of neighbours that count for each row: those with the smallest errors. None uses all
        other rows and returns a dense matrix. ``"auto"`` uses all rows up to 5,000, and three
        times the perplexity beyond. Neighbours are exact; to use approximate ones, pass their
        errors as a sparse ``"precomputed"`` matrix.
    symmetric : bool, default=True
        Average ``p_j|i`` and ``p_i|j`` and divide by the number of rows, as t-SNE does.

    Returns
    -------
    EntropicAffinities

    Warns
    -----
    UnreachedPerplexityWarning
        If at least as many errors of a row as the perplexity are tied for the smallest, as with
        many equal rows. Such rows get equal probabilities on the ties, which is the limit of small
        α and the smallest perplexity they can have. Their α is 0.

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

    Pass a function for any other error, such as one that tolerates single wild columns:

    >>> def logarithmic(A, B):
    ...     return np.log1p(np.square(A[:, None] - B)).sum(axis=2)
    >>> affinities = entropic_affinities(X, error=logarithmic, perplexity=20, n_neighbors=60)
    >>> affinities.to_new(X[:3] + 0.1).sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0]
    """
    if not isinstance(symmetric, (bool, np.bool_)):
        raise ValueError(f"symmetric={symmetric!r} must be True or False.")
    rule = choose_regularisation(perplexity, alpha)
    pairs = choose_errors(X, error)
    count = _count_neighbours(n_neighbors, pairs, rule)
    rule.check_reachable(pairs.n_rows - 1 if count is None else count)
    if count is None:
        found = compute_all_densities(pairs, rule)
    else:
        found = compute_nearest_densities(pairs, rule, count)
    _warn_about_ties(found.alphas, rule, stacklevel=3)
    return EntropicAffinities(
        P=symmetrise(found.P) if symmetric else found.P,
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
    """Return the number of neighbours; None means all other rows."""
    n_others = pairs.n_rows - 1
    if n_neighbors is None:
        return None
    if isinstance(n_neighbors, str):
        if n_neighbors != "auto":
            raise ValueError(f"n_neighbors={n_neighbors!r} must be a number, None or 'auto'.")
        return _choose_neighbours(pairs, rule)
    if not (isinstance(n_neighbors, (int, np.integer)) and 2 <= n_neighbors <= n_others):
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be a whole number from 2 to {n_others}, the number "
            "of other rows."
        )
    return int(n_neighbors)


def _choose_neighbours(pairs: PairErrors, rule: Perplexity | Alpha) -> int | None:
    if pairs.n_neighbors is not None:
        return pairs.n_neighbors
    if pairs.n_rows <= EXACT_ROWS:
        return None
    if isinstance(rule, Alpha):
        raise ValueError(
            f"alpha with more than {EXACT_ROWS} rows needs a number of neighbours: pass "
            "n_neighbors, or n_neighbors=None for all rows and a dense matrix."
        )
    return min(max(2, int(_NEIGHBOURS_PER_PERPLEXITY * rule.value)), pairs.n_rows - 1)


def _warn_about_ties(alphas: FloatArray, rule: Perplexity | Alpha, *, stacklevel: int) -> None:
    tied = np.flatnonzero(alphas == 0)
    if len(tied):
        warnings.warn(
            f"{len(tied)} rows, the first of them row {tied[0]}, cannot reach perplexity="
            f"{rule.value:g}: at least that many of their errors are tied for the smallest. The "
            "tied rows get equal probabilities. Remove duplicates, or raise the perplexity.",
            UnreachedPerplexityWarning,
            stacklevel=stacklevel,
        )
