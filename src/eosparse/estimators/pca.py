"""`EOSPCA`: principal components that outliers do not turn."""

from __future__ import annotations

from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from eosparse.core import FloatArray, Status, check_whole
from eosparse.estimators.row_estimator import RowEstimator
from eosparse.fitting.engine import fit_model
from eosparse.fitting.judge import Rule
from eosparse.fitting.notices import warn_of_early_end
from eosparse.fitting.options import combine_options
from eosparse.fitting.search import MODEL_EFFICIENCY
from eosparse.fitting.table_input import open_training, read_new
from eosparse.fitting.whole_fit import fit_or_restore
from eosparse.inference import FittedGamma
from eosparse.models import Plane, SubspaceModel
from eosparse.rows import as_float64, single_threaded_blas


class EOSPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowEstimator):  # type: ignore[misc]  # sklearn has no types
    r"""Find principal components while rows that lie off their subspace lose weight.

    Entropic Outlier Sparsification minimises

    .. math::
        \sum_t w_t (|x_t - \mu|^2 - |P'(x_t - \mu)|^2) + \alpha \sum_t w_t \log w_t

    over the simplex of weights w, the location μ and orthonormal directions P. An infinite α is
    ordinary principal component analysis.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the subspace. With as many components as columns no row lies off it.
    alpha : float or "auto", default="auto"
        Regularisation, in squared units of the columns. "auto" is ``2σ²(1-c)/c`` with
        ``c = sqrt(1 - efficiency^(2/(p+2)))``, at which location and directions keep that
        efficiency if the noise off the subspace is Gaussian with variance σ² in each of p
        directions. σ and p are those of the gamma law that the weighted errors follow, and are
        found together with α, starting from the median error. With few rows for many columns α is
        larger, so that single rows do not capture the subspace.
    efficiency : float in (0, 1), default=0.9
        Efficiency behind alpha="auto". Lower values are more robust.
    fdr : float, default=0.01
        Flag rows by Benjamini-Hochberg at this false-discovery rate, by the same gamma law.
    tol : float, default=1e-12
        Stop when the objective falls by no more than this, relative to its size or to alpha.
    max_iter : int, default=1000
        Maximum number of passes over the rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Principal directions, in order of decreasing variance; the largest entry of each is
        positive.
    explained_variance_ : ndarray of shape (n_components,)
        Weighted variance along each direction. Weights depend on the noise alone, so it needs no
        correction on Gaussian rows.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its share of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Square root of that variance times the number of rows.
    n_components_ : int
        Number of components.
    noise_variance_ : float
        Variance off the subspace, per direction, corrected to be consistent on Gaussian rows.
    mean_ : ndarray of shape (n_features,)
        Robust location.
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    is_outlier_ : ndarray of bool of shape (n_samples,)
        Which training rows lie off the subspace.
    offset_ : float
        Rows with `score_samples` below it lie off the subspace.
    alpha_ : float
        The alpha used.
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
    Rows that lie far out within the subspace support it and are not flagged; they do count in
    `explained_variance_`. `EOSDetector` flags them. Distances are Euclidean: scale the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSPCA
    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.normal(0, 5, 300), [0.6, 0.8, 0.0]) + rng.normal(0, 0.1, (300, 3))
    >>> X[:60] = rng.normal(0, 10, (60, 3))
    >>> model = EOSPCA(1).fit(X)
    >>> np.abs(model.components_).round(2).tolist()
    [[0.6, 0.8, 0.0]]
    >>> bool(model.is_outlier_[:60].mean() > 0.9), int(model.is_outlier_[60:].sum())
    (True, 0)
    """

    _takes_gaps = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float | Literal["auto"] = "auto",
        efficiency: float = MODEL_EFFICIENCY,
        fdr: float = 0.01,
        tol: float = 1e-12,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
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
        """Find the subspace and the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, opened rows or Dask collection
            The table: numbers, in memory, in files or on a cluster. Missing values are NaN; a row
            with gaps is compared with the subspace in the columns that it has.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A weight of k counts the row k times, 0 leaves it out. For rows on
            disk, the name of a column; for a Dask collection, a Dask array with the same
            partitions.

        Returns
        -------
        EOSPCA
            The fitted estimator.
        """
        rule = Rule.choose(self.fdr)
        check_whole("n_components", self.n_components, 1)
        options = combine_options(self.alpha, self.efficiency, self.tol, self.max_iter)
        table = open_training(self, X, sample_weight)
        with single_threaded_blas():
            fit = fit_model(table, SubspaceModel(self.n_components), options)
            result = fit.result
            self.alpha_ = result.alpha
            self.objective_ = result.objective
            self.objective_history_ = np.array(result.objective_history)
            self.n_iter_ = result.n_iter
            self.effective_sample_size_ = result.effective_size
            self.status_ = result.status
            self._judge_training(fit, table, rule)
        self.offset_ = -self._judge.cut
        self._plane: Plane = result.theta
        components, variances = self._plane.components, self._plane.variances
        self.n_components_ = len(components)
        self.components_ = components.astype(table.dtype)
        self.mean_ = self._plane.location.astype(table.dtype)
        self.explained_variance_ = variances.astype(table.dtype)
        self.singular_values_ = np.sqrt(variances * table.mass).astype(table.dtype)
        n_off, law = self.n_features_in_ - self.n_components_, cast(FittedGamma, self._judge.law)
        self.noise_variance_ = law.shape * law.scale / n_off if n_off else 0.0
        whole = float(variances.sum()) + n_off * self.noise_variance_
        self.explained_variance_ratio_ = (variances / max(whole, 1e-300)).astype(table.dtype)
        if result.status is not Status.CONVERGED:
            warn_of_early_end(result, self.max_iter)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the coordinates of rows within the subspace.

        Gaps of a row hold what brings it nearest to the subspace.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSPCA
        >>> X = np.random.default_rng(0).normal(size=(100, 3)) * [9.0, 5.0, 0.1]
        >>> EOSPCA(2).fit(X).transform([[3.0, 4.0, 0.0]]).shape
        (1, 2)
        """
        values = read_new(self, X, "transform")
        found = self._plane.coordinates(
            as_float64(values), cast(SubspaceModel, self._judge.fit.model).guess
        )
        return found.astype(values.dtype, copy=False)

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Return the points of the subspace with given coordinates.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSPCA
        >>> X = np.random.default_rng(0).normal(size=(100, 3)) * [9.0, 5.0, 0.1]
        >>> model = EOSPCA(2).fit(X)
        >>> row = np.array([[3.0, 4.0, 0.0]])
        >>> bool(np.abs(model.inverse_transform(model.transform(row)) - row).max() < 0.1)
        True
        """
        check_is_fitted(self, "offset_")
        given: FloatArray = check_array(X, dtype=[np.float64, np.float32])
        if given.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {given.shape[1]} columns, but there are {self.n_components_} components."
            )
        points = as_float64(given) @ self._plane.components + self._plane.location
        return points.astype(given.dtype, copy=False)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
