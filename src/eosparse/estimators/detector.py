"""`EOSDetector`: which rows do not belong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    OneToOneFeatureMixin,
    OutlierMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
)

from eosparse.core import (
    Callback,
    FloatArray,
    Status,
    alpha_path,
    solve_from_prior,
)
from eosparse.estimators.alpha_path import AlphaPath
from eosparse.estimators.notebook import SummaryMixin, flags_summary
from eosparse.fitting.error_fit import ErrorFit
from eosparse.fitting.gaussian_choices import fit_gaussian
from eosparse.fitting.gaussian_fit import GaussianFit, gaussian
from eosparse.fitting.model_choices import fit_named_or_given
from eosparse.fitting.notices import warn_unless_converged
from eosparse.fitting.parameters import fit_options, flagging_rule
from eosparse.fitting.read_out import Fit, Judgement, read_out
from eosparse.fitting.table_input import (
    memory_table,
    new_table,
    rows_in_memory,
    training_table,
)
from eosparse.inference import Explanation
from eosparse.models import Structure
from eosparse.models.raw_gaussian import RawGaussian
from eosparse.rows import (
    FileRows,
    Table,
    is_dask,
    is_on_disk,
    single_threaded_blas,
    write_parquet,
)


class EOSDetector(  # sklearn has no types
    SummaryMixin,
    OneToOneFeatureMixin,  # type: ignore[misc]
    OutlierMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Find the rows that do not belong to the bulk of a table.

    Entropic Outlier Sparsification minimises

    .. math::
        \sum_t w_t\, g(x_t; \mu, V) + \alpha \sum_t w_t \log w_t

    over the simplex of weights w, the location μ and the covariance V, where

    - g is minus the Gaussian log-density per column, so that the weights are
      ``w ∝ exp(-c·m/2)`` with m the squared Mahalanobis distance and ``c = 1/(αD)``;
    - rows far from the bulk lose their weight, and with it their influence on μ and V.

    Other error models g look for rows that lie away from clusters, from a subspace, from a mixture,
    or from a regression, or that one of your own cannot explain.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Regularisation. "auto" takes the value at which the location has an efficiency of 0.7 on
        Gaussian rows, or the smallest at which half of the rows still hold the fit up, if larger.
        With the deterministic start it looks at smaller values too, and takes one where that
        separates a group of rows which the first one cannot. Other models keep an efficiency of
        0.9, by the law that the errors of rows with weight follow.
    efficiency : float in (0, 1), optional
        Choose alpha for this efficiency of the location instead.
    perplexity : float, optional
        Choose alpha so that the weights amount to this many rows instead.
    fdr : float, default=0.01
        Flag rows by Benjamini-Hochberg at this false-discovery rate: of the rows flagged, at most
        this part belongs, on average, if the bulk is Gaussian. The procedure is run at
        ``fdr / 1.15``, which allows for the remaining error of the p-values far in the tail.
    level : float, optional
        Flag training rows with a p-value of at most this level instead.
    weight_cut : float, optional
        Flag rows with ``T·w`` below this instead; the paper uses 0.01.
    contamination : float in (0, 0.5], optional
        Flag this share of the training rows instead.
    model : str or error model, default="gaussian"
        What rows that belong are like:

        - "gaussian": one cloud;
        - "clusters": close to one of 8 centres (one for ten rows if that is fewer);
        - "subspace": close to a plane of as many dimensions as eigenvalues exceed their mean;
        - "mixture": in one of 3 clouds (one for twenty rows if that is fewer);
        - "regression": the last column is a linear function of the others.

        These see the columns centred and robustly scaled. For other numbers of clusters and
        components or another target give the model itself, such as ``ClusterModel(5)``,
        ``SubspaceModel(2)``, ``MixtureModel(4)`` or ``LinearModel(target=0)`` of `eosparse.models`,
        or an error model of your own. A model that is given sees the columns as they are.
        `covariance`, `shrinkage`, `perplexity`, `start` and `checkpoint` are for "gaussian".
    covariance : {"full", "diag", "spherical"}, default="full"
        Form of the covariance. "spherical" means equal variances in scaled columns.
    shrinkage : float in [0, 1) or "auto", default="auto"
        Linear shrinkage of a full covariance towards a multiple of the identity in robustly scaled
        columns. "auto" is 0, unless there are fewer than five rows per column (then the
        oracle-approximating value) or the bulk has a singular covariance (then 0.1, with a
        warning).
    start : {"deterministic", "random", "uniform"} or array, default="deterministic"
        Where the alternation starts: from the best of several robust guesses, from random
        weights (as the paper does), from equal weights, or from given ones, one per row.
    tol : float, default=1e-12
        Stop when the objective falls by no more than this, relative to its size if above 1, or is
        foreseen to do so in the next pass.
    max_iter : int, default=1000
        Most passes over the rows.
    callback : callable, optional
        Called with an `eosparse.core.Iteration` after each pass over all rows that is not taken
        back; returning True stops.
    verbose : bool, default=False
        Show progress on standard error: iteration, objective and time left.
    checkpoint : path, optional
        File to which the state is written after each pass over all rows. A fit that was killed
        goes on from there when it is started again with the same rows and parameters.
    random_state : int, RandomState or None, default=None
        For random starts.

    Attributes
    ----------
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    location_ : ndarray of shape (n_features,)
        Robust location; of the Gaussian.
    covariance_ : ndarray of shape (n_features, n_features)
        Robust covariance, corrected to be consistent on Gaussian rows; of the Gaussian.
    alpha_ : float
        The alpha used.
    shrinkage_ : float
        The shrinkage used; of the Gaussian.
    model_ : error model
        The error model, with what it left open filled in; not of the Gaussian.
    theta_ : object
        Its parameters, such as centres or a subspace, of the columns as the model sees them.
    p_values_ : ndarray of shape (n_samples,)
        P-value of each training row, by the Gaussian judged by the fit without it.
    is_outlier_ : ndarray of bool of shape (n_samples,)
        Which training rows are flagged.
    offset_ : float
        ``decision_function = score_samples - offset_``.
    objective_ : float
        The objective at the solution.
    objective_history_ : ndarray of shape (n_accepted,)
        The objective after each pass that was not taken back, never rising.
    n_iter_ : int
        Number of passes over the rows.
    effective_sample_size_ : float
        Kish's effective number of rows, ``1 / Σ w²``.
    status_ : Status
        How the alternation ended.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the input has names that are all strings.

    Notes
    -----
    `predict` applies to any row the cut that was found for the training rows, so that
    ``fit(X).predict(X)`` equals ``fit_predict(X)``. With few rows per column a new row lies farther
    out than a training row, which pulled the fit towards itself; `p_values` takes that into
    account and should be preferred for new rows then.

    The p-values of models other than the Gaussian rest on a law that is fitted to the weighted
    errors: about right if rows scatter around clusters, subspace or plane like a Gaussian with
    equal variances, approximate otherwise. Those of a mixture are upper bounds. The guide on error
    models has measured rates.

    References
    ----------
    Horenko, I. (2022). Cheap robust learning of data anomalies with analytically solvable entropic
    outlier sparsification. PNAS 119(9).

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> X[:10] += 8
    >>> detector = EOSDetector().fit(X)
    >>> np.flatnonzero(detector.is_outlier_).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    def __init__(
        self,
        alpha: float | Literal["auto"] = "auto",
        *,
        efficiency: float | None = None,
        perplexity: float | None = None,
        fdr: float = 0.01,
        level: float | None = None,
        weight_cut: float | None = None,
        contamination: float | None = None,
        model: Any = "gaussian",
        covariance: Structure = "full",
        shrinkage: float | Literal["auto"] = "auto",
        start: str | ArrayLike = "deterministic",
        tol: float = 1e-12,
        max_iter: int = 1000,
        callback: Callback | None = None,
        verbose: bool = False,
        checkpoint: str | Path | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.efficiency = efficiency
        self.perplexity = perplexity
        self.fdr = fdr
        self.level = level
        self.weight_cut = weight_cut
        self.contamination = contamination
        self.model = model
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: object = None,  # noqa: ARG002  # scikit-learn's signature
        sample_weight: Any = None,
    ) -> Self:
        """Find location, covariance and weights, and flag the rows that do not belong.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, opened rows or Dask collection
            The table; numbers without gaps. Parquet, Arrow or CSV files, given as a path, glob
            or folder, are streamed; `open_rows` chooses columns. Dask arrays and data frames are
            visited where they lie.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A weight of k equals the same row k times, 0 its absence. Of rows on disk
            the name of a column; of a Dask collection a Dask array in the same partitions.

        Returns
        -------
        EOSDetector
            The fitted detector.
        """
        rule = flagging_rule(self)
        table = training_table(self, X, sample_weight)
        with single_threaded_blas():
            fit = self._fit(table)
            self._keep(fit, table.dtype)
            self._read_out = read_out(fit, table.mapped(fit.uncorrected_distances), rule)
        self.offset_ = -self._read_out.judge.cut
        warn_unless_converged(fit.result, self.max_iter)
        return self

    def _keep(self, fit: Fit, dtype: Any) -> None:
        """Keep what is known before the rows are judged, lest an interrupt lose it."""
        self._fit_, self._dtype = fit, dtype
        for name in ("shrinkage_", "location_", "model_", "theta_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if isinstance(fit, GaussianFit):
            self.shrinkage_ = fit.model.shrinkage
            self.location_ = fit.location.astype(self._dtype)
        elif isinstance(fit, ErrorFit):
            self.model_, self.theta_ = fit.model, fit.result.theta
        self.alpha_ = fit.result.alpha
        self.objective_ = fit.result.objective
        self.objective_history_ = np.array(fit.result.objective_history)
        self.n_iter_ = fit.result.n_iter
        self.effective_sample_size_ = fit.result.effective_size
        self.status_ = fit.result.status

    def _summary(self) -> list[tuple[str, str]]:
        return flags_summary(self)

    @property
    def weights_(self) -> Any:
        """Weights of the training rows, summing to one."""
        return self._of_training("weights_")

    @property
    def p_values_(self) -> Any:
        """P-value of each training row, judged by the fit without it."""
        return self._of_training("p_values_")

    @property
    def is_outlier_(self) -> Any:
        """Which training rows are flagged."""
        return self._of_training("is_outlier_")

    def _of_training(self, name: str) -> Any:
        check_is_fitted(self, "offset_")
        return self._read_out.of_training(name, self._dtype)

    @property
    def covariance_(self) -> FloatArray:
        """Robust covariance, corrected to be consistent on Gaussian rows.

        Made when asked for: with thousands of columns it is larger than the table.
        """
        check_is_fitted(self, "alpha_")
        covariance = gaussian(self._fit_, "covariance_").covariance
        return np.asarray(covariance.astype(self._dtype))

    def fit_predict(self, X: Any, y: object = None, sample_weight: Any = None) -> Any:
        """Fit, and return -1 for the rows that do not belong and +1 for the others."""
        self.fit(X, y, sample_weight=sample_weight)
        if is_on_disk(X) or is_dask(X):
            return self.predict(X)
        return np.where(self.is_outlier_, -1, 1)

    def predict(self, X: Any) -> Any:
        """Return -1 for rows that do not belong and +1 for the others."""
        return self._judged(X, "predict", np.dtype(np.int64))

    def decision_function(self, X: Any) -> Any:
        """Return `score_samples` minus the cut: negative for rows that do not belong."""
        return self._judged(X, "decision_function")

    def score_samples(self, X: Any) -> Any:
        """Return minus the squared Mahalanobis distance, or error: higher is more normal.

        Parameters
        ----------
        X : array-like, path, opened rows or Dask collection
            New rows. Those on disk are streamed, and the scores returned as an array; those of Dask
            stay lazy. `write_scores` streams scores to a file.
        """
        return self._judged(X, "score_samples")

    def mahalanobis(self, X: Any) -> Any:
        """Return squared distances in the metric of `covariance_`."""
        check_is_fitted(self, "offset_")
        gaussian(self._fit_, "mahalanobis()")
        return self._judged(X, "mahalanobis")

    def p_values(self, X: Any) -> Any:
        """Return p-values of new rows: the chance of lying as far out for a row that belongs.

        They allow for the estimated location and covariance, and do not depend on the batch.
        """
        return self._judged(X, "p_values")

    def _judged(self, X: Any, name: str, dtype: Any = None) -> Any:
        check_is_fitted(self, "offset_")
        table = new_table(self, X)
        function = Judgement(self._read_out.judge, name, table.dtype)
        return table.mapped(function).column(dtype or table.dtype)

    def write_scores(
        self,
        X: Any,
        output: str | Path,
        *,
        keys: Sequence[str] = (),
        overwrite: bool = False,
    ) -> Path:
        """Stream rows on disk past the detector, and write what it says of them to Parquet.

        Parameters
        ----------
        X : path, glob, folder, list of paths, pyarrow Dataset or opened rows
            New rows.
        output : path
            File to write: the keys, or the number of each row, and `eos_score`, `eos_p_value`,
            `eos_weight` (a weight of 1 is that of an average training row) and `eos_is_outlier`.
            It appears when it is complete, or not at all.
        keys : sequence of str, optional
            Columns that identify a row, copied to the output.
        overwrite : bool, default=False
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file written.
        """
        check_is_fitted(self, "offset_")
        if not is_on_disk(X):
            raise TypeError(
                "write_scores takes rows on disk; use score_samples and p_values for others."
            )
        table = new_table(self, X)
        names = {
            "eos_score": "score_samples",
            "eos_p_value": "p_values",
            "eos_weight": "relative_weights",
            "eos_is_outlier": "is_outlier",
        }
        functions = {name: Judgement(self._read_out.judge, what) for name, what in names.items()}
        distances = table.mapped(self._fit_.uncorrected_distances)
        return write_parquet(
            cast(FileRows, distances),
            output,
            lambda m: {name: function.of(m) for name, function in functions.items()},
            keys,
            overwrite=overwrite,
        )

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return standardised deviations, one per column, whose squares sum to the distance.

        Each is the column's own deviation, freed of what the other columns explain. Of other
        models it is the way from the nearest centre, from the subspace, or, standardised, from the
        most probable component; of a regression the residual, in the target's column.
        """
        values = rows_in_memory(self, X, "transform")
        deviations: FloatArray = self._fit_.deviations(values).astype(values.dtype)
        return deviations

    def explain(self, X: ArrayLike) -> Explanation:
        """Share out the squared distance of each row among the columns.

        Returns
        -------
        Explanation
            Non-negative contributions that sum to the squared distance, with column names.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> X[0, 1] = 9.0
        >>> explanation = EOSDetector().fit(X).explain(X[:1])
        >>> [name for name, share in explanation.top(0, n=1)]
        ['x1']
        """
        values = rows_in_memory(self, X, "explain")
        deviations = self._fit_.deviations(values)
        names = tuple(str(name) for name in _check_feature_names_in(self))
        return Explanation(deviations, names)

    def path(
        self,
        X: ArrayLike,
        alphas: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AlphaPath:
        """Solve along falling alphas, each from the solution before; the detector stays as it is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table.
        alphas : array-like, optional
            Values to visit, largest first. By default 40, evenly spaced in log α, from almost
            equal weights down to collapse.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights.

        Returns
        -------
        AlphaPath
            Flagged rows and their number, effective sizes, weights and the plateau.
        """
        scratch = clone(self).set_params(checkpoint=None, callback=None, verbose=False)
        rule = flagging_rule(scratch)
        table = memory_table(scratch, X, sample_weight)
        fit = gaussian(scratch._fit(table), "path()")
        visited = _visited_alphas(fit, alphas)
        model = RawGaussian(fit.model, fit.coordinates)
        start = solve_from_prior(model, table)
        results = alpha_path(model, table, visited, start, tol=self.tol, max_iter=self.max_iter)
        flagged, weights = np.full(len(results), -1), np.zeros((len(results), len(table.values)))
        is_outlier = np.zeros(weights.shape, dtype=np.bool_)
        mass = 1.0 if table.prior is None else table.prior
        for i, result in enumerate(results):
            if result.status is not Status.COLLAPSED:
                step = GaussianFit(fit.coordinates, fit.model, result, fit.n_rows)
                distances = table.mapped(step.uncorrected_distances)
                judged = read_out(step, distances, rule)
                is_outlier[i] = (1 - step.coupling) * distances.values > judged.judge.cut
                flagged[i] = np.count_nonzero(is_outlier[i])
                weights[i] = step.pull.weights(distances.values) * mass
        return AlphaPath(
            alphas=visited[: len(results)],
            n_flagged=flagged,
            effective_sizes=np.array([result.effective_size for result in results]),
            weights=weights,
            statuses=tuple(result.status for result in results),
            is_outlier=is_outlier,
        )

    def _fit(self, table: Table) -> Fit:
        names = [str(name) for name in _check_feature_names_in(self)]
        options = fit_options(self, table)
        if isinstance(self.model, str) and self.model == "gaussian":
            return fit_gaussian(table, options, check_random_state(self.random_state), names)
        return fit_named_or_given(table, self.model, options, names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _visited_alphas(fit: GaussianFit, alphas: ArrayLike | None) -> FloatArray:
    """Return the alphas of a path, largest first."""
    lowest = fit.model.alpha(1.0)
    if alphas is None:
        return np.geomspace(200 * lowest, 1.02 * lowest, 40)
    visited = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if visited.ndim != 1 or not (visited > lowest).all():
        raise ValueError(
            f"alphas must be numbers above {lowest:.6g}, where the covariance collapses."
        )
    return np.sort(visited)[::-1]
