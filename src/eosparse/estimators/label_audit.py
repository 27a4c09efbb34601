"""`find_label_issues`: which labels are probably wrong, and what they should be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import is_regressor
from sklearn.utils.validation import _check_y, check_array, check_consistent_length

from eosparse.core import BoolArray, FloatArray, IntArray, check_choice, check_number, check_whole
from eosparse.estimators.classifier import EOSClassifier, LearnedLabels
from eosparse.estimators.label_issues import LabelIssues, make_issue_table
from eosparse.estimators.regressor import EOSRegressor, LearnedTargets
from eosparse.fitting.class_weights import weigh_labelled_rows
from eosparse.fitting.meta_input import (
    check_labels,
    check_one_column,
    check_prior,
    get_last_step,
    select_present_rows,
)
from eosparse.fitting.neighbour_votes import average_probabilities, find_neighbours, pool_votes
from eosparse.fitting.reasons import doubt_targets
from eosparse.fitting.table_learners import LEARNERS, choose_learner, is_outdone, list_learners
from eosparse.fitting.targets import is_regression_target
from eosparse.inference import (
    LabelNoise,
    Promise,
    check_targets,
    estimate_label_noise,
    explain_labels,
    flag_wrong_labels,
    make_monotone,
    promise_labels,
    promise_targets,
)

# The smallest probability of a label: its error is then 6.9.
_SMALLEST_PROBABILITY = 1e-3
# Sums of given probabilities may differ from one by this, as those of single precision do.
_SUM_TOLERANCE = 1e-3
# Folds of the first round, each of which costs a fit to weigh the rows of the second; and the share
# of the second in what both say.
_FIRST_FOLDS, _SHARE_OF_LAST = 2, 0.8
# Rows with less than this part of an equal weight do not tell the range of a target.
_BELIEVED = 0.5


def find_label_issues(
    X: Any,
    y: ArrayLike,
    estimator: Any = None,
    *,
    fdr: float = 0.1,
    task: Literal["auto", "classification", "regression"] = "auto",
    pred_probs: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_neighbors: int = 10,
    n_folds: int = 3,
    random_state: int | None = None,
) -> LabelIssues:
    """Find labels that are probably wrong.

    Every row is judged by a model that did not see it and in which doubtful rows have little
    weight, and by the rows nearest to it.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, in any form that the estimator takes. Without an estimator, data frames may have
        categories, dates and gaps. With `pred_probs`, X may be None.
    y : array-like of shape (n_samples,)
        Labels, or targets of a regression.
    estimator : classifier, regressor, "linear" or "boosted", optional
        An estimator whose fit takes `sample_weight`. By default a linear model or boosted trees,
        whichever predicts held-out labels better; the linear one for sparse matrices.
    fdr : float, default=0.1
        False-discovery rate: the expected share of correct labels among those flagged. See
        `LabelIssues.promise`.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" follows the estimator, or the labels if you pass none: numbers with more than 20
        distinct values are a regression target if they have decimals, or if there is a distinct
        value for more than one in twenty rows. So are numbers with decimals of which more than half
        are distinct. Everything else is classes.
    pred_probs : array-like of shape (n_samples, n_classes), optional
        Class probabilities of each row by a model that did not see it, with a column for each class
        in sorted order. No model is fitted then, and no neighbours are asked.
    groups : array-like of shape (n_samples,), optional
        Rows that belong together, such as those of one patient, are held out together.
    sample_weight : array-like of shape (n_samples,), optional
        Prior weights. Rows of weight zero are left out of the table.
    n_neighbors : int, default=10
        Number of neighbours that are asked about a label, if X has numbers or categories; 0 for
        none. A regression asks none.
    n_folds : int, default=3
        Number of folds.
    random_state : int or None, default=None
        For the folds. None stands for 0, so that an audit can always be repeated.

    Returns
    -------
    LabelIssues

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import find_label_issues
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(X[:, 0] > 0, "left", "right")
    >>> X[:, 0] += np.sign(X[:, 0])
    >>> y[7] = "left" if y[7] == "right" else "right"
    >>> issues = find_label_issues(X, y)
    >>> int(issues.table["row"].iloc[0])
    7
    """
    fdr = check_number("fdr", fdr, "(0, 1)")
    check_choice("task", task, ("auto", "classification", "regression"))
    check_whole("n_neighbors", n_neighbors, 0)
    labels = check_one_column(y)
    if pred_probs is not None:
        judged = _take_probabilities(labels, pred_probs, sample_weight, task, estimator)
        return _report_labels(X, y, judged, fdr, "pred_probs", lambda: None)
    is_regression = _is_regression(task, estimator, labels)
    learner = _find_learner(estimator, X, labels, sample_weight, groups, is_regression)
    options: dict[str, Any] = {
        "out_of_fold": True,
        "n_folds": n_folds,
        "random_state": random_state,
    }
    if is_regression:
        start: Literal["plain", "robust"] = "plain" if learner.name == "boosted" else "robust"
        regressor = EOSRegressor(learner.estimator, start=start, **options)
        targets = regressor._learn(X, labels, sample_weight, groups)
        return _report_targets(X, y, targets, fdr, learner.name, partial(regressor._keep, targets))
    classifier = EOSClassifier(learner.estimator, **options)
    found = classifier._learn(X, labels, sample_weight, groups, n_first_folds=_FIRST_FOLDS)
    judged = _judge(found, n_neighbors, learner.is_compared)
    return _report_labels(X, y, judged, fdr, learner.name, partial(classifier._keep, found))


@dataclass(frozen=True)
class _Learner:
    """An estimator, its name, and whether it was found to be better than boosted trees."""

    name: str
    estimator: Any
    is_compared: bool


def _find_learner(
    estimator: Any, X: Any, labels: Any, sample_weight: Any, groups: Any, is_regression: bool
) -> _Learner:
    """Return the estimator, or one for tables: the one that was named, or the better one."""
    if estimator is not None and not isinstance(estimator, str):
        return _Learner(type(get_last_step(estimator)).__name__, estimator, is_compared=False)
    if estimator is not None:
        check_choice("estimator", estimator, ("auto", *LEARNERS))
    outer = EOSRegressor() if is_regression else EOSClassifier()
    labels = (
        _check_y(labels, y_numeric=True, estimator=outer)
        if is_regression
        else check_labels(outer, labels)
    )
    anything = list_learners(X, is_regression)
    rows = select_present_rows(outer, anything["linear"], X, labels, sample_weight, groups)
    present = labels[rows.numbers]
    if estimator in LEARNERS or len(np.unique(present)) < 2:
        name = "linear" if estimator is None else estimator
        if name not in anything:
            raise ValueError(
                "estimator='boosted' takes no sparse matrices. Use 'linear', or pass X.toarray()."
            )
        return _Learner(name, anything[name], is_compared=name == "boosted")
    chosen, best = choose_learner(
        rows.X, present, rows.prior, rows.groups, is_regression=is_regression
    )
    return _Learner(chosen, best, is_compared=True)


def _is_regression(task: str, estimator: Any, labels: Any) -> bool:
    if task != "auto":
        return task == "regression"
    if estimator is not None and not isinstance(estimator, str):
        return bool(is_regressor(estimator))
    if is_regression_target(labels):
        return True
    if labels.dtype.kind == "f" and (labels[np.isfinite(labels)] % 1 != 0).any():
        raise ValueError(
            f"y holds numbers with decimals, but only {len(np.unique(labels))} distinct ones. Pass "
            "task='regression', or pass the labels as text if they are classes."
        )
    return False


@dataclass(frozen=True)
class _Judged:
    """Rows that count, and what held-out probabilities say about their labels.

    `asked` has what is needed to ask another learner: the rows and their folds. `votes` has the
    shares of the classes among the nearest rows.
    """

    rows: IntArray
    classes: IntArray
    names: NDArray[Any]
    prior: FloatArray
    probabilities: FloatArray
    weights: FloatArray
    noise: LabelNoise
    asked: tuple[Any, IntArray] | None
    votes: FloatArray | None = None

    @property
    def own(self) -> FloatArray:
        """Probability of the given label."""
        return np.asarray(self.probabilities[np.arange(len(self.classes)), self.classes])


def _judge(found: LearnedLabels, n_neighbors: int, is_compared: bool) -> _Judged:
    """Return what the learner, unweighted and weighted, and the nearest rows say together."""
    problem, learned, noise = found.problem, found.learned, found.noise
    classes = problem.classes
    # Weights make wrong labels plain, and chance too: a mean of both rounds ranks best.
    probabilities = average_probabilities(
        learned.first.probabilities, learned.last.probabilities, _SHARE_OF_LAST
    )
    folds = np.zeros(len(classes), dtype=np.intp) if learned.folds is None else learned.folds
    neighbours, votes = find_neighbours(problem.X, folds, n_neighbors), None
    if neighbours is not None:
        votes = neighbours.vote(classes, problem.prior, len(problem.names))
        weigh = partial(_weigh, noise.gap, problem.prior, classes)
        probabilities = pool_votes(probabilities, classes, problem.prior, neighbours, weigh)
    return _Judged(
        found.rows.numbers, classes, problem.names, problem.prior, probabilities, learned.weights,
        noise, None if is_compared else (problem.X, folds), votes,
    )  # fmt: skip


def _weigh(
    alpha: float, prior: FloatArray, classes: IntArray, probabilities: FloatArray
) -> FloatArray:
    own = probabilities[np.arange(len(classes)), classes]
    errors = -np.log(np.maximum(own, _SMALLEST_PROBABILITY))
    return weigh_labelled_rows(errors, alpha, prior, classes, "per-class")


def _take_probabilities(
    labels: Any, pred_probs: ArrayLike, sample_weight: Any, task: str, estimator: Any
) -> _Judged:
    """Check probabilities that were given, and return what they say about the labels."""
    if task == "regression" or estimator is not None:
        what = "an estimator" if estimator is not None else "task='regression'"
        raise ValueError(f"pred_probs are class probabilities: do not pass {what} as well.")
    labels = check_labels(EOSClassifier(), labels)
    probabilities = check_array(pred_probs, dtype=np.float64, input_name="pred_probs")
    check_consistent_length(labels, probabilities)
    prior = check_prior(sample_weight, probabilities)
    rows = np.flatnonzero(prior > 0)
    names, classes = np.unique(labels[rows], return_inverse=True)
    if probabilities.shape[1] != len(names):
        raise ValueError(
            f"pred_probs has {probabilities.shape[1]} columns, but y has {len(names)} classes: "
            f"{', '.join(map(repr, names.tolist()[:10]))}. Pass one column per class, in this "
            "order."
        )
    sums = probabilities.sum(axis=1)
    bad = np.flatnonzero((np.abs(sums - 1) > _SUM_TOLERANCE) | (probabilities.min(axis=1) < 0))
    if len(bad):
        raise ValueError(
            f"pred_probs must hold probabilities, but row {bad[0]} holds "
            f"{probabilities[bad[0]].tolist()}."
        )
    mass, present = prior[rows], probabilities[rows]
    noise = estimate_label_noise(present, classes, mass)
    weights = _weigh(noise.gap, mass, classes, present)
    return _Judged(rows, classes, names, mass, present, weights, noise, None)


def _report_labels(
    X: Any, y: Any, judged: _Judged, fdr: float, learner: str, model: Any
) -> LabelIssues:
    suspicion = 1.0 - judged.own
    explained = explain_labels(judged.probabilities, judged.classes, judged.noise.matrix)
    chances = make_monotone(suspicion, explained.chances)
    given = judged.names[judged.classes]
    suggested = judged.names[judged.probabilities.argmax(axis=1)]
    is_issue = _flag(suspicion, chances, fdr) & (given != suggested)
    columns = {
        "given": given,
        "suggested": suggested,
        "weight": _scale(judged.weights),
        "probability_wrong": chances,
    }
    table = make_issue_table(X, y, judged.rows, columns, is_issue, suspicion)
    rates = dict(zip(judged.names.tolist(), judged.noise.class_rates.tolist(), strict=True))
    promise = partial(_promise_labels, judged, is_issue, fdr, explained.sharpness)
    return LabelIssues(table, rates, judged.names, learner, promise, model)


def _promise_labels(judged: _Judged, is_issue: BoolArray, fdr: float, sharpness: float) -> Promise:
    classes, prior = judged.classes, judged.prior
    promise = promise_labels(
        judged.probabilities, classes, prior, is_issue, judged.votes, fdr=fdr, sharpness=sharpness
    )
    if not promise or judged.asked is None:
        return promise
    X, folds = judged.asked
    if not is_outdone(X, classes, prior, folds, judged.probabilities):
        return promise
    return Promise(
        False,
        "boosted trees predict the labels better than this learner, whose errors may look like "
        "wrong labels",
    )


def _flag(suspicion: FloatArray, chances: FloatArray, fdr: float) -> BoolArray:
    """Flag the most suspicious labels; callers leave out those that the model agrees with."""
    order = np.argsort(-suspicion, kind="stable")
    is_issue: BoolArray = np.zeros(len(order), dtype=np.bool_)
    is_issue[order] = flag_wrong_labels(chances[order], fdr)
    return is_issue


def _scale(weights: FloatArray) -> FloatArray:
    """Return weights that are 1 on average."""
    return np.asarray(weights * len(weights) / weights.sum())


def _report_targets(
    X: Any, y: Any, found: LearnedTargets, fdr: float, learner: str, model: Any
) -> LabelIssues:
    given, weights = found.problem.y, _scale(found.learned.weights)
    # A linear model may predict what no row has, such as a price below zero.
    believed = given[weights >= _BELIEVED]
    suggested = np.clip(found.learned.last.predictions, believed.min(), believed.max())
    deviations = (given - suggested) / found.scale
    suspicion = np.abs(deviations)
    chances = _estimate_chances(deviations, found.noise_rate)
    is_issue = _flag(suspicion, chances, fdr) & (given != suggested)
    columns = {
        "given": given,
        "suggested": suggested,
        "weight": weights,
        "probability_wrong": chances,
    }
    table = make_issue_table(X, y, found.rows.numbers, columns, is_issue, suspicion)
    check = check_targets(deviations, found.problem.prior, is_issue)
    promise = partial(doubt_targets, promise_targets(check), check)
    return LabelIssues(table, {"all": found.noise_rate}, None, learner, promise, model)


def _estimate_chances(deviations: FloatArray, rate: float) -> FloatArray:
    """Return the chance that each row is wrong.

    Right rows are Gaussian; wrong ones are spread evenly over the range of the deviations.
    """
    even = 1.0 / (2.0 * max(float(np.abs(deviations).max()), 1.0))
    share = max(rate, 1.0 / (2 * len(deviations)))  # half a row: a single one can be found
    wrong = share * even
    chances: FloatArray = wrong / (wrong + (1 - share) * norm.pdf(deviations))
    # Within one standard deviation, where most right rows are, no row is wrong.
    return np.where(np.abs(deviations) < 1.0, 0.0, chances)
