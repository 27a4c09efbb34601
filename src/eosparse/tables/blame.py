"""Values far beyond a column, and combinations of levels that do not occur: what is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.fitting.table_input import read_new

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.estimators import EOSDetector
    from eosparse.inference import Combinations
    from eosparse.rows import ColumnRanges


def blame_levels(shares: FloatArray, detector: EOSDetector, values: pd.DataFrame) -> FloatArray:
    """Return each column's share of what flags a row, with the columns of impossible levels.

    Parameters
    ----------
    shares : array of shape (n_rows, n_features)
        Shares of the distance, which knows nothing of such levels.
    detector : EOSDetector
        The fitted detector.
    values : DataFrame
        The rows as the detector takes them.

    Returns
    -------
    array of shape (n_rows, n_features)
    """
    fit = detector._judge.fit
    if fit.combinations is None and fit.ranges is None:
        return shares
    rows, is_blamed = read_new(detector, values, "explain"), np.zeros(shares.shape, dtype=np.bool_)
    if fit.combinations is not None:
        _mark_combinations(is_blamed, fit.combinations, rows, fit.levels)
    if fit.ranges is not None:
        _mark_outside(is_blamed, fit.ranges, rows)
    n_blamed = is_blamed.sum(axis=1, keepdims=True)
    return np.where(n_blamed > 0, is_blamed / np.maximum(n_blamed, 1), shares)


def _mark_combinations(
    is_blamed: BoolArray, combinations: Combinations, rows: FloatArray, levels: tuple[int, ...]
) -> None:
    for pair, table in combinations.tables.items():
        one = replace(combinations, tables={pair: table})
        found = one.is_impossible(rows[:, list(levels)])
        for place in pair:
            is_blamed[found, levels[place]] = True


def _mark_outside(is_blamed: BoolArray, ranges: ColumnRanges, rows: FloatArray) -> None:
    for i, place in enumerate(ranges.places):
        is_blamed[ranges.take(i).is_outside(rows), place] = True
