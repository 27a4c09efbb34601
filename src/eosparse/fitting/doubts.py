"""Reasons not to promise a rate although the rows follow the law: it may rest on too little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.fitting.white_sample import WhiteSample
from eosparse.inference import Group, Promise, have_joint_tails
from eosparse.models import Fit
from eosparse.rows import ColumnKind, Kind, Sample, TableView

# With fewer rows per column, whitened rows are not independent enough.
_ROWS_OF_DIRECTIONS = 5
# With fewer rows the tails of a bent column are known too badly for p-values of one in a million.
_ROWS_OF_TAILS = 900
# Rows per column with which the law of a group is known well enough.
_ROWS_OF_GROUP = 12
# So few different values follow no law of numbers. Most columns show more of them in a few rows.
_FEW_VALUES, _FEW_ROWS = 12, 100
# The mean misfit of bent columns, and what chance adds to that of one: in simulated columns of
# skewed and Student's laws, fewer than one in a hundred had more. Per row, what the family closest
# to an exponential law adds. Scattered outliers on one side, in two columns, have more.
_MEAN_MISFIT, _SPREAD_OF_MISFIT, _MISFIT_PER_ROW = 0.6, 1.2, 0.0002
# The same, per row, of a margin that describes nothing: scores are wrong by 0.15 on average.
_LEAST_BAD, _BAD_PER_ROW = 2.0, 0.02


def doubt_law(
    promise: Promise,
    rows: WhiteSample,
    groups: tuple[Group, ...],
    is_good: BoolArray,
    misfits: Mapping[str, float],
    columns: tuple[ColumnKind, ...],
) -> Promise:
    """Return no promise, and why, if the law rests on too little.

    Given are also which rows of the sample are not flagged, and how badly columns are bent.
    """
    fit, sample = rows.fit, rows.sample
    promise = doubt_exact_fit(promise, fit)
    if not promise:
        return promise
    view = fit.coordinates if isinstance(fit.coordinates, TableView) else None
    doubts = (
        _doubt_tails(view, sample, columns),
        _doubt_bends(misfits, float(sample.mass[is_good].sum())),
        _doubt_groups(view, groups, sample),
        _doubt_counts(sample.values[is_good], sample.mass[is_good], columns),
    )
    why = next((doubt for doubt in doubts if doubt is not None), None)
    return promise if why is None else Promise(False, why)


def doubt_exact_fit(promise: Promise, fit: Fit[Any]) -> Promise:
    """Return no promise if rows are flagged because most others satisfy an exact relation."""
    if not promise or not is_exact_fit(fit):
        return promise
    return Promise(False, "most rows satisfy an exact relation, and the others follow no law")


def doubt_independence(promise: Promise, rows: WhiteSample, is_good: BoolArray) -> Promise:
    """Return no promise if good rows that lie far out in one direction do so in others too.

    Elliptical laws with heavy tails are of that kind, however well each column is bent. No rung
    describes them better, so this does not tell which one to take.
    """
    if not promise:
        return promise
    fit, sample = rows.fit, rows.sample
    known = is_good & ~np.isnan(sample.values).any(axis=1)
    is_told = sample.mass[known].sum() >= _ROWS_OF_DIRECTIONS * sample.values.shape[1]
    if not (fit.model.is_one_cloud and is_told):
        return promise
    if not have_joint_tails(rows.take(known), sample.mass[known]):
        return promise
    why = "rows that lie far out in some columns do so in others, more than correlations say"
    return Promise(False, why)


def doubt_writing(promise: Promise, n_rows: int) -> Promise:
    """Return no promise if some rows are flagged only for how their numbers are written."""
    if not promise or n_rows == 0:
        return promise
    rows = "1 row is" if n_rows == 1 else f"{n_rows:,} rows are"
    why = f"{rows} flagged for rare decimals or signs, and no law tells how rare those are"
    return Promise(False, why)


def is_exact_fit(fit: Fit[Any]) -> bool:
    """Whether most rows satisfy an exact relation, and others do not."""
    return bool(getattr(fit.model, "is_exact_fit", False))


def measure_bends(
    fit: Fit[Any], sample: Sample, is_good: BoolArray, columns: tuple[ColumnKind, ...]
) -> dict[str, float]:
    """Return how far each bent column is from the law that it is bent to, by its name.

    Rows that were not believed when a column was bent may belong to the table all the same.
    """
    view = fit.coordinates
    if not isinstance(view, TableView):
        return {}
    held, mass = sample.values[is_good], sample.mass[is_good]
    return {
        columns[place].name: margin.measure_misfit(held[:, place], mass)
        for place, margin in zip(view.places.tolist(), view.margins.columns, strict=True)
        if not margin.is_line
    }


def has_bad_bends(misfits: Mapping[str, float], n_rows: float) -> bool:
    """Whether a bent column is described so badly that a group may have been taken for its tail."""
    return max(misfits.values(), default=0.0) > max(_LEAST_BAD, _BAD_PER_ROW * n_rows)


def _doubt_bends(misfits: Mapping[str, float], n_rows: float) -> str | None:
    """Say so if bent columns are not normal: by more than chance, and than close families are.

    Scattered outliers on one side bend every column a little too far, so that all count together.
    """
    if not misfits:
        return None
    chance = _MEAN_MISFIT + _SPREAD_OF_MISFIT / np.sqrt(len(misfits))
    if np.mean(list(misfits.values())) <= chance + _MISFIT_PER_ROW * n_rows:
        return None
    worst = max(misfits, key=misfits.__getitem__)
    return f"the law that {worst!r} is bent to describes it badly"


def _doubt_tails(
    view: TableView | None, sample: Sample, columns: tuple[ColumnKind, ...]
) -> str | None:
    """Say so if few rows have to tell how heavy the tails of a column are."""
    heavy = () if view is None else view.margins.heavy
    if view is None or not heavy or sample.mass.sum() >= _ROWS_OF_TAILS:
        return None
    name = columns[int(view.places[heavy[0]])].name
    return f"{name!r} has heavy tails, and so few rows do not tell how heavy they are"


def _doubt_groups(view: TableView | None, groups: tuple[Group, ...], sample: Sample) -> str | None:
    """Say so if a group has so few rows that they hardly tell its law."""
    sizes = [group.share * sample.n_rows for group in groups if not group.is_outlier]
    if view is None or min(sizes, default=np.inf) >= _ROWS_OF_GROUP * len(view.places):
        return None
    return f"{min(sizes):.0f} rows hardly tell the law of a group"


def _doubt_counts(
    held: FloatArray, mass: FloatArray, columns: tuple[ColumnKind, ...]
) -> str | None:
    """Say so if good rows have so few different values that no law describes them.

    Errors, which all differ, make a column of numbers of what would be levels.
    """
    if mass.sum() <= _FEW_ROWS:
        return None
    numbers = (i for i, column in enumerate(columns) if column.kind is Kind.NUMBER)
    counted = next((i for i in numbers if _has_few_values(held[:, i])), None)
    if counted is None:
        return None
    return f"good rows have only a few different values of {columns[counted].name!r}"


def _has_few_values(column: FloatArray) -> bool:
    if len(np.unique(column[:_FEW_ROWS])) > _FEW_VALUES:  # soon told, for most columns
        return False
    return len(np.unique(column)) <= _FEW_VALUES
