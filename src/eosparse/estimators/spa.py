"""`SPAClassifier`: classes from boxes, and which labels the boxes do not believe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from eosparse.core import FloatArray, Result, check_alpha, check_choice, check_number, check_whole
from eosparse.estimators.notebook import SummaryMixin, weights_summary
from eosparse.fitting.class_weights import grouped_weights, warn_of_lost_classes
from eosparse.fitting.folds import fold_numbers
from eosparse.fitting.meta_input import check_labels, checked_prior
from eosparse.fitting.notices import warn_unless_converged
from eosparse.fitting.spa_fit import (
    FittedBoxes,
    LabelledTable,
    Simplex,
    SPASettings,
    candidate_settings,
    choose_settings,
    fit_boxes,
    fit_labels,
)
from eosparse.inference import estimate_label_noise
from eosparse.models import BoxLabelModel, BoxSums, box_sums
from eosparse.rows import (
    Labelled,
    LabelledRows,
    MemoryRows,
    as_float64,
    bound_columns,
    spread_out,
)

_FOLDS = 5
# Given the boxes, weights are iterated until they settle, which takes them farther than the two
# passes around a learner: a larger alpha does.
_CONTRAST = 2.0
# Settings are chosen on about this many rows.
_MOST_ROWS_TO_CHOOSE = 3000
# Columns are scaled by about this many rows.
_MOST_ROWS_TO_SCALE = 2**17


class SPAClassifier(SummaryMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    r"""Classify rows by soft boxes, weighing down those whose label their boxes do not share.

    Scalable Probabilistic Approximation (SPA) covers the rows with K boxes, with centres C and
    label probabilities Λ, that minimise

    .. math::
        \sum_t \min_k \left\{ \sum_d W_d (x_{td} - C_{kd})^2
        - \varepsilon_L \log \Lambda_k[y_t] \right\} + \varepsilon_E \sum_d W_d \log W_d

    where W are feature weights, equal without ε_E (SPA) and learned with it (eSPA). Rows are then
    affiliated to all boxes by their distances, Γ, and EOS learns the labels of the boxes from
    weighted rows:

    .. math::
        \sum_t w_t \left(-\sum_k \Gamma_{tk} \log \Lambda_k[y_t]\right) + \alpha \sum_t w_t \log w_t

    so that a row whose label its boxes do not share loses its weight. All steps are closed-form,
    and neither objective ever rises. Columns are scaled robustly and bounded first.

    Parameters
    ----------
    n_boxes : int or "auto", default="auto"
        Most boxes; empty ones are dropped. "auto" takes 64, or a quarter of the rows if fewer,
        unless cross-validation on the labels as they are clearly prefers fewer. The temperature
        is chosen along.
    epsilon_label : float, default=0.1
        What the label counts when boxes are fitted, in units of squared distance.
    epsilon_features : float or None, default=None
        Regularisation of the feature weights; None keeps them equal.
    alpha : float, "auto" or None, default="auto"
        Regularisation of the row weights, in units of the log-probability of a label. "auto" takes
        it from the estimated noise rate; None weighs all rows alike: plain SPA.
    affiliation : {"soft", "hard"}, default="soft"
        Whether a row belongs to all boxes, by its distances, or to the nearest one.
    temperature : float or "auto", default="auto"
        How soft: in units of the mean squared distance of a row from its box.
    simplex : {"per-class", "single"}, default="per-class"
        Whether each class keeps its share of the weight, or, as in the paper, all rows share one
        simplex, on which a class may be lost.
    n_init : int, default=1
        Starts of the boxes: one by bisection, the others at random.
    tol : float, default=1e-9
        Stop when the objective falls by no more than this.
    max_iter : int, default=500
        Most passes over the rows, for boxes and for labels.
    random_state : int, RandomState or None, default=None
        For folds and random starts. None stands for 0: a fit can always be repeated.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    box_centers_ : ndarray of shape (n_boxes, n_features)
        Mean of the rows of each box, in the columns' own units.
    box_labels_ : ndarray of shape (n_boxes, n_classes)
        Probability of each class in each box.
    feature_weights_ : ndarray of shape (n_features,)
        Feature weights, summing to one.
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    alpha_ : float
        The alpha used; infinite for plain SPA.
    temperature_ : float
        The temperature used; 0 for hard affiliations.
    noise_rate_ : float
        Estimated share of wrong labels; NaN unless alpha is "auto".
    objective_history_ : ndarray
        Objective of the labels after each pass, never rising.
    box_objective_history_ : ndarray
        Objective of the boxes after each pass, never rising.
    status_ : Status
        How the alternation of the labels ended.
    n_iter_ : int
        Passes over the rows, for boxes and labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where the input has names that are all strings.

    References
    ----------
    Horenko, I. (2022). Cheap robust learning of data anomalies with analytically solvable entropic
    outlier sparsification. PNAS 119(9).

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import SPAClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> X[:150] += 2
    >>> truth = np.repeat([1, 0], 150)
    >>> y = truth.copy()
    >>> y[:30] = 0  # a fifth of class 1 mislabelled
    >>> classifier = SPAClassifier().fit(X, y)
    >>> float((classifier.predict(X) == truth).mean()) > 0.95
    True
    """

    def __init__(
        self,
        n_boxes: int | Literal["auto"] = "auto",
        *,
        epsilon_label: float = 0.1,
        epsilon_features: float | None = None,
        alpha: float | Literal["auto"] | None = "auto",
        affiliation: Literal["soft", "hard"] = "soft",
        temperature: float | Literal["auto"] = "auto",
        simplex: Simplex = "per-class",
        n_init: int = 1,
        tol: float = 1e-9,
        max_iter: int = 500,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_boxes = n_boxes
        self.epsilon_label = epsilon_label
        self.epsilon_features = epsilon_features
        self.alpha = alpha
        self.affiliation = affiliation
        self.temperature = temperature
        self.simplex = simplex
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit boxes, weights and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table; numbers without gaps.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A weight of k equals the same row k times, 0 its absence.

        Returns
        -------
        SPAClassifier
            The fitted classifier.
        """
        self._check_parameters()
        table = self._validated(X, y, sample_weight)
        random_state = check_random_state(0 if self.random_state is None else self.random_state)
        settings, alpha = self._chosen(table, random_state)
        fitted = fit_boxes(table, settings, random_state)
        rows = table.affiliated(fitted)
        model, labels = fit_labels(
            table, rows, alpha, self.simplex, tol=self.tol, max_iter=self.max_iter
        )
        for result in (fitted.result, labels):
            warn_unless_converged(result, self.max_iter)
        self._boxes = fitted
        self.temperature_ = settings.temperature
        self._keep(table, fitted)
        self._keep_labels(table, rows, model, labels)
        self.n_iter_ = fitted.result.n_iter + labels.n_iter
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class: those of the boxes, by affiliation."""
        check_is_fitted(self, "box_labels_")
        values = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])

        def one(block: FloatArray) -> FloatArray:
            mixed = self._boxes.affiliations(self._columns(block)) @ self.box_labels_
            probabilities: FloatArray = mixed / mixed.sum(axis=1, keepdims=True)
            return probabilities

        return MemoryRows(values).map(one).values

    def _summary(self) -> list[tuple[str, str]]:
        return weights_summary(self)

    def predict(self, X: ArrayLike) -> Any:
        """Return the most probable class of each row."""
        check_is_fitted(self, "box_labels_")
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> LabelledTable:
        if y is not None:
            check_labels(y)
        values, y = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_classification_targets(y)
        prior = checked_prior(sample_weight, values)
        self.classes_ = np.unique(np.asarray(y)[prior > 0])
        # Rows that do not count may have a class that does not count either.
        classes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if len(self.classes_) < 2:
            raise ValueError(
                "y has one class only among the rows that count: SPAClassifier needs at least "
                "two classes."
            )
        some = spread_out(len(values), _MOST_ROWS_TO_SCALE)
        self._columns = bound_columns(values[some], prior[some])
        if self.epsilon_features is None and values.shape[1] > np.count_nonzero(prior):
            # Equal weights see distances only, and those do not change with the coordinates.
            self._columns = self._columns.rotate(values[prior > 0])
        return LabelledTable(values, self._columns, classes, prior, len(self.classes_))

    def _chosen(
        self, table: LabelledTable, random_state: np.random.RandomState
    ) -> tuple[SPASettings, float]:
        """Return the settings and the alpha, chosen on held-out rows where they are left open."""
        self.noise_rate_ = np.nan
        any_boxes = self.n_boxes == "auto"
        any_temperature = self.temperature == "auto" and self.affiliation == "soft"
        settings = self._settings()
        alpha = np.inf if self.alpha in (None, "auto") else float(self.alpha)
        if not (any_boxes or any_temperature or self.alpha == "auto"):
            return settings, alpha
        sample = table.thinned(_MOST_ROWS_TO_CHOOSE)
        # By the rows as they were given: coordinates may be rotated.
        folds = fold_numbers(sample.raw, sample.classes, sample.prior, _FOLDS, random_state)
        if folds.max() < 1:
            return settings, alpha  # too few distinct rows to hold any out
        candidates = candidate_settings(
            settings, len(np.unique(sample.values, axis=0)),
            any_boxes=any_boxes, any_temperature=any_temperature,
        )  # fmt: skip
        settings, held_out = choose_settings(sample, candidates, folds, random_state)
        if self.alpha == "auto":
            judged = sample.prior * (folds >= 0)
            noise = estimate_label_noise(held_out, sample.classes, judged)
            self.noise_rate_, alpha = noise.rate, _CONTRAST * noise.cautious_gap
        return settings, alpha

    def _settings(self) -> SPASettings:
        soft = 1.0 if self.temperature == "auto" else float(self.temperature)
        return SPASettings(
            n_boxes=8 if self.n_boxes == "auto" else self.n_boxes,
            temperature=soft if self.affiliation == "soft" else 0.0,
            epsilon_label=self.epsilon_label,
            epsilon_features=self.epsilon_features,
            n_init=self.n_init,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _keep(self, table: LabelledTable, fitted: FittedBoxes) -> None:
        """Store the boxes, with centres in the user's units."""
        boxes = fitted.boxes

        def one(block: Labelled, prior: FloatArray) -> BoxSums:
            working = Labelled(table.columns(block.values), block.classes)
            own = fitted.model.affiliations(working, boxes)
            return box_sums(block, prior, own, boxes.labels.shape)

        sums = LabelledRows(table.raw, table.classes, table.prior, as_float64).fold(one)
        # The last step may leave a box without rows; it is told by the mean of all.
        mean = sums.sums.sum(axis=0) / sums.mass.sum()
        filled = sums.mass > 0
        means = sums.sums / np.where(filled, sums.mass, 1.0)[:, None]
        self.box_centers_ = np.where(filled[:, None], means, mean)
        self.feature_weights_ = (
            np.full(table.n_features, 1.0 / table.n_features)
            if self.epsilon_features is None
            else boxes.feature_weights
        )
        self.box_objective_history_ = np.array(fitted.result.objective_history)

    def _keep_labels(
        self,
        table: LabelledTable,
        rows: LabelledRows,
        model: BoxLabelModel,
        labels: Result[FloatArray],
    ) -> None:
        everyone = replace(rows, prior=np.ones(len(table.prior)))
        errors = np.concatenate(everyone.fold(lambda block, _: [model.errors(block, labels.theta)]))
        self.weights_ = grouped_weights(
            errors,
            labels.alpha,
            table.prior,
            table.classes if self.simplex == "per-class" else None,
        )
        warn_of_lost_classes(self.weights_, table.classes, table.prior, self.classes_)
        self.alpha_, self.status_ = labels.alpha, labels.status
        self.box_labels_ = labels.theta
        self.objective_history_ = np.array(labels.objective_history)

    def _check_parameters(self) -> None:
        check_whole("n_boxes", self.n_boxes, 1, words=("auto",))
        check_number("epsilon_label", self.epsilon_label, "[0, inf)")
        check_number("epsilon_features", self.epsilon_features, "(0, inf)", words=(None,))
        check_alpha(self.alpha, words=("auto", None))
        check_number("temperature", self.temperature, "(0, inf)", words=("auto",))
        check_whole("n_init", self.n_init, 1)
        check_number("tol", self.tol, "[0, inf)")
        check_whole("max_iter", self.max_iter, 1)
        check_choice("affiliation", self.affiliation, ("soft", "hard"))
        check_choice("simplex", self.simplex, ("per-class", "single"))
