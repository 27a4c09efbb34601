"""Groups of rows that sit apart, described in the units of the columns."""

from __future__ import annotations

from typing import cast

import numpy as np

from eosparse.core import FloatArray
from eosparse.fitting.judge import Judge
from eosparse.fitting.white_sample import WhiteSample
from eosparse.inference import Group, MixtureLaw, find_groups_apart
from eosparse.inference.groups_apart import FEWEST, LEAST_SHARE
from eosparse.rows import ColumnKind, Sample, TableView

Columns = tuple[ColumnKind, ...]

# Columns named in the description of a group.
_MOST_NAMED = 2


def find_flagged_groups(
    judge: Judge, rows: WhiteSample, fitted: FloatArray, columns: Columns
) -> tuple[Group, ...]:
    """Find groups among the flagged rows of a sample, given their distances."""
    sample, values = rows.sample, rows.sample.values
    chosen = judge.is_outlier(fitted) & (sample.mass > 0)
    flagged, mass, total = values[chosen], sample.mass[chosen], float(sample.mass.sum())
    if not len(flagged):
        return ()
    parts = find_groups_apart(rows.take(chosen), total, values.shape[1], mass)
    n_rows = sample.table.mass
    return tuple(
        _describe(judge, flagged[part], float(mass[part].sum()) / total, n_rows, columns)
        for part in parts
    )


def find_groups_beyond(judge: Judge, sample: Sample, columns: Columns) -> tuple[Group, ...]:
    """Find groups of rows beyond the range of a column, where no law says which rows sit apart."""
    ranges, groups = judge.fit.ranges, []
    left, total = sample.mass > 0, float(sample.mass.sum())
    for i, place in enumerate(() if ranges is None else ranges.places):
        assert ranges is not None
        beyond = left & ranges.take(i).is_outside(sample.values)
        share = float(sample.mass[beyond].sum()) / total
        if share * total < FEWEST or share < LEAST_SHARE:
            continue
        left &= ~beyond  # a row is in one group
        centre = _find_centre(sample.values[beyond])
        n_rows = round(share * sample.table.mass)
        groups.append(Group(n_rows, share, centre, (columns[place].name,)))
    return tuple(sorted(groups, key=lambda group: -group.share))


def _find_centre(rows: FloatArray) -> FloatArray:
    """Return the median of each column; NaN if no row has a value."""
    there = ~np.isnan(rows).all(axis=0)
    centre = np.full(rows.shape[1], np.nan)
    centre[there] = np.nanmedian(rows[:, there], axis=0)
    return centre


def _describe(
    judge: Judge, rows: FloatArray, share: float, n_rows: float, columns: Columns
) -> Group:
    typical = np.abs(np.median(judge.fit.deviations(rows), axis=0))
    return Group(
        n_rows=round(share * n_rows),
        share=share,
        centre=_find_centre(rows),
        columns=_name_columns(typical, columns),
    )


def describe_components(
    judge: Judge, n_rows: float, columns: Columns, apart: tuple[Group, ...] = ()
) -> tuple[Group, ...]:
    """Describe the components of a mixture, largest first, and then groups apart from them."""
    mixture, view = judge.fit.result.theta, judge.fit.coordinates
    shares = cast(MixtureLaw, judge.law).shares * (1 - sum(group.share for group in apart))
    assert isinstance(view, TableView)
    middle = shares @ mixture.locations / shares.sum()
    order = np.argsort(-shares, kind="stable")
    components = tuple(
        Group(
            n_rows=round(float(shares[k]) * n_rows),
            share=float(shares[k]),
            centre=view.location(mixture.locations[k]),
            columns=_name_columns(view.expand(np.abs(mixture.locations[[k]] - middle))[0], columns),
            is_outlier=False,
        )
        for k in order
        if shares[k] > 0
    )
    return components + apart


def _name_columns(telling: FloatArray, columns: Columns) -> tuple[str, ...]:
    """Name the columns that tell most, up to those with a third of the most telling one."""
    order = np.argsort(-telling, kind="stable")[:_MOST_NAMED]
    return tuple(columns[i].name for i in order if telling[i] >= telling[order[0]] / 3)
