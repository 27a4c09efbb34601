"""What was done to bent columns, as histograms with the law that was learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from eosparse.core import FloatArray, IntArray
from eosparse.fitting.table_input import read_new
from eosparse.rows import Kind, Margin, TableView
from eosparse.tables.detection import ScoredTable

# More pictures would not be looked at.
_MOST_PICTURES = 12
# Bars of a histogram, and points of the curve per bar.
_N_BARS, _FINER = 40, 4
# Values beyond these quantiles may be outliers: a picture of all would show nothing else.
_LEVELS = (0.005, 0.995)


@dataclass(frozen=True)
class MarginPicture:
    """A bent column: its values, and how many the learned law expects.

    Attributes
    ----------
    column : str
        Its name.
    words : str
        What was done to it.
    is_date : bool
        Whether its values are days since 1970-01-01.
    edges : list of float
        Edges of the bars.
    counts : list of int
        Values in each bar.
    points, expected : list of float
        A curve: the values that the law expects in a bar around each point.
    n_beyond : int
        Values outside of the picture.
    n_heap : int
        Values at a heap, which are not shown.
    """

    column: str
    words: str
    is_date: bool
    edges: list[float]
    counts: list[int]
    points: list[float]
    expected: list[float]
    n_beyond: int
    n_heap: int


def draw_margins(scored: ScoredTable, mass: FloatArray) -> list[MarginPicture]:
    """Compute the pictures of all bent columns, as far as they are worth looking at.

    Each of the rows counts as many times as its `mass` says.
    """
    view = scored.detector._judge.fit.coordinates
    if not isinstance(view, TableView):
        return []
    pairs = zip(view.places, view.margins.columns, strict=True)
    bent = [(int(place), margin) for place, margin in pairs if not margin.is_line][:_MOST_PICTURES]
    if not bent:
        return []
    values = read_new(scored.detector, scored.cells.frame, "report")
    return [
        _draw(scored.detector.columns_[place], margin, values[:, place], mass)
        for place, margin in bent
    ]


def _draw(column: Any, margin: Margin, values: FloatArray, mass: FloatArray) -> MarginPicture:
    values = np.asarray(values, dtype=np.float64)
    is_there = ~np.isnan(values)
    values, mass = values[is_there], mass[is_there]
    is_shown = np.ones(len(values), np.bool_) if margin.heap is None else values != margin.heap
    shown, mass, n_rows = values[is_shown], mass[is_shown], float(mass.sum())
    edges = _choose_edges(shown)
    counts, _ = np.histogram(shown, edges, weights=mass)
    points, expected = _expect(margin, edges, float(mass.sum()))
    return MarginPicture(
        column=column.name,
        words=margin.words,
        is_date=column.kind is Kind.DATE,
        edges=_round(edges),
        counts=[round(count) for count in counts.tolist()],
        points=_round(points),
        expected=_round(expected),
        n_beyond=round(float(mass.sum() - counts.sum())),
        n_heap=round(n_rows - float(mass.sum())),
    )


def _choose_edges(values: FloatArray) -> FloatArray:
    low, high = np.quantile(values, _LEVELS)
    room = 0.1 * (high - low) or 1.0
    low, high = max(low - room, values.min()), min(high + room, values.max())
    return np.linspace(low, high if high > low else low + 1.0, _N_BARS + 1)


def _expect(margin: Margin, edges: FloatArray, n_values: float) -> tuple[FloatArray, FloatArray]:
    """Return points between the edges, and how many values the law expects in a bar there."""
    finer = np.interp(np.arange(_FINER * _N_BARS + 1) / _FINER, np.arange(_N_BARS + 1), edges)
    shares = np.abs(np.diff(ndtr(margin(finer))))
    return (finer[1:] + finer[:-1]) / 2, n_values * _FINER * shares


def _round(values: FloatArray | IntArray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
