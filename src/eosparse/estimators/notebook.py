"""The summary of a fitted estimator in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np


class SummaryMixin:
    """Put a short summary above scikit-learn's diagram of a fitted estimator.

    List it before `BaseEstimator` among the bases, and define `_summary`.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> "<th" in EOSRegressor()._repr_html_()
    False
    >>> "alpha</th>" in EOSRegressor().fit(X, 2 * X[:, 0])._repr_html_()
    True
    """

    def _summary(self) -> list[tuple[str, str]]:
        """Return names and values to show; an empty list before the fit."""
        raise NotImplementedError

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()  # type: ignore[misc]
        summary = self._summary()
        if not summary:
            return diagram
        lines = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in summary
        )
        return f"<table>{lines}</table>{diagram}"


def summarise_weights(estimator: Any) -> list[tuple[str, str]]:
    """Return how many rows lost most of their weight; nothing before the fit.

    Examples
    --------
    >>> from eosparse import EOSRegressor
    >>> summarise_weights(EOSRegressor())
    []
    """
    weights = getattr(estimator, "weights_", None)
    if weights is None:
        return []
    low = int((weights * len(weights) < 0.5 * weights.sum()).sum())
    return [
        ("rows", f"{len(weights):,}, of which {low:,} have less than half of an equal weight"),
        ("alpha", f"{estimator.alpha_:.4g}"),
    ]


def summarise_flags(estimator: Any) -> list[tuple[str, str]]:
    """Return how many rows are flagged; nothing before the fit.

    Examples
    --------
    >>> from eosparse import EOSDetector
    >>> summarise_flags(EOSDetector())
    []
    """
    if not hasattr(estimator, "offset_"):
        return []
    size = f"{estimator._judge.fit.n_rows:,.0f} rows, {estimator.n_features_in_} columns"
    status = str(estimator.status_)
    shown = [("table", size), ("alpha", f"{estimator.alpha_:.4g}"), ("status", status)]
    is_outlier = getattr(estimator, "is_outlier_", None)  # not kept for rows on disk
    if isinstance(is_outlier, np.ndarray):
        shown.insert(1, ("outliers", f"{np.count_nonzero(is_outlier):,} rows"))
    return shown
