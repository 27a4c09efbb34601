"""What was done to bent columns, as histograms with the law that was learned.

Bars are equally wide after the column is bent. In the units of the column, one bar would hold
nearly all values of a very skewed one, and the picture would show nothing.
"""

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
# Bars of a histogram, points of the curve per bar, and values that a bar should be able to hold.
_MOST_BARS, _FEWEST_BARS, _FINER, _VALUES_PER_BAR = 40, 8, 4, 3
# Values beyond these quantiles may be outliers: a picture of all would show nothing else.
_LEVELS = (0.005, 0.995)
# Room beyond these quantiles, in standard deviations of the bell curve.
_ROOM = 0.5


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
        Edges of the bars, in the units of the column; equally far apart after it is bent.
    counts : list of int
        Values in each bar.
    expected : list of float
        A curve: the values that the law expects in a bar around each quarter of one.
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
    scores = margin(shown)
    edges = _choose_edges(scores, len(np.unique(shown)))
    counts, _ = np.histogram(scores, edges, weights=mass)
    finer = np.linspace(edges[0], edges[-1], _FINER * len(counts) + 1)
    expected = float(mass.sum()) * _FINER * np.diff(ndtr(finer))
    return MarginPicture(
        column=column.name,
        words=margin.words,
        is_date=column.kind is Kind.DATE,
        edges=_round(margin.invert(edges)),
        counts=[round(count) for count in counts.tolist()],
        expected=_round(expected),
        n_beyond=round(float(mass.sum() - counts.sum())),
        n_heap=round(n_rows - float(mass.sum())),
    )


def _choose_edges(scores: FloatArray, n_values: int) -> FloatArray:
    """Return the edges of bars for normal scores of some different values."""
    low, high = np.quantile(scores, _LEVELS)
    low, high = max(low - _ROOM, scores.min()), min(high + _ROOM, scores.max())
    n_bars = int(np.clip(n_values // _VALUES_PER_BAR, _FEWEST_BARS, _MOST_BARS))
    return np.linspace(low, high if high > low else low + 1.0, n_bars + 1)


def _round(values: FloatArray | IntArray) -> list[float]:
    return [float(f"{value:.6g}") for value in values]
