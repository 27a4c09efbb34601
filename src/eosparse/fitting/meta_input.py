"""Input of estimators that wrap others: checked, but left as the inner estimator expects it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from eosparse.core import FloatArray, IntArray
from eosparse.fitting.given_arrays import (
    check_mass,
    check_objects,
    check_range,
    check_whole_numbers,
    fill_mask,
    refuse_mask,
)
from eosparse.rows import collect_rows


@dataclass(frozen=True)
class PresentRows:
    """The rows that have a prior weight, and their places among all rows.

    Attributes
    ----------
    X : array-like of shape (n_present, n_features)
        The rows.
    prior : array of shape (n_present,)
        Their prior weights.
    numbers : array of shape (n_present,)
        Their places among all rows.
    n_rows : int
        Number of all rows.
    groups : array of shape (n_present,) or None
        Their groups as numbers, if there are groups.
    """

    X: Any
    prior: FloatArray
    numbers: IntArray
    n_rows: int
    groups: IntArray | None = None

    def scatter(self, values: FloatArray, otherwise: float) -> FloatArray:
        """Put one value per present row in its place among all rows.

        Examples
        --------
        >>> import numpy as np
        >>> rows = PresentRows(np.eye(2), np.ones(2), np.array([0, 2]), 3)
        >>> rows.scatter(np.array([0.5, 0.7]), otherwise=0.0).tolist()
        [0.5, 0.0, 0.7]
        """
        placed = np.full((self.n_rows, *values.shape[1:]), otherwise)
        placed[self.numbers] = values
        return placed


def select_present_rows(
    outer: Any,
    inner: Any,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None = None,
) -> PresentRows:
    """Check rows, prior weights and groups, and leave out the rows without weight.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from eosparse import EOSRegressor
    >>> rows = select_present_rows(EOSRegressor(), Ridge(), [[1.0], [2.0]], [0, 1], [1, 0])
    >>> rows.X.tolist(), rows.numbers.tolist()
    ([[1.0]], [0])
    """
    X = check_rows(outer, X, inner, reset=True)
    for check in (check_objects, check_whole_numbers, check_range):
        check(X)
    check_consistent_length(X, y)
    prior = check_prior(sample_weight, X)
    numbers = np.flatnonzero(prior > 0)
    present = X if len(numbers) == len(prior) else take_rows(X, numbers)
    together = None if groups is None else _check_groups(groups, X)[numbers]
    return PresentRows(present, prior[numbers], numbers, len(prior), together)


def _check_groups(groups: ArrayLike, X: Any) -> IntArray:
    """Return the group of each row as a number."""
    names = column_or_1d(groups)
    check_consistent_length(X, names)
    missing = np.flatnonzero([_is_missing(name) for name in names.tolist()])
    if len(missing):
        raise ValueError(
            f"groups contains NaN or None, first in row {missing[0]}. Give each row without a "
            "group one of its own."
        )
    _, numbers = np.unique(names, return_inverse=True)
    return numbers.astype(np.intp)


def check_rows(outer: Any, X: Any, inner: Any, *, reset: bool) -> Any:
    """Return X as an array, or as it is if it is a data frame or text.

    Parameters
    ----------
    outer, inner : estimator
        The estimator that is called, and the one it wraps.
    X : array-like of shape (n_samples, n_features)
        Rows.
    reset : bool
        Whether to store the number and names of the columns, as `fit` does, or to check them.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from eosparse import EOSRegressor
    >>> check_rows(EOSRegressor(), [[1.0], [2.0]], Ridge(), reset=True).shape
    (2, 1)
    """
    X = collect_rows(X)
    if reset and _num_samples(X) < 2:
        raise ValueError(f"n_samples={_num_samples(X)}: at least two rows are needed.")
    if not get_tags(_get_first_step(inner)).input_tags.two_d_array:
        return X  # text, one string per row
    if hasattr(X, "columns"):
        validate_data(outer, X, reset=reset, skip_check_array=True)
        return X
    tags = get_tags(inner).input_tags
    checked = validate_data(
        outer,
        fill_mask(X),
        reset=reset,
        accept_sparse=["csr", "csc"] if tags.sparse else False,
        dtype=None,
        ensure_all_finite=False,  # the inner estimator may accept missing values
    )
    return _widen(checked)


def _widen(X: Any) -> Any:
    """Return numbers of half or extended precision in double; raise for dates."""
    kind = getattr(X, "dtype", np.dtype(np.float64))
    if kind.kind in "mM":
        raise ValueError("X holds dates or durations. Convert them to numbers, such as days.")
    is_other = kind.kind == "f" and kind not in (np.dtype(np.float32), np.dtype(np.float64))
    return X.astype(np.float64) if is_other else X


def check_prior(sample_weight: ArrayLike | None, X: Any) -> FloatArray:
    """Return the prior weights of the rows, as numbers of rows.

    Weights that sum to less than the number of rows they are given to are taken as relative.

    Examples
    --------
    >>> check_prior([0.5, 0.25, 0.25], [[1], [2], [3]]).tolist()
    [1.5, 0.75, 0.75]
    >>> check_prior([2, 0, 1], [[1], [2], [3]]).tolist()
    [2.0, 0.0, 1.0]
    """
    given = refuse_mask("sample_weight", sample_weight)
    prior: FloatArray = _check_sample_weight(
        given, np.empty((_num_samples(X), 1)), dtype=np.float64, ensure_non_negative=True
    )
    check_mass(float(prior.sum()))
    n_present = np.count_nonzero(prior)
    return prior * (n_present / prior.sum()) if prior.sum() < n_present else prior


def check_target_is_given(estimator: Any, y: Any) -> None:
    """Raise if y is None, in the words that scikit-learn expects.

    Examples
    --------
    >>> from eosparse import EOSClassifier
    >>> check_target_is_given(EOSClassifier(), [0, 1])
    """
    if y is None:
        name = estimator.__class__.__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    refuse_mask("y", y)


def check_one_column(y: Any, *, warn: bool = False) -> Any:
    """Return labels or targets as a flat array; several columns of them are refused.

    With `warn`, one column that is not flat gets scikit-learn's warning.

    Examples
    --------
    >>> check_one_column([1, 2]).tolist()
    [1, 2]
    >>> check_one_column([[1, 2], [3, 4]])
    Traceback (most recent call last):
    ValueError: y should be a 1d array, got an array of shape (2, 2) instead: it has 2 columns. ...
    """
    shape = np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {shape} instead: it has {shape[1]} "
            "columns. Pass one column of labels or targets at a time."
        )
    return column_or_1d(y, warn=warn)


def check_labels(estimator: Any, y: Any) -> Any:
    """Return class labels as an array; missing and infinite ones are named by their row.

    Examples
    --------
    >>> from eosparse import EOSClassifier
    >>> check_labels(EOSClassifier(), ["a", "b"]).tolist()
    ['a', 'b']
    >>> check_labels(EOSClassifier(), ["a", None])
    Traceback (most recent call last):
    ValueError: Input y contains NaN or None, first in row 1: a label is missing. Leave out the ...
    """
    check_target_is_given(estimator, y)
    labels = check_one_column(y, warn=True)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        row = np.flatnonzero(np.isinf(labels))[0]
        raise ValueError(f"Input y contains infinity, first in row {row}.")
    missing = np.flatnonzero([_is_missing(label) for label in labels.ravel().tolist()])
    if len(missing):
        raise ValueError(
            f"Input y contains NaN or None, first in row {missing[0]}: a label is missing. Leave "
            "out the rows without a label."
        )
    check_classification_targets(labels)
    return labels


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array, a data frame or a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> take_rows(np.array([[1], [2], [3]]), np.array([0, 2])).tolist()
    [[1], [3]]
    """
    # The usual case needs none of the checks that tell kinds of tables apart.
    return X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)


def get_last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline or of a fitted search, or the estimator itself.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> get_last_step(make_pipeline(StandardScaler(), Ridge()))
    Ridge()
    """
    if isinstance(estimator, Pipeline):
        return get_last_step(estimator.steps[-1][1])
    best = getattr(estimator, "best_estimator_", None)
    return estimator if best is None else get_last_step(best)


def _get_first_step(estimator: Any) -> Any:
    """Return the step that sees the rows first."""
    if isinstance(estimator, Pipeline):
        return _get_first_step(estimator.steps[0][1])
    is_search = hasattr(estimator, "cv") and hasattr(estimator, "estimator")
    return _get_first_step(estimator.estimator) if is_search else estimator


def _is_missing(label: object) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True  # pandas' NA has no truth value
