"""`SPAClassifier`: classes from boxes, with little weight on labels that boxes do not share."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from eosparse.core import FloatArray, IntArray, check_alpha, check_choice, check_number, check_whole
from eosparse.estimators.notebook import SummaryMixin, summarise_weights
from eosparse.fitting.class_weights import (
    SIMPLEXES,
    Simplex,
    warn_of_lost_classes,
    weigh_labelled_rows,
)
from eosparse.fitting.given_arrays import check_range, validate_numbers
from eosparse.fitting.meta_input import check_labels, check_prior
from eosparse.fitting.notices import warn_of_early_end
from eosparse.fitting.spa_choices import (
    BOXES,
    EPSILONS,
    TEMPERATURES,
    choose_coverings,
    list_candidates,
)
from eosparse.fitting.spa_coverings import Covering, fit_labels
from eosparse.fitting.spa_fit import UNITS, LabelledTable, SPASettings, Units
from eosparse.fitting.whole_fit import fit_or_restore
from eosparse.rows import BoundedColumns, MemoryRows, bound_columns, spread_out

# Columns are scaled by about this many rows, whose quantiles are good to a few thousandths.
_MOST_ROWS_TO_SCALE = 2**17
# Placeholders while "auto" is chosen; kept if the rows are too few to choose.
_FEW_BOXES, _UNIT_TEMPERATURE = 8, 1.0
# Columns whose spreads differ by more than this are of different kinds: their units say nothing.
_ALIKE = 10.0


class SPAClassifier(SummaryMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn has no types
    r"""Classify rows by soft boxes, while rows whose label their boxes do not share lose weight.

    Scalable Probabilistic Approximation (SPA) covers the rows with K boxes, with centres C and
    label probabilities Λ, that minimise

    .. math::
        \sum_t \min_k \left\{ \sum_d W_d (x_{td} - C_{kd})^2
        - \varepsilon_L \log \Lambda_k[y_t] \right\} + \varepsilon_E \sum_d W_d \log W_d

    where W are feature weights, equal without ε_E (SPA) and learned with it (eSPA): the closed form
    of the paper, over columns. Rows are then affiliated to all boxes by their distances, with
    affiliations Γ, and EOS learns the labels of the boxes from weighted rows: it minimises

    .. math::
        \sum_t w_t \left(-\sum_k \Gamma_{tk} \log \Lambda_k[y_t]\right) + \alpha \sum_t w_t \log w_t

    over the weights w and Λ. A row whose label its boxes do not share loses its weight. All steps
    are closed-form, and neither objective ever rises. Columns are bounded first.

    What is left "auto" is not one choice but several coverings of the rows, each with a share:
    the closed form again, from what each says about held-out labels and from how well its columns
    explain each other. Their boxes together are the boxes of the classifier.

    Parameters
    ----------
    n_boxes : int or "auto", default="auto"
        Most boxes of a covering; empty ones are dropped. "auto" compares 2 to 64, and at most a
        quarter of the rows.
    epsilon_label : float, default=0
        Weight of the label when boxes are fitted, in units of squared distance. What is left open
        is chosen with boxes that do not see labels.
    epsilon_features : float, None or "auto", default="auto"
        Regularisation of the feature weights, in units of the mean variance of a column; None keeps
        them equal. "auto" compares four. With learned weights, columns of two values get none; with
        more columns than rows, "auto" keeps them equal.
    units : {"auto", "own", "equal"}, default="auto"
        Whether columns keep their own units or are scaled to equal spread. "auto" compares both,
        unless spreads differ by more than ten times: such columns are of different kinds.
    alpha : float or "auto", default="auto"
        Regularisation, in units of the loss, minus the log-probability of a label: a row whose loss
        is larger by alpha than that of another gets 1/e of its weight. ``np.inf`` gives all rows
        the same weight: plain SPA. "auto" takes alpha from the share of wrong labels, which is
        estimated on held-out rows.
    affiliation : {"soft", "hard"}, default="soft"
        Whether a row belongs to all boxes, by its distances, or to the nearest one.
    temperature : float or "auto", default="auto"
        How soft affiliations are, in units of the mean squared distance of a row from its box.
        "auto" averages several, for each covering, by what they say about held-out labels.
    simplex : {"per-class", "single"}, default="per-class"
        "per-class" keeps the share of each class in the weight. With "single" all rows share one
        simplex, as in the paper, and a class may lose all its weight.
    n_init : int, default=1
        Starts of the boxes: one by bisection, which in learned feature weights is repeated in
        columns that go together, and the others at random.
    tol : float, default=1e-9
        Stop when the objective falls by no more than this.
    max_iter : int, default=500
        Maximum number of passes over the rows, for boxes and for labels.
    random_state : int, RandomState or None, default=None
        For folds and random starts. None stands for 0, so that a fit can always be repeated.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coverings_ : list of dict
        The coverings, that with the largest share first: ``n_boxes``, ``epsilon_features``,
        ``units``, ``temperatures`` with the share of each (0 for hard affiliations) and ``share``.
    box_centers_ : ndarray of shape (n_boxes, n_features)
        Mean of the rows of each box of all coverings, in the columns' own units.
    box_labels_ : ndarray of shape (n_boxes, n_classes)
        Probability of each class in each box.
    feature_weights_ : ndarray of shape (n_features,)
        Feature weights, summing to one; the mean over coverings, by their shares.
    weights_ : ndarray of shape (n_samples,)
        Weights of the training rows, summing to one.
    alpha_ : float
        The alpha used; infinite for plain SPA.
    noise_rate_ : float
        Estimated share of wrong labels; NaN unless alpha is "auto".
    objective_history_ : ndarray
        Objective of the labels after each pass, never rising.
    box_objective_history_ : ndarray
        Objective of the boxes of the first covering after each pass, never rising.
    status_ : Status
        How the alternation of the labels ended.
    n_iter_ : int
        Passes over the rows, for boxes and labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input has names that are all strings.

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
    >>> y[:30] = 0  # a fifth of class 1 is mislabelled
    >>> classifier = SPAClassifier().fit(X, y)
    >>> float((classifier.predict(X) == truth).mean()) > 0.95
    True
    """

    def __init__(
        self,
        n_boxes: int | Literal["auto"] = "auto",
        *,
        epsilon_label: float = 0.0,
        epsilon_features: float | Literal["auto"] | None = "auto",
        units: Units | Literal["auto"] = "auto",
        alpha: float | Literal["auto"] = "auto",
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
        self.units = units
        self.alpha = alpha
        self.affiliation = affiliation
        self.temperature = temperature
        self.simplex = simplex
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_or_restore
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit boxes, weights and labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The table: numbers without missing values.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), optional
            Prior weights. A row of weight k counts as k equal rows, one of weight 0 is left out.

        Returns
        -------
        SPAClassifier
            The fitted classifier.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import SPAClassifier
        >>> X = np.arange(20.0)[:, None]
        >>> SPAClassifier().fit(X, X[:, 0] > 9).predict([[3.0], [15.0]]).tolist()
        [False, True]
        """
        self._check_parameters()
        labels = check_labels(self, y)
        values = validate_numbers(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_consistent_length(values, labels)
        check_range(values)
        prior = check_prior(sample_weight, values)
        self.classes_ = _find_classes(labels, prior)
        # Rows without prior weight may have a class that no other row has.
        classes = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        tables = self._open_tables(values, classes, prior)
        table = next(iter(tables.values()))
        random_state = check_random_state(0 if self.random_state is None else self.random_state)
        choice = choose_coverings(
            tables, self._list_candidates(tables), check_alpha(self.alpha), random_state
        )
        self._coverings = choice.coverings
        result, errors = fit_labels(
            table,
            choice.coverings,
            choice.alpha,
            self.simplex,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        parts = choice.coverings.parts
        self.coverings_ = [_describe(part) for part in parts]
        self.box_centers_ = np.vstack(
            [part.fitted.find_raw_centers(tables[part.settings.units]) for part in parts]
        )
        self.box_labels_ = result.theta
        self.feature_weights_ = _average_feature_weights(parts, table.n_features)
        self.weights_ = weigh_labelled_rows(errors, choice.alpha, prior, classes, self.simplex)
        self.alpha_ = choice.alpha
        self.noise_rate_ = choice.noise_rate
        self.objective_history_ = np.array(result.objective_history)
        self.box_objective_history_ = np.array(parts[0].fitted.result.objective_history)
        self.status_ = result.status
        self.n_iter_ = sum(part.fitted.result.n_iter for part in parts) + result.n_iter
        warn_of_early_end(parts[0].fitted.result, self.max_iter)
        warn_of_early_end(result, self.max_iter)
        warn_of_lost_classes(self.weights_, classes, prior, self.classes_)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class: those of the boxes, by affiliation.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import SPAClassifier
        >>> X = np.arange(20.0)[:, None]
        >>> SPAClassifier().fit(X, X[:, 0] > 9).predict_proba([[18.0]]).round(1).tolist()
        [[0.0, 1.0]]
        """
        check_is_fitted(self, "box_labels_")
        values = validate_numbers(self, X, reset=False, dtype=[np.float64, np.float32])

        def predict_block(block: FloatArray) -> FloatArray:
            mixed = self._coverings(block) @ self.box_labels_
            probabilities: FloatArray = mixed / mixed.sum(axis=1, keepdims=True)
            return probabilities

        return MemoryRows(values).map(predict_block).values

    def predict(self, X: ArrayLike) -> Any:
        """Return the most probable class of each row.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import SPAClassifier
        >>> X = np.arange(20.0)[:, None]
        >>> SPAClassifier().fit(X, X[:, 0] > 9).predict([[18.0]]).tolist()
        [True]
        """
        check_is_fitted(self, "box_labels_")
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _open_tables(
        self, values: FloatArray, classes: IntArray, prior: FloatArray
    ) -> dict[Units, LabelledTable]:
        """Return the rows in the units to compare."""
        some = spread_out(len(values), _MOST_ROWS_TO_SCALE)
        columns = bound_columns(values[some], prior[some])
        return {
            units: LabelledTable(
                values,
                self._rotate(columns if units == "equal" else columns.keep_units(), values, prior),
                classes,
                prior,
                len(self.classes_),
            )
            for units in self._list_units(columns)
        }

    def _list_units(self, columns: BoundedColumns) -> tuple[Units, ...]:
        if self.units != "auto":
            return (self.units,)
        lengths = columns.own_units[columns.own_units > 0]
        is_alike = lengths.size > 1 and lengths.max() <= _ALIKE * lengths.min()
        return UNITS if is_alike else ("equal",)

    def _rotate(
        self, columns: BoundedColumns, values: FloatArray, prior: FloatArray
    ) -> BoundedColumns:
        """Rotate the columns if they outnumber the rows and have equal feature weights."""
        if self.epsilon_features not in (None, "auto"):
            return columns
        if values.shape[1] <= np.count_nonzero(prior):
            return columns
        # With equal feature weights only distances matter, and those survive a rotation.
        return columns.rotate(values[prior > 0])

    def _list_candidates(self, tables: dict[Units, LabelledTable]) -> list[SPASettings]:
        """Return the settings to compare, one if nothing is left open."""
        table = next(iter(tables.values()))
        n_rows = int(np.count_nonzero(table.prior))
        is_soft = self.affiliation == "soft"
        soft = _UNIT_TEMPERATURE if self.temperature == "auto" else float(self.temperature)
        learns, few = self.epsilon_features == "auto", self.epsilon_features
        base = SPASettings(
            n_boxes=_FEW_BOXES if self.n_boxes == "auto" else int(self.n_boxes),
            temperature=soft if is_soft else 0.0,
            epsilon_label=float(self.epsilon_label),
            epsilon_features=None if few in (None, "auto") else float(few),
            n_init=int(self.n_init),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        return list_candidates(
            base,
            table.count_distinct(),
            boxes=BOXES if self.n_boxes == "auto" else (),
            epsilons=EPSILONS if learns and table.n_features <= n_rows else (),
            temperatures=TEMPERATURES if self.temperature == "auto" and is_soft else (),
            units=tuple(tables),
        )

    def _summary(self) -> list[tuple[str, str]]:
        return summarise_weights(self)

    def _check_parameters(self) -> None:
        check_whole("n_boxes", self.n_boxes, 1, words=("auto",))
        check_number("epsilon_label", self.epsilon_label, "[0, inf)")
        check_number("epsilon_features", self.epsilon_features, "(0, inf)", words=("auto", None))
        check_choice("units", self.units, ("auto", *UNITS))
        check_alpha(self.alpha)
        check_number("temperature", self.temperature, "(0, inf)", words=("auto",))
        check_whole("n_init", self.n_init, 1)
        check_number("tol", self.tol, "[0, inf)")
        check_whole("max_iter", self.max_iter, 1)
        check_choice("affiliation", self.affiliation, ("soft", "hard"))
        check_choice("simplex", self.simplex, SIMPLEXES)


def _describe(covering: Covering) -> dict[str, Any]:
    """Return what a user may want to know about a covering."""
    settings = covering.settings
    return {
        "n_boxes": covering.n_boxes,
        "epsilon_features": settings.epsilon_features,
        "units": settings.units,
        "temperatures": covering.fitted.temperatures,
        "share": covering.share,
    }


def _average_feature_weights(parts: tuple[Covering, ...], n_features: int) -> FloatArray:
    """Return the feature weights of coverings by their shares; rotated columns are equal."""
    equal = np.full(n_features, 1.0 / n_features)
    weights: FloatArray = np.zeros(n_features)
    for part in parts:
        is_learned = part.settings.epsilon_features is not None
        weights += part.share * (part.fitted.boxes.feature_weights if is_learned else equal)
    return weights


def _find_classes(labels: Any, prior: FloatArray) -> Any:
    """Return the classes of the rows with a prior weight; there must be two."""
    classes = np.unique(np.asarray(labels)[prior > 0])
    if len(classes) < 2:
        raise ValueError(
            "y has one class only among the rows that count: SPAClassifier needs at least two "
            "classes."
        )
    return classes
