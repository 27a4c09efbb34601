"""`LabelIssues`: what is said about the labels of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.estimators.classifier import EOSClassifier
from eosparse.estimators.regressor import EOSRegressor
from eosparse.inference import Promise


@dataclass(frozen=True)
class LabelIssues:
    """The result of `find_label_issues`.

    Attributes
    ----------
    table : DataFrame
        One line per row, most suspicious first: `row` (its number), `given` and `suggested` label,
        `weight` (1 on average), `probability_wrong`, and `is_issue`, whether the label is flagged.
        A polars frame if X is one, else a pandas frame, with the index of X if it has one.
    noise_rates : dict
        Estimated share of wrong labels among the rows given each class; for a regression target
        under the key "all".
    classes : ndarray of shape (n_classes,) or None
        The classes; None for a regression target.
    learner : str
        What the labels were predicted by: "linear" or "boosted", the name of the class of your
        estimator, or "pred_probs".

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
    classes: Any
    learner: str
    _promise: Callable[[], Promise] = field(repr=False)
    _model: Callable[[], EOSClassifier | EOSRegressor | None] = field(repr=False)

    @property
    def n_issues(self) -> int:
        """Number of labels flagged."""
        return int(np.count_nonzero(np.asarray(self.table["is_issue"])))

    @property
    def is_regression(self) -> bool:
        """Whether the labels are numbers to predict."""
        return self.classes is None

    @cached_property
    def promise(self) -> Promise:
        """Whether the false-discovery rate can be promised; true or false, with a `reason`.

        Found when you first ask for it, because other learners may have to be asked too.
        """
        return self._promise()

    @cached_property
    def model(self) -> EOSClassifier | EOSRegressor | None:
        """The model in which doubtful rows have little weight; None with `pred_probs`.

        Fitted to all rows when you first ask for it.
        """
        return self._model()


def make_issue_table(
    X: Any,
    y: Any,
    rows: IntArray,
    columns: dict[str, Any],
    is_issue: BoolArray,
    suspicion: FloatArray,
) -> Any:
    """Return a data frame of all rows, most suspicious first, in the library of X or y."""
    order = np.argsort(-suspicion, kind="stable")
    cells = {"row": rows, **columns, "is_issue": is_issue}
    ordered = {name: values[order] for name, values in cells.items()}
    index = next((part.index for part in (X, y) if _has_index(part)), None)
    if _is_of(X, "polars") or _is_of(y, "polars"):
        return _import_frames("polars").DataFrame(ordered)
    frames = _import_frames("pandas")
    return frames.DataFrame(ordered, index=None if index is None else index[rows[order]])


def _is_of(part: Any, library: str) -> bool:
    return type(part).__module__.partition(".")[0] == library


def _has_index(part: Any) -> bool:
    return _is_of(part, "pandas") and hasattr(part, "index")


def _import_frames(library: str) -> Any:
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError as error:
        raise ImportError(
            "find_label_issues returns a data frame: pip install 'eosparse[frames]'."
        ) from error
