"""`EOSDetector`: which rows are outliers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, OutlierMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from eosparse.core import Callback, FloatArray, Status
from eosparse.estimators.corrections import Corrections
from eosparse.estimators.scores_on_disk import ScoresOnDisk
from eosparse.fitting.alpha_path import AlphaPath, follow_path
from eosparse.fitting.climb import Climb
from eosparse.fitting.engine import takes_gaps
from eosparse.fitting.judge import Judge, Rule
from eosparse.fitting.ladder import fit_table
from eosparse.fitting.notices import warn_of_early_end
from eosparse.fitting.options import FitOptions
from eosparse.fitting.progress import Progress
from eosparse.fitting.table_input import open_training, read_new
from eosparse.fitting.whole_fit import fit_or_restore
from eosparse.inference import Explanation
from eosparse.rows import STORAGES, Table, TableView, find_index


class EOSDetector(OneToOneFeatureMixin, OutlierMixin, TransformerMixin, Corrections, ScoresOnDisk):  # type: ignore[misc]  # sklearn has no types
    r"""Find the outliers of a table: rows that do not belong to its bulk.

    Entropic Outlier Sparsification minimises

    .. math::
        \sum_t w_t\, g(x_t; \theta) + \alpha \sum_t w_t \log w_t

    over the weights w, which sum to one, and the parameters θ of an error model g: for a Gaussian,
    minus its log-density per column with θ = (μ, V). Rows far from the bulk lose their weight, and
    with it their influence on μ and V.

    By default, the first of four models whose law the good rows follow is taken: one Gaussian, one
    Gaussian after bending the columns, a few groups, local distances. Other models find rows away
    from clusters, from a subspace or from a regression, or that your own model cannot explain.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Regularisation; infinity gives all rows equal weight. "auto" takes the value at which the
        location has an efficiency of 0.7 on Gaussian rows, or the smallest value at which half of
        the rows still support the fit, if that is larger. With the deterministic start it also
        looks at smaller values, and takes one if it separates a group of rows that the first value
        cannot. For other models, the efficiency is 0.9, under the law of the weighted errors.
    efficiency : float in (0, 1), optional
        Choose alpha for this efficiency of the location instead.
    perplexity : float, optional
        Choose alpha so that the weights amount to this many rows instead.
    fdr : float, default=0.01
        Flag rows by Benjamini-Hochberg at this false-discovery rate: on average, at most this
        share of the flagged rows are good rows, if `promise_` is true. The procedure runs at
        ``fdr / 1.15``, which allows for the remaining error of the p-values far in the tail.
    level : float, optional
        Flag training rows with p-values up to this level instead.
    weight_cut : float, optional
        Flag rows with ``T·w`` below this value instead; the paper uses 0.01.
    contamination : float in (0, 0.5], optional
        Flag this share of the training rows instead.
    model : str or TableModel, default="auto"
        What good rows look like:

        - "auto": the first of "gaussian", "margins", "groups" and "local" that describes them, with
          columns of few values taken as levels;
        - "margins": one cloud, after skewed and heavy-tailed columns are bent to a normal law;
        - "groups": in one of a few clouds, as few as possible;
        - "local": close to other rows, whatever the shape of the bulk;
        - "gaussian": one cloud, all columns as numbers: the model of the paper;
        - "clusters": close to one of 8 centres (one per ten rows if that is fewer);
        - "subspace": close to a plane with as many dimensions as eigenvalues exceed their mean;
        - "mixture": in one of 3 clouds (one per twenty rows if that is fewer);
        - "regression": the last column is a linear function of the others.

        The last four see the columns centred and robustly scaled. For other options, pass a model
        of `eosparse.models`, such as ``GaussianModel(covariance="diag")``, ``ClusterModel(5)``,
        ``SubspaceModel(2)``, ``MixtureModel(4)`` or ``LinearModel(target=0)``, or a subclass of
        `TableModel` of your own. Models that you pass see the columns as they are.
    kinds : mapping of str to str, optional
        What some columns hold, by their names (``"x0"``, ``"x1"``, ... without names): "number",
        "levels", "category", "heap", "date" or "ignored". Others are recognised. For "auto" and its
        rungs only.
    groups : {"outliers", "kinds"}, default="outliers"
        What groups are beside one that holds more than half of the rows: outliers, or other kinds
        of good rows. Groups without a majority are kinds in any case.
    start : {"deterministic", "random", "uniform"} or array, default="deterministic"
        Where the alternation starts: from the best of several robust guesses, from random weights
        (as in the paper), from equal weights, or from the weights you pass, one per row.
    tol : float, default=1e-12
        Stop when the objective falls by no more than this, relative to its size if above 1, or is
        predicted to do so in the next pass.
    max_iter : int, default=1000
        Maximum number of passes over the rows.
    callback : callable, optional
        Called with an `eosparse.core.Iteration` after each accepted pass over all rows. Return True
        to stop.
    verbose : bool, default=False
        Show progress on standard error: iteration, objective and time left.
    checkpoint : path, optional
        File to which the state is written after each pass over all rows. If a fit is killed, start
        it again with the same rows and parameters to resume.
    random_state : int, RandomState or None, default=None
        For random starts.

    Attributes
    ----------
    rung_ : str or None
        Which of "gaussian", "margins", "groups" and "local" describes the good rows; None if you
        asked for another model, or for "gaussian".
    reason_ : str
        Why, in a sentence.
    promise_ : Promise
        Whether the false-discovery rate can be promised; true or false, with a `reason`.
    columns_ : tuple of ColumnKind
        What each column holds: its `name`, `kind` and `why`.
    groups_ : tuple of Group
        Groups of rows: those of the rung "groups", or of flagged rows that sit apart together.
        Each has `n_rows`, `share`, `centre`, `columns` that tell it apart, and `is_outlier`.
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    location_ : ndarray of shape (n_features,)
        Robust location; Gaussian model only.
    covariance_ : ndarray of shape (n_features, n_features)
        Robust covariance, corrected to be consistent on Gaussian rows; Gaussian model only.
    alpha_, shrinkage_ : float
        The alpha used, and the shrinkage; the latter for the Gaussian model only.
    model_ : TableModel
        The error model, with everything chosen that it left open.
    theta_ : object
        Its parameters, such as centres or a subspace, for the columns as the model sees them.
    p_values_ : ndarray of shape (n_samples,)
        P-value of each training row; the Gaussian judges each by the fit without it.
    is_outlier_ : ndarray of bool of shape (n_samples,)
        Which training rows are flagged.
    offset_ : float
        ``decision_function = score_samples - offset_``.
    objective_, objective_history_
        The objective at the solution, and after each accepted pass, never rising.
    n_iter_, status_, effective_sample_size_
        Passes over the rows, how the alternation ended, and Kish's ``1 / Σ w²``.
    n_features_in_, feature_names_in_
        Number of columns, and their names, if the input has names that are all strings.

    Notes
    -----
    The false-discovery rate is promised if p-values between those of flagged rows and 0.2 are
    spread as the law of the model says, and no group of flagged rows holds more than 5 % of the
    table. Local distances follow no law, and never promise a rate. A promise is about
    false alarms, not about outliers that are missed. The guide on verdicts has examples.

    `predict` applies the cut-off of the training rows to any row, so that ``fit(X).predict(X)``
    equals ``fit_predict(X)``. With few rows per column, a new row lies farther out than a training
    row, which has pulled the fit towards itself. `p_values` accounts for that: prefer it for new
    rows.

    For "clusters", "subspace", "mixture" and "regression", p-values rest on a law that is fitted to
    the weighted errors, and are approximate. The guide on error models has measured rates.

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

    New rows are judged by the same fit:

    >>> detector.predict([[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]).tolist()
    [1, -1]
    >>> bool(detector.p_values([[9.0, 9.0, 9.0]])[0] < 1e-6)
    True
    """

    _takes_kinds = True  # data frames may hold text, booleans and dates: see `open_training`

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
        model: Any = "auto",
        kinds: Mapping[str, Any] | None = None,
        groups: Literal["outliers", "kinds"] = "outliers",
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
        self.kinds = kinds
        self.groups = groups
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.random_state = random_state

    @fit_or_restore
    def fit(
        self,
        X: Any,
        y: object = None,  # noqa: ARG002  # scikit-learn's signature
        sample_weight: Any = None,
    ) -> Self:
        """Fit the error model and the weights, and flag the outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), path, opened rows or Dask collection
            The table; rows with missing values (NaN, None or NA) are judged by the others. Parquet,
            Arrow or CSV files, given as a path, glob or folder, are streamed; `open_rows` selects
            columns. Dask arrays and data frames are visited where they are.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A weight of k counts the row k times, 0 leaves it out. For rows on
            disk, the name of a column; for a Dask collection, a Dask array with the same
            partitions.

        Returns
        -------
        EOSDetector
            The fitted detector.
        """
        rule = Rule.choose(self.fdr, self.level, self.weight_cut, self.contamination)
        table = open_training(self, X, sample_weight)
        climb = self._climb(table, rule)
        result = climb.fit.result
        self.rung_ = climb.rung
        self.reason_ = climb.reason
        self.promise_ = climb.promise
        self.columns_ = climb.columns
        self.groups_ = climb.groups
        self.model_ = climb.fit.model
        self.theta_ = result.theta
        self.alpha_ = result.alpha
        self.objective_ = result.objective
        self.objective_history_ = np.array(result.objective_history)
        self.n_iter_ = result.n_iter
        self.effective_sample_size_ = result.effective_size
        self.status_ = result.status
        self.offset_ = -climb.judge.cut
        self._dtype = table.dtype
        self._keep_judge(climb.judge, climb.distances, table)
        if result.status is not Status.CONVERGED:
            warn_of_early_end(result, self.max_iter)
        return self

    @property
    def _takes_gaps(self) -> bool:  # type: ignore[override]  # depends on the model
        return takes_gaps(self.model)

    def _climb(self, table: Table, rule: Rule) -> Climb:
        reader = getattr(self, "_reader", None)
        typed = {} if reader is None else reader.kinds
        asked = (self.model, self._options(), rule)
        return fit_table(table, *asked, kinds=self.kinds, typed=typed, groups=self.groups)

    def _options(self) -> FitOptions:
        own = () if self.callback is None else (self.callback,)
        return FitOptions(
            alpha=self.alpha,
            efficiency=self.efficiency,
            perplexity=self.perplexity,
            start=self.start,
            tol=self.tol,
            max_iter=self.max_iter,
            callbacks=(Progress(), *own) if self.verbose else own,
            checkpoint=self.checkpoint,
            random_state=check_random_state(self.random_state),
        )

    @property
    def p_values_(self) -> Any:
        """P-value of each training row, judged by the fit without it."""
        distances = self._training_distances("p_values_")
        # With very few rows a near row's pull may outweigh its distance; the order stays.
        return distances.map_falling(self._judge.training_p_values).to_column(self._judge.dtype)

    @property
    def location_(self) -> FloatArray:
        """Robust location; Gaussian model only."""
        check_is_fitted(self, "alpha_")
        location, view = self.model_.location(self.theta_), self._judge.fit.coordinates
        if isinstance(view, TableView):
            location = view.location(location)
        return np.asarray(location.astype(self._dtype))

    @property
    def covariance_(self) -> FloatArray:
        """Robust covariance, consistent on Gaussian rows; Gaussian model only.

        Computed when asked for: with thousands of columns it is larger than the table.
        """
        check_is_fitted(self, "alpha_")
        if isinstance(self._judge.fit.coordinates, TableView):
            raise AttributeError(
                "covariance_ is not defined: the columns were bent or their levels taken out "
                f"(rung {self.rung_!r}). Use model='gaussian'."
            )
        covariance = self.model_.covariance_at(self.theta_, self.alpha_)
        return np.asarray(covariance.astype(self._dtype))

    @property
    def shrinkage_(self) -> float:
        """The shrinkage used; Gaussian model only."""
        _ = self.location_  # raises for models without one
        return float(self.model_.amount)  # type: ignore[attr-defined]  # of the Gaussian

    def fit_predict(self, X: Any, y: object = None, sample_weight: Any = None) -> Any:
        """Fit, and return -1 for outliers and +1 for other rows."""
        self.fit(X, y, sample_weight=sample_weight)
        if any(storage.accepts(X) for storage in STORAGES):
            return self.predict(X)
        return np.where(self.is_outlier_, -1, 1)

    def predict(self, X: Any) -> Any:
        """Return -1 for outliers and +1 for other rows."""
        return self._judge_new(X, Judge.predictions, np.dtype(np.int64))

    def decision_function(self, X: Any) -> Any:
        """Return `score_samples` minus the cut-off: negative for outliers."""
        return self._judge_new(X, Judge.margins)

    def score_samples(self, X: Any) -> Any:
        """Return minus the squared Mahalanobis distance, or error: higher is more normal.

        Parameters
        ----------
        X : array-like, path, opened rows or Dask collection
            New rows. Rows on disk are streamed and give an array of scores; Dask collections give
            lazy scores. `write_scores` streams scores to a file.
        """
        return super().score_samples(X)

    def mahalanobis(self, X: Any) -> Any:
        """Return squared distances in the metric of `covariance_`; Gaussian model only."""
        _ = self.location_  # raises for models without one
        return self._judge_new(X, Judge.distances)

    def p_values(self, X: Any) -> Any:
        """Return p-values of new rows: the chance that a good row lies as far out.

        They allow for the estimated location and covariance, and do not depend on the batch.
        """
        return super().p_values(X)

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return standardised deviations, one per column, whose squares sum to the distance.

        Each is the column's own deviation, without what the other columns explain. For other models
        it is the difference from the nearest centre, from the subspace, or, standardised, from the
        most probable component; for a regression, the residual in the target's column.
        """
        values = read_new(self, X, "transform")
        return np.asarray(self._judge.fit.deviations(values).astype(values.dtype))

    def explain(self, X: ArrayLike) -> Explanation:
        """Split the squared distance of each row among the columns.

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
        values = read_new(self, X, "explain")
        deviations = self._judge.fit.deviations(values)
        names = tuple(str(name) for name in _check_feature_names_in(self))
        return Explanation(deviations, names, find_index(X))

    def path(
        self,
        X: ArrayLike,
        alphas: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AlphaPath:
        """Solve along decreasing alphas, each time from the previous solution.

        The detector itself does not change.

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
        rule = Rule.choose(self.fdr, self.level, self.weight_cut, self.contamination)
        table = open_training(scratch, X, sample_weight)
        fit = scratch._climb(table, rule).fit
        return follow_path(fit, table, rule, alphas, tol=self.tol, max_iter=self.max_iter)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
