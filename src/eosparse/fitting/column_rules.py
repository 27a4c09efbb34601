"""What columns forbid beside the error model: values beyond a range, and combinations of levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from eosparse.fitting.reasons import LARGE_SHARE
from eosparse.inference import find_combinations
from eosparse.models import Fit
from eosparse.rows import ColumnKind, ColumnRanges, Kind, Sample, find_ranges

Columns = tuple[ColumnKind, ...]

# Level at which combinations of levels are called impossible: a fit is asked about many.
_COMBINATION_LEVEL = 0.01


def add_rules(
    fit: Fit[Any], rung: str, sample: Sample, columns: Columns, *, groups_are_outliers: bool
) -> Fit[Any]:
    """Return the fit of a rung with the ranges of columns and the combinations of their levels."""
    fit = _look_for_combinations(fit, sample, columns)
    is_local = rung == "local"
    return _bound_columns(fit, sample, columns, is_local, groups_are_outliers)


def _look_for_combinations(fit: Fit[Any], sample: Sample, columns: Columns) -> Fit[Any]:
    """Return the fit with the combinations of levels that do not occur, if there are any."""
    kinds = (Kind.LEVELS, Kind.CATEGORY)
    levels = tuple(i for i, column in enumerate(columns) if column.kind in kinds)
    if len(levels) < 2:
        return fit
    codes = np.asarray(sample.values[:, list(levels)], dtype=np.float64)
    is_ordered = [columns[i].kind is Kind.LEVELS for i in levels]
    found = find_combinations(codes, sample.mass, _COMBINATION_LEVEL, is_ordered)
    return replace(fit, combinations=found, levels=levels)


def _bound_columns(
    fit: Fit[Any], sample: Sample, columns: Columns, is_local: bool, groups_are_outliers: bool
) -> Fit[Any]:
    """Return the fit with the ranges of its columns: of levels, or where no law is known, all.

    A group beyond the range of the others may be a kind.
    """
    bounded = {Kind.LEVELS}
    if is_local and groups_are_outliers:
        bounded |= {Kind.NUMBER, Kind.DATE, Kind.HEAP}
    places = tuple(i for i, column in enumerate(columns) if column.kind in bounded)
    if not places:
        return fit
    levels = tuple(i for i in places if columns[i].kind is Kind.LEVELS)
    ranges = find_ranges(sample.values, sample.mass, places, levels)
    if not groups_are_outliers:
        shares = [_share_outside(ranges.take(i), sample) for i in range(len(places))]
        ranges = ranges.take(*(i for i, share in enumerate(shares) if share <= LARGE_SHARE))
    return replace(fit, ranges=ranges)


def _share_outside(ranges: ColumnRanges, sample: Sample) -> float:
    """Return the share of the rows outside a range."""
    return float(sample.mass[ranges.is_outside(sample.values)].sum() / sample.mass.sum())
