"""`find_label_issues`: which labels are wrong, how sure, and what they should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import is_regressor
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from eosparse.core import BoolArray, FloatArray, IntArray, check_choice, check_number
from eosparse.estimators.classifier import EOSClassifier
from eosparse.estimators.regressor import EOSRegressor
from eosparse.inference import explain_labels, most_likely_wrong, rising_with

COLUMNS = ("row", "given", "suggested", "weight", "probability_wrong", "is_issue")


@dataclass(frozen=True)
class LabelIssues:
    """The outcome of an audit.

    Attributes
    ----------
    table : DataFrame
        One line per row, most suspicious first: row number, given and suggested label, weight
        (1 on average), probability that the label is wrong, and whether it is flagged. A pandas
        frame for arrays and pandas, a polars frame for polars.
    noise_rates : dict
        Estimated share of wrong labels among the rows given each class; for a regression target
        under the key "all".
    model : EOSClassifier or EOSRegressor
        The fitted model, freed of the doubtful rows.
    """

    table: Any
    noise_rates: dict[Any, float]
    model: EOSClassifier | EOSRegressor

    @property
    def n_issues(self) -> int:
        """Number of rows flagged."""
        return int(np.count_nonzero(np.asarray(self.table["is_issue"])))


def find_label_issues(
    X: Any,
    y: ArrayLike,
    estimator: Any = None,
    *,
    fdr: float = 0.1,
    task: Literal["auto", "classification", "regression"] = "auto",
    sample_weight: ArrayLike | None = None,
    n_folds: int = 5,
    random_state: int | None = None,
) -> LabelIssues:
    """Find labels that are probably wrong.

    Every row is judged by a model that did not see it and in which doubtful rows have little
    weight.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Whatever the estimator takes.
    y : array-like of shape (n_samples,)
        Labels, or targets of a regression.
    estimator : classifier or regressor, optional
        Takes `sample_weight`; logistic or linear regression by default.
    fdr : float, default=0.1
        Wanted share of right labels among those flagged.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" follows the estimator, or, without one, the labels: numbers with decimals are a
        regression target.
    sample_weight : array-like of shape (n_samples,), optional
        Prior weights; rows of weight zero are left out of the table.
    n_folds : int, default=5
        Number of folds.
    random_state : int or None, default=None
        For the folds.

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
    check_number("fdr", fdr, "(0, 1)")
    check_choice("task", task, ("auto", "classification", "regression"))
    options: dict[str, Any] = {
        "out_of_fold": True,
        "n_folds": n_folds,
        "random_state": random_state,
    }
    y = column_or_1d(y)
    if _is_regression(task, estimator, y):
        regressor = EOSRegressor(estimator, **options).fit(X, y, sample_weight)
        return _target_issues(X, y, regressor, fdr)
    classifier = EOSClassifier(estimator, **options).fit(X, y, sample_weight)
    return _class_issues(X, y, classifier, fdr)


def _is_regression(task: str, estimator: Any, y: ArrayLike) -> bool:
    if task != "auto":
        return task == "regression"
    if estimator is not None:
        return bool(is_regressor(estimator))
    return str(type_of_target(np.asarray(y))).startswith("continuous")


def _class_issues(X: Any, y: ArrayLike, model: EOSClassifier, fdr: float) -> LabelIssues:
    rows = np.flatnonzero(~np.isnan(model.errors_))
    given = np.asarray(y)[rows]
    classes = np.searchsorted(model.classes_, given)
    probabilities = model.probabilities_[rows]
    own = probabilities[np.arange(len(rows)), classes]
    others = np.where(np.eye(len(model.classes_), dtype=bool)[classes], -1.0, probabilities)
    doubt = others.max(axis=1) - own
    chances = rising_with(
        doubt, explain_labels(probabilities, classes, model.noise_matrix_).chances
    )
    suggested = model.classes_[probabilities.argmax(axis=1)]
    table = _table(X, rows, given, suggested, model.weights_, doubt, chances, fdr)
    rates = dict(zip(model.classes_.tolist(), model.class_noise_rates_.tolist(), strict=True))
    return LabelIssues(table, rates, model)


def _target_issues(X: Any, y: ArrayLike, model: EOSRegressor, fdr: float) -> LabelIssues:
    rows = np.flatnonzero(~np.isnan(model.errors_))
    given = np.asarray(y, dtype=np.float64)[rows]
    suggested = model.predictions_[rows]
    deviations = (given - suggested) / model.scale_
    chances = _outlying(deviations, model.noise_rate_)
    table = _table(X, rows, given, suggested, model.weights_, np.abs(deviations), chances, fdr)
    return LabelIssues(table, {"all": model.noise_rate_}, model)


def _outlying(deviations: FloatArray, rate: float) -> FloatArray:
    """Chance that each row is not Gaussian, if the others are spread evenly over the range."""
    even = 1.0 / (2.0 * max(float(np.abs(deviations).max()), 1.0))
    share = max(rate, 1.0 / (2 * len(deviations)))
    wrong = share * even
    chances: FloatArray = wrong / (wrong + (1 - share) * norm.pdf(deviations))
    # A row closer than most is not the wrong one, however rare wrong rows are.
    return np.where(np.abs(deviations) < 1.0, 0.0, chances)


def _table(
    X: Any,
    rows: IntArray,
    given: Any,
    suggested: Any,
    weights: FloatArray,
    doubt: FloatArray,
    chances: FloatArray,
    fdr: float,
) -> Any:
    order = np.argsort(-doubt, kind="stable")
    is_issue: BoolArray = np.zeros(len(rows), dtype=np.bool_)
    is_issue[order] = most_likely_wrong(chances[order], fdr)
    # The last of the rows that the rate allows may be one that the model agrees with.
    is_issue &= given != suggested
    columns = (
        rows,
        given,
        suggested,
        weights[rows] * len(rows) / weights.sum(),
        chances,
        is_issue,
    )
    return _frame(X, {name: values[order] for name, values in zip(COLUMNS, columns, strict=True)})


def _frame(X: Any, columns: dict[str, Any]) -> Any:
    """Make a frame of the kind that X is."""
    library = type(X).__module__.partition(".")[0]
    try:
        if library == "polars":
            import polars as frames
        else:
            import pandas as frames  # type: ignore[no-redef]
    except ImportError as error:
        raise ImportError(
            "find_label_issues returns a data frame: pip install 'eosparse[frames]'."
        ) from error
    return frames.DataFrame(columns)
