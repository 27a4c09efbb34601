"""Names and numbers of the columns that a plot shows."""

from __future__ import annotations

from collections.abc import Sequence

from eosparse.estimators import EOSDetector


def get_column_names(estimator: EOSDetector) -> list[str]:
    """Return the names of a fitted detector's columns; x0, x1, ... if they have no names."""
    return [str(name) for name in estimator.get_feature_names_out()]


def find_column(names: Sequence[str], column: int | str) -> int:
    """Return the number of a column given by its number or its name."""
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"no column {column!r}; the columns are {', '.join(names)}.")
        return names.index(column)
    if not -len(names) <= column < len(names):
        raise ValueError(f"no column {column}; the {len(names)} columns are numbered from 0.")
    return int(column) % len(names)
