"""The import of matplotlib, and the colours, axes and legend that all plots share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosparse.core import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette: distinct for every kind of colour vision, and by lightness in grey.
KEPT = "#56B4E9"
FLAGGED = "#D55E00"
LINE = "#000000"
BLUE = "#0072B2"
SHADE = "#999999"
METHODS = (FLAGGED, BLUE, "#009E73", "#CC79A7", "#E69F00", LINE)


def make_axes(height: float = 4.8) -> Axes:
    """Return axes on a new figure of the given height in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'eosparse[plots]'.") from error
    _, ax = plt.subplots(figsize=(6.4, height), layout="constrained")
    return ax


def scatter_rows(
    ax: Axes, x: FloatArray | IntArray, y: FloatArray, is_outlier: BoolArray, marker: str = "o"
) -> None:
    """Draw one point per row; flagged rows are larger diamonds on top of the others."""
    kept, flagged = ~is_outlier, is_outlier
    ax.scatter(
        x[kept], y[kept], s=9, marker=marker, color=KEPT, label=f"{int(kept.sum())} kept", zorder=2
    )
    ax.scatter(
        x[flagged],
        y[flagged],
        s=30,
        marker="D",
        color=FLAGGED,
        label=f"{int(flagged.sum())} flagged",
        zorder=3,
    )


def draw_legend(ax: Axes, ncols: int) -> None:
    """Draw the legend inside the axes, above the data, and make room for it."""
    transform = ax.yaxis.get_transform()
    low, high = transform.transform(ax.get_ylim())
    n_lines = -(-len(ax.get_legend_handles_labels()[0]) // ncols)
    room = (high - low) * (0.02 + 0.08 * n_lines)
    ax.set_ylim(top=float(transform.inverted().transform([high + room])[0]))
    # Opaque, in case something is shaded behind it.
    ax.legend(loc="upper left", framealpha=1.0, edgecolor="none", ncols=ncols)


def format_name(name: object, width: int = 28) -> str:
    """Format a name as one line of limited width, with dollar signs escaped for matplotlib.

    Long names lose their middle, because names often differ only at their ends.

    Examples
    --------
    >>> format_name("glucose")
    'glucose'
    >>> format_name("a_very_long_name_of_a_column_in_mg_dl", width=16)
    'a_very_l…n_mg_dl'
    """
    text = " ".join(str(name).split())
    if len(text) > width:
        kept = width - 1
        text = f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"
    return text.replace("$", r"\$")
