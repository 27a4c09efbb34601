"""Why rows are far away: each column's share of the distance, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from eosparse.core import FloatArray, IntArray
from eosparse.estimators import EOSDetector
from eosparse.plots._columns import get_column_names
from eosparse.plots._matplotlib import BLUE, FLAGGED, format_name, make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows shown by default: as many as fit a figure of the usual height.
_N_ROWS = 3


@dataclass
class ExplanationDisplay:
    """Each column's share of the squared distance of some rows, with the original values.

    Each row is a block of bars, largest first, under a heading with its distance. The colour shows
    whether a value is too high or too low, given the other columns.

    Parameters
    ----------
    deviations : array of shape (n_rows, n_features)
        Standardised deviations with their sign; their squares are the contributions.
    values : array of shape (n_rows, n_features)
        The rows in their original units: numbers, or cells of any type.
    feature_names : sequence of str
        Names of the columns.
    row_names : sequence of str
        Names of the rows.
    n_columns : int, default=4
        Number of columns to show for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import EOSDetector
    >>> from eosparse.plots import ExplanationDisplay
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> X[7, 1] = 9.0
    >>> display = ExplanationDisplay.from_estimator(EOSDetector().fit(X), X, rows=[7])
    >>> display.shares[0].round(1).tolist()
    [0.0, 1.0, 0.0]
    """

    deviations: FloatArray
    values: NDArray[Any]
    feature_names: Sequence[str]
    row_names: Sequence[str]
    n_columns: int = 4

    @classmethod
    def from_estimator(
        cls,
        estimator: EOSDetector,
        X: Any,
        *,
        rows: Sequence[int] | int | None = None,
        feature_names: Sequence[str] | None = None,
        row_names: Sequence[Any] | None = None,
        n_columns: int = 4,
        ax: Axes | None = None,
    ) -> Self:
        """Explain rows with a fitted detector, and draw the shares.

        Parameters
        ----------
        estimator : EOSDetector
            A fitted detector.
        X : array-like of shape (n_samples, n_features)
            Rows.
        rows : int or sequence of int, optional
            Numbers of the rows to explain. By default the three farthest flagged rows, or the
            farthest row if none is flagged.
        feature_names : sequence of str, optional
            Names of the columns. By default those the detector was fitted with.
        row_names : sequence, optional
            One name per row of `X`. By default the index of a pandas frame, or the row number.
        n_columns : int, default=4
            Number of columns to show for each row.
        ax : Axes, optional
            Axes to draw on; new ones by default.

        Returns
        -------
        ExplanationDisplay

        Examples
        --------
        >>> from eosparse import EOSDetector
        >>> from eosparse.datasets import load_blood_panel
        >>> from eosparse.plots import ExplanationDisplay
        >>> panel = load_blood_panel()
        >>> display = ExplanationDisplay.from_estimator(
        ...     EOSDetector().fit(panel.X), panel.X, feature_names=panel.feature_names
        ... )
        >>> display.row_names
        ['row 342', 'row 128', 'row 133']
        """
        shown = _find_farthest(estimator, X) if rows is None else np.atleast_1d(rows)
        explanation = estimator.explain(X)
        names = _choose_row_names(X, row_names, len(explanation.deviations))
        return cls(
            explanation.deviations[shown],
            np.asarray(X)[shown],
            get_column_names(estimator) if feature_names is None else list(feature_names),
            [names[row] for row in shown],
            n_columns,
        ).plot(ax=ax)

    @property
    def shares(self) -> FloatArray:
        """Share of each column in the squared distance of each row; rows sum to one."""
        squares = np.square(self.deviations)
        shares: FloatArray = squares / np.maximum(squares.sum(axis=1, keepdims=True), 1e-300)
        return shares

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on new axes.

        Examples
        --------
        >>> import numpy as np
        >>> from eosparse import EOSDetector
        >>> from eosparse.plots import ExplanationDisplay
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> display = ExplanationDisplay.from_estimator(EOSDetector().fit(X), X)
        >>> display.plot() is display
        True
        """
        n_lines = len(self.deviations) * (min(self.n_columns, self.deviations.shape[1]) + 1.4)
        ax = make_axes(max(2.6, 1.0 + 0.27 * n_lines)) if ax is None else ax
        ticks: list[float] = []
        labels: list[str] = []
        place = 0.0
        for row in range(len(self.deviations)):
            self._draw_heading(ax, row, place)
            order = np.argsort(-self.shares[row], kind="stable")[: self.n_columns]
            places = place + 1 + np.arange(len(order))
            self._draw_bars(ax, row, order, places)
            ticks += places.tolist()
            labels += [self._format_bar_label(row, int(column)) for column in order]
            place = places[-1] + 1.4
        ax.set_yticks(ticks, labels)
        ax.tick_params(axis="y", length=0)
        ax.set(xlabel="share of the squared distance, %", xlim=(0, 115))
        # Make room above the first row for the legend.
        ax.set_ylim(place - 0.6, -0.7 - max(0.1 * n_lines, 1.0))
        ax.set_xticks([0, 25, 50, 75, 100])
        ax.spines[["top", "right"]].set_visible(False)
        _draw_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_heading(self, ax: Axes, row: int, place: float) -> None:
        distance = np.sqrt(np.square(self.deviations[row]).sum())
        text = f"{format_name(self.row_names[row], 40)}: distance {distance:.3g}"
        ax.text(1.0, place + 0.1, text, va="center", fontweight="bold")

    def _draw_bars(self, ax: Axes, row: int, columns: IntArray, places: FloatArray) -> None:
        percents = 100 * self.shares[row, columns]
        colours = [FLAGGED if self.deviations[row, i] > 0 else BLUE for i in columns]
        bars = ax.barh(places, percents, height=0.72, color=colours)
        ax.bar_label(bars, [_format_percent(percent) for percent in percents], padding=4)

    def _format_bar_label(self, row: int, column: int) -> str:
        value = self.values[row, column]
        shown = f"{value:.5g}" if isinstance(value, Real) else format_name(str(value))
        return f"{format_name(self.feature_names[column])} = {shown}"


def _draw_legend(ax: Axes) -> None:
    """Draw a legend for the colours."""
    from matplotlib.patches import Patch

    handles = [
        Patch(color=FLAGGED, label="too high"),
        Patch(color=BLUE, label="too low"),
    ]
    ax.legend(handles=handles, loc="upper right", frameon=False, ncols=2)


def _format_percent(percent: float) -> str:
    return "< 1 %" if 0 < percent < 0.5 else f"{percent:.0f} %"


def _find_farthest(estimator: EOSDetector, X: Any) -> IntArray:
    order = np.argsort(np.asarray(estimator.score_samples(X)), kind="stable")
    is_outlier = np.asarray(estimator.predict(X)) == -1
    flagged: IntArray = order[is_outlier[order]][:_N_ROWS]
    return flagged if len(flagged) else order[:1]


def _choose_row_names(X: Any, given: Sequence[Any] | None, n_rows: int) -> list[str]:
    index = getattr(X, "index", None)
    if given is not None:
        names = [str(name) for name in given]
    elif index is not None and not callable(index):
        names = [f"row {name}" if isinstance(name, int) else str(name) for name in index]
    else:
        names = [f"row {number}" for number in range(n_rows)]
    if len(names) != n_rows:
        raise ValueError(
            f"row_names has {len(names)} names for {n_rows} rows: pass one name per row."
        )
    return names
