"""`find_label_issues`: which labels are probably wrong, and what they should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import is_regressor
from sklearn.utils.validation import column_or_1d

from eosparse.core import BoolArray, FloatArray, IntArray, check_choice, check_number
from eosparse.estimators.classifier import EOSClassifier
from eosparse.estimators.regressor import EOSRegressor
from eosparse.fitting.targets import is_regression_target
from eosparse.inference import explain_labels, flag_wrong_labels, make_monotone

_COLUMNS = ("row", "given", "suggested", "weight", "probability_wrong", "is_issue")


@dataclass(frozen=True)
class LabelIssues:
    """The result of `find_label_issues`.

    Attributes
    ----------
    table : DataFrame
        One line per row, most suspicious first: `row` (its number), `given` and `suggested` label,
        `weight` (1 on average), `probability_wrong`, and `is_issue`, whether the label is flagged.
        A polars frame if X is one, else a pandas frame.
    noise_rates : dict
        Estimated share of wrong labels among the rows given each class; for a regression target
        under the key "all".
    model : EOSClassifier or EOSRegressor
        The fitted model, in which doubtful rows have little weight.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import find_label_issues
    >>> X = np.arange(40.0)[:, None]
    >>> issues = find_label_issues(X, X[:, 0] > 19)
    >>> issues.n_issues, issues.is_regression
    (0, False)
    """

    table: Any
    noise_rates: dict[Any, float]
    model: EOSClassifier | EOSRegressor

    @property
    def n_issues(self) -> int:
        """Number of labels flagged."""
        return int(np.count_nonzero(np.asarray(self.table["is_issue"])))

    @property
    def is_regression(self) -> bool:
        """Whether the labels are numbers to predict."""
        return bool(is_regressor(self.model))


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
        Rows, in any form that the estimator takes.
    y : array-like of shape (n_samples,)
        Labels, or targets of a regression.
    estimator : classifier or regressor, optional
        An estimator whose fit takes `sample_weight`. By default logistic regression on standardised
        columns, or linear regression.
    fdr : float, default=0.1
        False-discovery rate: the expected share of correct labels among those flagged.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" follows the estimator, or the labels if you pass none: numbers with more than 20
        distinct values are a regression target if they have decimals, or if there is a distinct
        value for more than one in twenty rows. So are numbers with decimals of which more than half
        are distinct. Everything else is classes.
    sample_weight : array-like of shape (n_samples,), optional
        Prior weights. Rows of weight zero are left out of the table.
    n_folds : int, default=5
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
    labels = column_or_1d(y)
    options: dict[str, Any] = {
        "out_of_fold": True,
        "n_folds": n_folds,
        "random_state": random_state,
    }
    if _is_regression(task, estimator, labels):
        regressor = EOSRegressor(estimator, **options).fit(X, labels, sample_weight)
        return _judge_targets(X, labels, regressor, fdr)
    classifier = EOSClassifier(estimator, **options).fit(X, labels, sample_weight)
    return _judge_labels(X, labels, classifier, fdr)


def _is_regression(task: str, estimator: Any, labels: Any) -> bool:
    if task != "auto":
        return task == "regression"
    if estimator is not None:
        return bool(is_regressor(estimator))
    if is_regression_target(labels):
        return True
    if labels.dtype.kind == "f" and (labels[np.isfinite(labels)] % 1 != 0).any():
        raise ValueError(
            f"y holds numbers with decimals, but only {len(np.unique(labels))} distinct ones. Pass "
            "task='regression', or pass the labels as text if they are classes."
        )
    return False


def _judge_labels(X: Any, labels: Any, model: EOSClassifier, fdr: float) -> LabelIssues:
    rows = np.flatnonzero(~np.isnan(model.errors_))
    given = labels[rows]
    classes = np.searchsorted(model.classes_, given)
    probabilities = model.probabilities_[rows]
    own = probabilities[np.arange(len(rows)), classes]
    others = np.where(np.eye(len(model.classes_), dtype=bool)[classes], -1.0, probabilities)
    doubt = others.max(axis=1) - own
    chances = make_monotone(
        doubt, explain_labels(probabilities, classes, model.noise_matrix_).chances
    )
    suggested = model.classes_[probabilities.argmax(axis=1)]
    table = _make_table(X, rows, given, suggested, model.weights_, doubt, chances, fdr)
    rates = dict(zip(model.classes_.tolist(), model.class_noise_rates_.tolist(), strict=True))
    return LabelIssues(table, rates, model)


def _judge_targets(X: Any, targets: Any, model: EOSRegressor, fdr: float) -> LabelIssues:
    rows = np.flatnonzero(~np.isnan(model.errors_))
    given = np.asarray(targets, dtype=np.float64)[rows]
    suggested = model.predictions_[rows]
    deviations = (given - suggested) / model.scale_
    chances = _estimate_chances(deviations, model.noise_rate_)
    table = _make_table(X, rows, given, suggested, model.weights_, np.abs(deviations), chances, fdr)
    return LabelIssues(table, {"all": model.noise_rate_}, model)


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


def _make_table(
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
    is_issue[order] = flag_wrong_labels(chances[order], fdr)
    # The last rows that the rate allows may be ones that the model agrees with.
    is_issue &= given != suggested
    columns = (
        rows,
        given,
        suggested,
        weights[rows] * len(rows) / weights.sum(),
        chances,
        is_issue,
    )
    return _make_frame(
        X, {name: values[order] for name, values in zip(_COLUMNS, columns, strict=True)}
    )


def _make_frame(X: Any, columns: dict[str, Any]) -> Any:
    """Make a polars frame if X is one, else a pandas frame."""
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
