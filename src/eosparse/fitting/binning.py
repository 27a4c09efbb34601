"""Columns in bins, for learners that put them into bins anyway.

scikit-learn's histogram boosting sorts the values of each column into at most 255 bins of equal
weight. With unequal weights that takes it ten times as long as the rest of a fit. Columns with no
more values than bins need no weights, so the columns are put into bins of equal size once, for all
folds and all weights. Trees only compare values: which numbers stand for the bins does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from eosparse.core import FloatArray

_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def bin_columns(estimator: Any, X: Any) -> Any:
    """Return the columns in bins if the estimator is histogram boosting, else X as it is.

    Columns that were declared to be categories stay as they are, and so do data frames.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[0.1], [0.2], [7.0], [np.nan]])
    >>> bin_columns(HistGradientBoostingClassifier(max_bins=2), X).tolist()
    [[0.0], [0.0], [1.0], [nan]]
    >>> bin_columns(LogisticRegression(), X) is X
    True
    """
    if not isinstance(estimator, _BOOSTING) or not isinstance(X, np.ndarray):
        return X
    if X.dtype.kind not in "iuf" or not _is_all_numbers(estimator.categorical_features):
        return X
    columns = (_bin_column(column, estimator.max_bins) for column in X.T.astype(np.float64))
    return np.column_stack(list(columns))


def _is_all_numbers(categorical: Any) -> bool:
    """Whether no column is a category; in arrays, types declare none."""
    return categorical is None or isinstance(categorical, str)


def _bin_column(column: FloatArray, n_bins: int) -> FloatArray:
    there = column[~np.isnan(column)]
    if len(np.unique(there)) <= n_bins:
        return column
    shares = np.linspace(0, 1, n_bins + 1)[1:-1]
    edges = np.unique(np.quantile(there, shares, method="averaged_inverted_cdf"))
    binned = np.searchsorted(edges, column).astype(np.float64)
    return np.where(np.isnan(column), np.nan, binned)
