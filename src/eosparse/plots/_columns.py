"""How a picture is told which columns to show, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence

from eosparse.estimators import EOSDetector


def column_names(estimator: EOSDetector) -> list[str]:
    """Return the names of the columns that a detector was fitted to; x0, x1, ... without names."""
    return [str(name) for name in estimator.get_feature_names_out()]


def column_number(names: Sequence[str], column: int | str) -> int:
    """Return the number of a column that is given by number or by name."""
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"no column {column!r}; there are {', '.join(names)}.")
        return names.index(column)
    if not -len(names) <= column < len(names):
        raise ValueError(f"no column {column}; there are {len(names)}, numbered from 0.")
    return int(column) % len(names)
