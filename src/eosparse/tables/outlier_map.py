"""The points of the report's pictures: a map of the rows, their p-values, and the path along α."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from eosparse.core import BoolArray, FloatArray, IntArray
from eosparse.estimators.distances import Distances
from eosparse.fitting.alpha_path import AlphaPath, follow_path
from eosparse.fitting.judge import Rule
from eosparse.fitting.table_input import open_training
from eosparse.rows import spread_out
from eosparse.tables.detection import ScoredTable
from eosparse.tables.margin_pictures import MarginPicture, draw_margins

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.estimators import EOSDetector

# Rows of each kind, flagged or not, that the map shows; more points would hide each other.
_MAX_POINTS = 4000
# Points of the quantile plot; a wider screen has few more pixels.
_MAX_QUANTILES = 600
# For more numbers, the path is computed from the rows shown: it would take longer than the fit.
_MAX_PATH_NUMBERS = 1_000_000
# A path that flags as many rows at the α of the detector, about, leads to its result.
_SAME_SHARE, _SAME_ROWS = 0.02, 3
# Smaller p-values are drawn as this one.
_LEAST_P = 1e-300


@dataclass(frozen=True)
class Quantiles:
    """Minus log10 of the p-values, expected without outliers, and observed."""

    expected: list[float]
    observed: list[float]


@dataclass(frozen=True)
class AlphaSteps:
    """What changes along a path of α.

    Attributes
    ----------
    alphas : list of float
        The path.
    n_flagged : list of int
        Flagged rows at each α; -1 if the weights collapsed.
    effective_rows : list of float
        Effective number of rows at each α.
    weights : list of str
        At each α, a hexadecimal digit per row of the map: weights from 0 to twice the average.
    plateau : list of int
        First step of the plateau, and the first one beyond it.
    chosen : int
        The step next to the α of the detector.
    is_of_sample : bool
        Whether the path was computed from the rows of the map only.
    """

    alphas: list[float]
    n_flagged: list[int]
    effective_rows: list[float]
    weights: list[str]
    plateau: list[int]
    chosen: int
    is_of_sample: bool


@dataclass(frozen=True)
class OutlierMap:
    """Robust distances of rows.

    Attributes
    ----------
    row : list of int
        Rows shown, counted from 1: the most outlying of the flagged, and an even sample of others.
    distance : list of float
        Their distances.
    is_flagged : list of int
        Whether each is flagged, 0 or 1.
    cut : float
        The distance beyond which rows are flagged.
    label : str
        What the distance is called.
    n_left_out : int
        Number of rows that are not shown.
    quantiles : Quantiles
        The p-values of all rows.
    path : AlphaSteps or None
        The path along α; None for models other than one Gaussian, and for other solutions.
    margins : list of MarginPicture
        Columns that were bent.
    """

    row: list[int]
    distance: list[float]
    is_flagged: list[int]
    cut: float
    label: str
    n_left_out: int
    quantiles: Quantiles
    path: AlphaSteps | None
    margins: list[MarginPicture]


@dataclass(frozen=True)
class Represented:
    """Rows that stand for all of a larger table.

    Attributes
    ----------
    places : array of int of shape (n_rows,)
        Their places in the table, from 0.
    mass : array of shape (n_rows,)
        Number of rows that each of them stands for.
    """

    places: IntArray
    mass: FloatArray

    @classmethod
    def all_of(cls, scored: ScoredTable) -> Represented:
        """Return all rows that were scored, each of which stands for itself."""
        places = np.flatnonzero(scored.cells.is_kept)
        return cls(places, np.ones(len(places)))


def map_outliers(scored: ScoredTable, rows: Represented | None = None) -> OutlierMap:
    """Compute the points of the report's pictures from the table a detector was fitted to.

    Parameters
    ----------
    scored : ScoredTable
        The table, or rows of a larger one.
    rows : Represented, optional
        What the rows stand for, if they are part of a larger table.
    """
    is_part = rows is not None
    given = Represented.all_of(scored) if rows is None else rows
    shown = _choose_rows(scored)
    measured = Distances.of_rows(scored.detector, scored.cells.take(shown))
    return OutlierMap(
        row=[int(place) + 1 for place in given.places[shown]],
        distance=_round(measured.values),
        is_flagged=[int(flag) for flag in scored.is_outlier[shown]],
        cut=measured.cut,
        label=measured.name,
        n_left_out=round(float(given.mass.sum())) - len(shown),
        quantiles=_compute_quantiles(scored.p_values, given.mass),
        path=_compute_path(scored, given, shown, is_part=is_part) if _has_path(scored) else None,
        margins=draw_margins(scored, given.mass),
    )


def _choose_rows(scored: ScoredTable) -> IntArray:
    """Choose the most outlying of the flagged rows, and an even sample of the others."""
    is_outlier = scored.is_outlier
    flagged, others = np.flatnonzero(is_outlier), np.flatnonzero(~is_outlier)
    farthest = np.argsort(scored.p_values[flagged], kind="stable")[:_MAX_POINTS]
    sampled = others[spread_out(len(others), min(_MAX_POINTS, len(others)))]
    return np.sort(np.concatenate([flagged[farthest], sampled]))


def _has_path(scored: ScoredTable) -> bool:
    """Whether a path along α means something: for one Gaussian, which each step fits anew."""
    detector = scored.detector
    return detector.rung_ in (None, "gaussian") and hasattr(detector, "location_")


def _round(values: FloatArray) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def _compute_quantiles(p_values: FloatArray, mass: FloatArray) -> Quantiles:
    order = np.argsort(p_values, kind="stable")
    p_values, mass = np.asarray(p_values, dtype=np.float64)[order], mass[order]
    n = len(p_values)
    expected = (np.cumsum(mass) - mass / 2) / mass.sum()
    # Small p-values take most of the plot.
    shown = np.unique(np.geomspace(1, n, min(n, _MAX_QUANTILES)).astype(int)) - 1
    return Quantiles(
        expected=_round(-np.log10(expected[shown])),
        observed=_round(-np.log10(np.maximum(p_values[shown], _LEAST_P))),
    )


def _compute_path(
    scored: ScoredTable, given: Represented, rows: IntArray, *, is_part: bool
) -> AlphaSteps | None:
    """Compute the path; None if it passes the result by, as it may where there are groups."""
    import warnings

    cells, detector = scored.cells, scored.detector
    is_of_sample = is_part or cells.frame.size > _MAX_PATH_NUMBERS
    used = rows if is_of_sample else np.arange(len(cells.frame))
    mass = _count_represented(scored.is_outlier, given.mass, used)
    n_rows = float(given.mass.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a path ends when the weights collapse
        path = (
            detector.path(cells.take(used), sample_weight=mass)
            if is_of_sample
            else follow_training(detector, cells.frame)
        )
    n_flagged = np.where(path.n_flagged < 0, -1, np.round(path.is_outlier @ mass))
    chosen = int(np.argmin(np.abs(np.log(path.alphas / detector.alpha_))))
    difference = abs(n_flagged[chosen] - given.mass[scored.is_outlier].sum())
    if difference > max(_SAME_SHARE * n_rows, _SAME_ROWS):
        return None
    relative = (path.weights / mass * n_rows)[:, np.searchsorted(used, rows)]
    digits = np.round(7.5 * np.clip(relative, 0.0, 2.0)).astype(int)
    return AlphaSteps(
        alphas=_round(path.alphas),
        n_flagged=[int(n) for n in n_flagged],
        effective_rows=_round(np.nan_to_num(path.effective_sizes)),
        weights=["".join("0123456789abcdef"[d] for d in line) for line in digits],
        plateau=[path.plateau.start, path.plateau.stop],
        chosen=chosen,
        is_of_sample=is_of_sample,
    )


def follow_training(detector: EOSDetector, frame: pd.DataFrame) -> AlphaPath:
    """Return the path of the rows that a detector was fitted to, without a second search."""
    rule = Rule.choose(detector.fdr, detector.level, detector.weight_cut, detector.contamination)
    table, fit = open_training(clone(detector), frame), detector._judge.fit
    return follow_path(fit, table, rule, None, tol=detector.tol, max_iter=detector.max_iter)


def _count_represented(is_outlier: BoolArray, mass: FloatArray, rows: IntArray) -> FloatArray:
    """Count the rows that each of some rows represents: all flagged ones, or all others."""
    counts: FloatArray = np.ones(len(rows))
    for flag in (True, False):
        is_alike = is_outlier[rows] == flag
        n_shown = np.count_nonzero(is_alike)
        counts[is_alike] = mass[is_outlier == flag].sum() / max(int(n_shown), 1)
    return counts
