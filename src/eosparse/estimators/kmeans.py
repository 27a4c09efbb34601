"""`EOSKMeans`: clusters that outliers do not spoil."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from eosparse.core import FloatArray, Status, check_whole, warn_caller
from eosparse.estimators.row_estimator import RowEstimator
from eosparse.fitting.engine import fit_model
from eosparse.fitting.judge import Rule
from eosparse.fitting.notices import warn_of_early_end
from eosparse.fitting.options import combine_options
from eosparse.fitting.search import MODEL_EFFICIENCY
from eosparse.fitting.table_input import open_new, open_training, read_new
from eosparse.fitting.whole_fit import fit_or_restore
from eosparse.models import ClusterModel, Fit, squared_distances
from eosparse.rows import as_float64, single_threaded_blas


class EOSKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, RowEstimator):  # type: ignore[misc]  # sklearn has no types
    r"""Find clusters while rows that belong to none lose weight.

    Entropic Outlier Sparsification minimises

    .. math::
        \sum_t w_t \min_k |x_t - \mu_k|^2 + \alpha \sum_t w_t \log w_t

    over the simplex of weights w and the centres μ. An infinite α is ordinary k-means; one centre
    is Gaussian mean shift.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    alpha : float or "auto", default="auto"
        Regularisation, in squared units of the columns. "auto" is ``2σ²(1-c)/c`` with
        ``c = sqrt(1 - efficiency^(2/(p+2)))``, at which centres of Gaussian clusters with the
        variance σ² in each of p directions keep that efficiency. σ and p are those of the gamma law
        that the weighted errors follow, and are found together with α, starting from the median
        error. With few rows for many columns α is larger, so that no single row captures a centre.
    efficiency : float in (0, 1), default=0.9
        Efficiency behind alpha="auto": the variance of a mean divided by that of a centre, on rows
        without outliers. Lower values are more robust.
    fdr : float, default=0.01
        Flag rows by Benjamini-Hochberg at this false-discovery rate, by the same gamma law. It
        holds if clusters are about Gaussian and of about the same size.
    tol : float, default=1e-12
        Stop when the objective falls by no more than this, relative to its size or to alpha.
    max_iter : int, default=1000
        Maximum number of passes over the rows.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres, ordered by their first coordinate.
    labels_ : ndarray of shape (n_samples,)
        Number of the nearest centre of each training row, flagged or not; only for rows in memory.
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    is_outlier_ : ndarray of bool of shape (n_samples,)
        Which training rows belong to no cluster.
    offset_ : float
        Rows with `score_samples` below it belong to no cluster.
    alpha_ : float
        The alpha used.
    inertia_ : float
        Weighted mean of the squared distances to the nearest centre, times the number of rows.
    objective_ : float
        The objective at the solution.
    objective_history_ : ndarray
        The objective after each pass, never rising.
    n_iter_ : int
        Number of passes over the rows.
    effective_sample_size_ : float
        Kish's effective number of rows.
    status_ : Status
        How the alternation ended.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input has names that are all strings.

    Notes
    -----
    Starts are deterministic (`eosparse.models.cluster_starts`). Among those that lead to no empty
    cluster, the one with the lowest objective is kept. Distances are Euclidean: scale the
    columns.

    A group of outliers as large and as dense as a cluster is a cluster: count it in `n_clusters`. A
    cluster with less than about a tenth of the rows of the largest may be taken for outliers if
    there are as many centres as clusters: splitting the largest then lowers the objective more.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(9, 1, (100, 2))])
    >>> X[::20] = rng.uniform(-100, 100, (10, 2))
    >>> model = EOSKMeans(2).fit(X)
    >>> sorted(model.cluster_centers_[:, 0].round().tolist())
    [-0.0, 9.0]
    >>> int(model.is_outlier_[::20].sum()), int(model.is_outlier_.sum())
    (10, 10)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float | Literal["auto"] = "auto",
        efficiency: float = MODEL_EFFICIENCY,
        fdr: float = 0.01,
        tol: float = 1e-12,
        max_iter: int = 1000,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.efficiency = efficiency
        self.fdr = fdr
        self.tol = tol
        self.max_iter = max_iter

    @fit_or_restore
    def fit(
        self,
        X: Any,
        y: object = None,  # noqa: ARG002  # scikit-learn's signature
        sample_weight: Any = None,
    ) -> Self:
        """Find centres and weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, opened rows or Dask collection
            The table: numbers without missing values, in memory, in files or on a cluster.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A weight of k counts the row k times, 0 leaves it out. For rows on
            disk, the name of a column; for a Dask collection, a Dask array with the same
            partitions.

        Returns
        -------
        EOSKMeans
            The fitted estimator.
        """
        rule = Rule.choose(self.fdr)
        check_whole("n_clusters", self.n_clusters, 1)
        options = combine_options(self.alpha, self.efficiency, self.tol, self.max_iter)
        table = open_training(self, X, sample_weight)
        with single_threaded_blas():
            fit = _number_clusters(fit_model(table, ClusterModel(self.n_clusters), options))
            result = fit.result
            self.alpha_ = result.alpha
            self.objective_ = result.objective
            self.objective_history_ = np.array(result.objective_history)
            self.n_iter_ = result.n_iter
            self.effective_sample_size_ = result.effective_size
            self.status_ = result.status
            self._judge_training(fit, table, rule)
        self.offset_ = -self._judge.cut
        self._centres: FloatArray = result.theta
        self.cluster_centers_ = self._centres.astype(table.dtype)
        # The weighted error, from L = Σ w g - α H; an infinite α leaves the entropy out.
        entropy = np.log(result.perplexity) if np.isfinite(result.alpha) else 0.0
        alpha = result.alpha if np.isfinite(result.alpha) else 0.0
        self.inertia_ = float(result.objective + alpha * entropy) * table.mass
        self.__dict__.pop("labels_", None)
        if table.is_in_memory:
            self.labels_ = table.map(_Nearest(self._centres)).to_column(np.dtype(np.int32))
        self._warn_of_equal_centres()
        if result.status is not Status.CONVERGED:
            warn_of_early_end(result, self.max_iter)
        return self

    def _warn_of_equal_centres(self) -> None:
        distinct = len(np.unique(self._centres, axis=0))
        if distinct < self.n_clusters:
            warn_caller(
                f"only {distinct} distinct clusters were found, fewer than "
                f"n_clusters={self.n_clusters}: X may hold too few distinct rows.",
                ConvergenceWarning,
            )

    def fit_predict(self, X: Any, y: object = None, sample_weight: Any = None) -> Any:
        """Fit, and return the number of the nearest centre of each row."""
        self.fit(X, y, sample_weight=sample_weight)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def predict(self, X: Any) -> Any:
        """Return the number of the nearest centre of each row.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSKMeans
        >>> X = np.array([[-1.0], [0.0], [1.0], [9.0], [10.0], [11.0]])
        >>> EOSKMeans(2, alpha=np.inf).fit(X).predict([[2.0], [8.0]]).tolist()
        [0, 1]
        """
        return open_new(self, X).map(_Nearest(self._centres)).to_column(np.dtype(np.int32))

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the distance of each row to each centre.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSKMeans
        >>> X = np.array([[-1.0], [0.0], [1.0], [9.0], [10.0], [11.0]])
        >>> EOSKMeans(2, alpha=np.inf).fit(X).transform([[4.0]]).tolist()
        [[4.0, 6.0]]
        """
        values = read_new(self, X, "transform")
        distances = np.sqrt(squared_distances(as_float64(values), self._centres))
        return distances.astype(values.dtype, copy=False)

    def score(self, X: Any, y: object = None) -> float:  # noqa: ARG002  # scikit-learn's signature
        """Return the mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True)
class _Nearest:
    """The number of the nearest centre, as a function of rows."""

    centres: FloatArray

    def __call__(self, values: FloatArray) -> Any:
        return ClusterModel().assign(as_float64(values), self.centres)


def _number_clusters(fit: Fit[FloatArray]) -> Fit[FloatArray]:
    """Number the clusters by their first coordinates, whichever start led to them."""
    centres = fit.result.last
    return replace(fit, result=replace(fit.result, last=centres[np.lexsort(centres.T[::-1])]))
