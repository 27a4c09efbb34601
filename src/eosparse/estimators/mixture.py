"""`EOSGaussianMixture`: a mixture that outliers do not spoil."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import DensityMixin

from eosparse.core import DegenerateDataWarning, FloatArray, Status, check_whole, warn_caller
from eosparse.estimators.row_estimator import RowEstimator
from eosparse.fitting.engine import fit_model
from eosparse.fitting.judge import Rule
from eosparse.fitting.notices import warn_of_early_end
from eosparse.fitting.options import combine_options
from eosparse.fitting.search import MODEL_EFFICIENCY
from eosparse.fitting.table_input import open_new, open_training, read_new
from eosparse.fitting.whole_fit import fit_or_restore
from eosparse.inference import MixtureLaw
from eosparse.models import Fit, Mixture, MixtureModel
from eosparse.rows import Coordinates, single_threaded_blas


class EOSGaussianMixture(DensityMixin, RowEstimator):  # type: ignore[misc]  # sklearn has no types
    r"""Fit a Gaussian mixture while rows that belong to no component lose weight.

    Entropic Outlier Sparsification minimises

    .. math::
        -\frac{1}{D} \sum_t w_t \log \sum_k \pi_k N(x_t; \mu_k, V_k)
        + \alpha \sum_t w_t \log w_t

    over the simplex of weights w, the shares π, locations μ and covariances V. An infinite α is the
    ordinary mixture. One component is the Gaussian of `EOSDetector`, except for the pseudo-rows
    described below.

    Parameters
    ----------
    n_components : int, default=2
        Number of components.
    alpha : float or "auto", default="auto"
        Regularisation. "auto" is ``1/(cD)`` with ``c = sqrt(1 - efficiency^(2/(D+2)))``, or the
        smallest value at which half of the rows still support all components, if that is larger.
    efficiency : float in (0, 1), default=0.9
        Efficiency behind alpha="auto", of the locations on rows without outliers. Lower values
        are more robust.
    fdr : float, default=0.01
        Flag rows by Benjamini-Hochberg at this false-discovery rate. It is kept if components are
        Gaussian. If they overlap, fewer rows are flagged than could be.
    tol : float, default=1e-9
        Stop when the objective falls by no more than this, relative to its size if above 1.
    max_iter : int, default=1000
        Maximum number of passes over the rows.

    Attributes
    ----------
    means_ : ndarray of shape (n_components, n_features)
        Locations of the components, ordered by their first coordinate.
    covariances_ : ndarray of shape (n_components, n_features, n_features)
        Covariances, corrected to be consistent on separate Gaussian components.
    shares_ : ndarray of shape (n_components,)
        Shares of the components, corrected in the same way; zero for those with too few rows for a
        covariance. `weights_` are the weights of the rows.
    labels_ : ndarray of shape (n_samples,)
        Most probable component of each training row, flagged or not; only for rows in memory.
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    is_outlier_ : ndarray of bool of shape (n_samples,)
        Which training rows belong to no component.
    offset_ : float
        Rows with `score_samples` below it belong to no component.
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
    The columns are scaled robustly first. Each component has D + 1 pseudo-rows, a ball with the
    variance of rows around the nearest centre. They keep the component from collapsing onto a few
    rows, and draw the covariances of small components towards the ball.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSGaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (200, 2)), rng.normal(9, 2, (100, 2))])
    >>> X[::20] = rng.uniform(-60, 60, (15, 2))
    >>> model = EOSGaussianMixture(2).fit(X)
    >>> (model.means_.round() + 0.0).tolist()
    [[0.0, 0.0], [9.0, 9.0]]
    >>> model.shares_.round(1).tolist()
    [0.7, 0.3]
    """

    _takes_gaps = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        alpha: float | Literal["auto"] = "auto",
        efficiency: float = MODEL_EFFICIENCY,
        fdr: float = 0.01,
        tol: float = 1e-9,
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
        """Find the components and the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, opened rows or Dask collection
            The table: numbers, in memory, in files or on a cluster. Missing values are NaN; rows
            with gaps are judged by what they have.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A weight of k counts the row k times, 0 leaves it out. For rows on
            disk, the name of a column; for a Dask collection, a Dask array with the same
            partitions.

        Returns
        -------
        EOSGaussianMixture
            The fitted estimator.
        """
        rule = Rule.choose(self.fdr)
        check_whole("n_components", self.n_components, 1)
        options = combine_options(self.alpha, self.efficiency, self.tol, self.max_iter)
        table = open_training(self, X, sample_weight)
        with single_threaded_blas():
            fit = _number_components(
                fit_model(table, MixtureModel(self.n_components), options, is_scaled=True)
            )
            result = fit.result
            self.alpha_ = result.alpha
            self.objective_ = result.objective
            self.objective_history_ = np.array(result.objective_history)
            self.n_iter_ = result.n_iter
            self.effective_sample_size_ = result.effective_size
            self.status_ = result.status
            self._judge_training(fit, table, rule)
        self.offset_ = -self._judge.cut
        mixture, law = result.theta, cast(MixtureLaw, self._judge.law)
        coordinates = cast(Coordinates, fit.coordinates)
        means = [coordinates.location(location) for location in mixture.locations]
        covariances = [
            coordinates.covariance(part.covariance, 0.0) / (1 - law.coupling)
            for part in mixture.components
        ]
        self.shares_ = law.shares.astype(table.dtype)
        self.means_ = np.stack(means).astype(table.dtype)
        self.covariances_ = np.stack(covariances).astype(table.dtype)
        self._component = _MostProbable(mixture, coordinates)
        self.__dict__.pop("labels_", None)
        if table.is_in_memory:
            self.labels_ = table.map(self._component).to_column(np.dtype(np.int32))
        self._warn_of_few_rows()
        if result.status is not Status.CONVERGED:
            warn_of_early_end(result, self.max_iter)
        return self

    def _warn_of_few_rows(self) -> None:
        present = int(np.count_nonzero(self.shares_))
        if present < self.n_components:
            warn_caller(
                f"only {present} of n_components={self.n_components} components have more rows "
                "than columns; the others have a share of zero. Use fewer components.",
                DegenerateDataWarning,
            )

    def predict(self, X: Any) -> Any:
        """Return the number of the most probable component of each row."""
        return open_new(self, X).map(self._component).to_column(np.dtype(np.int32))

    def fit_predict(self, X: Any, y: object = None, sample_weight: Any = None) -> Any:
        """Fit, and return the number of the most probable component of each row."""
        self.fit(X, y, sample_weight=sample_weight)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each component, given that the row belongs to one.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSGaussianMixture
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(0, 1, (100, 2)), rng.normal(9, 1, (100, 2))])
        >>> EOSGaussianMixture(2).fit(X).predict_proba([[0.0, 1.0], [9.0, 8.0]]).round(3).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        values = read_new(self, X, "predict_proba")
        chances = self._component.mixture.responsibilities(self._component.coordinates(values))
        return chances.astype(values.dtype, copy=False)

    def score(self, X: Any, y: object = None) -> float:  # noqa: ARG002  # scikit-learn's signature
        """Return the mean of `score_samples`: the log-density per column, up to a constant."""
        return float(np.mean(self.score_samples(X)))


@dataclass(frozen=True)
class _MostProbable:
    """The number of the most probable component, as a function of rows."""

    mixture: Mixture
    coordinates: Coordinates

    def __call__(self, values: FloatArray) -> Any:
        return self.mixture.log_densities(self.coordinates(values)).argmax(axis=1)


def _number_components(fit: Fit[Mixture]) -> Fit[Mixture]:
    """Number the components by their first coordinates, whichever start led to them."""
    mixture = fit.result.last
    order = np.lexsort(mixture.locations.T[::-1])
    ordered = Mixture(mixture.shares[order], tuple(mixture.components[k] for k in order))
    return replace(fit, result=replace(fit.result, last=ordered))
