"""What a fitted estimator says of itself in a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np


class SummaryMixin:
    """Put a short summary above scikit-learn's diagram, once there is something to say.

    Goes before `BaseEstimator` among the bases; the class has a method `_summary`.
    """

    def _summary(self) -> list[tuple[str, str]]:
        """Return what to say, as names and values; nothing before the fit."""
        raise NotImplementedError

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()  # type: ignore[misc]
        said = self._summary()
        if not said:
            return diagram
        lines = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in said
        )
        return f"<table>{lines}</table>{diagram}"


def weights_summary(estimator: Any) -> list[tuple[str, str]]:
    """Say how many rows lost most of their weight; nothing before the fit."""
    weights = getattr(estimator, "weights_", None)
    if weights is None:
        return []
    low = int((weights * len(weights) < 0.5 * weights.sum()).sum())
    return [
        ("rows", f"{len(weights):,}, of which {low:,} keep less than half of an equal weight"),
        ("alpha", f"{estimator.alpha_:.4g}"),
    ]


def flags_summary(estimator: Any) -> list[tuple[str, str]]:
    """Say how many rows are flagged; nothing before the fit."""
    if not hasattr(estimator, "offset_"):
        return []
    size = f"{estimator._judge.fit.n_rows:,.0f} rows, {estimator.n_features_in_} columns"
    status = str(estimator.status_)
    said = [("table", size), ("alpha", f"{estimator.alpha_:.4g}"), ("status", status)]
    is_outlier = getattr(estimator, "is_outlier_", None)  # rows elsewhere are not at hand
    if isinstance(is_outlier, np.ndarray):
        said.insert(1, ("do not belong", f"{np.count_nonzero(is_outlier):,} rows"))
    return said
