"""Which labels are confused with which: counts of flagged labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from eosparse.core import IntArray
from eosparse.estimators import LabelIssues
from eosparse.plots._matplotlib import format_name, make_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# With more classes the printed counts would overlap.
_MOST_COUNTS = 20
# Tick labels with more characters than this in total are turned: about the width of the axes.
_WIDEST_TICKS = 40
# Counts above this part of the largest one are printed white, on dark blue.
_DARK = 0.55


@dataclass
class LabelIssueMatrixDisplay:
    """Number of flagged labels by given and suggested label.

    A count on the diagonal is a row whose label is in doubt although no other fits better.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes)
        Number of flagged labels by given (row) and suggested label (column).
    class_names : sequence of str
        Names of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from eosparse import find_label_issues
    >>> from eosparse.plots import LabelIssueMatrixDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> X[:, 0] += 2 * np.sign(X[:, 0])
    >>> y[np.flatnonzero(y == "right")[::5]] = "left"
    >>> issues = find_label_issues(X, y, random_state=0)
    >>> display = LabelIssueMatrixDisplay.from_issues(issues)
    >>> bool(display.counts[0, 1] == issues.n_issues > 0)
    True
    """

    counts: IntArray
    class_names: Sequence[str]

    @classmethod
    def from_issues(cls, issues: LabelIssues, *, ax: Axes | None = None) -> Self:
        """Count the flagged labels of `find_label_issues`, and draw the counts.

        Parameters
        ----------
        issues : LabelIssues
            From `find_label_issues`.
        ax : Axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        LabelIssueMatrixDisplay
        """
        if issues.is_regression:
            raise ValueError("the matrix needs class labels, but this is a regression target.")
        classes = issues.classes
        is_issue = np.asarray(issues.table["is_issue"], dtype=np.bool_)
        given = np.searchsorted(classes, np.asarray(issues.table["given"])[is_issue])
        suggested = np.searchsorted(classes, np.asarray(issues.table["suggested"])[is_issue])
        n = len(classes)
        counts = np.bincount(given * n + suggested, minlength=n * n).reshape(n, n)
        return cls(counts, [str(name) for name in classes]).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the counts on given axes, or on new ones."""
        ax = make_axes() if ax is None else ax
        # From light to dark blue: lightness alone is enough to read it. An empty matrix is light.
        most = max(int(self.counts.max(initial=0)), 1)
        ax.imshow(self.counts, cmap="Blues", vmin=0, vmax=most)
        if len(self.counts) <= _MOST_COUNTS:
            self._write_counts(ax, most)
        names = [format_name(name, 18) for name in self.class_names]
        is_crowded = sum(map(len, names)) > _WIDEST_TICKS
        ax.set_xticks(range(len(names)), names, rotation=90 if is_crowded else 0)
        ax.set_yticks(range(len(names)), names)
        ax.set(xlabel="suggested label", ylabel="given label")
        total = int(self.counts.sum())
        ax.set_title(f"{total} label{'s' * (total != 1)} flagged", fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _write_counts(self, ax: Axes, most: int) -> None:
        for row, column in np.argwhere(self.counts > 0):
            count = int(self.counts[row, column])
            colour = "white" if count > _DARK * most else "black"
            ax.text(column, row, str(count), ha="center", va="center", color=colour)
