"""Figures of the results: the paper's nine panels together, and every panel alone.

A method has the same colour, line and marker in all figures. Colours are those of Okabe and Ito.
Lines and markers differ too, so that figures can be printed in grey.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from eosparse.comparison.panels.adbench import SHRUNK
from eosparse.comparison.panels.contamination import AUTHOR
from eosparse.comparison.peers.classifiers import PLAIN
from eosparse.comparison.peers.eos import EOS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31", "#7F7F7F")
_OURS = "#D55E00"
_LINES = ("-", "--", "-.", ":")
_MARKERS = "s^DvP*Xhd<>p"
# Methods that the overview shows; the figure of a panel shows all.
_SPARSE = (
    EOS, AUTHOR, "FastMCD (scikit-learn)", "DetMCD (statsmodels)", "OGK (R)", "Stahel-Donoho (R)",
    "isolation forest", "LOF", "one-class SVM", "ECOD", "kNN",
)  # fmt: skip
_SPARSE_LABELS = (
    "EOS+SPA", "SPA", "EOS(LogReg)", "LogReg, C by CV", "EOS(forest)", "forest",
    "SVM, C by CV", "MLP, decay by CV", "CleanLearning, C by CV",
)  # fmt: skip
Style = dict[str, Any]
# With fewer repetitions a mark is hollow and has no interval.
_FEWEST_WITH_INTERVAL = 3


def assign_styles(methods: list[str]) -> dict[str, Style]:
    """Return how to draw each method; ours are thicker, and share the colour of their learner.

    Examples
    --------
    >>> found = assign_styles(["forest", "EOS(forest)"])
    >>> found["forest"]["color"] == found["EOS(forest)"]["color"]
    True
    """
    ours = {EOS: "-", AUTHOR: "--", "EOS+SPA": "-"}
    peers = [m for m in methods if m not in ours and m not in PLAIN and m != "SPA"]
    found: dict[str, Style] = {}
    for index, method in enumerate(peers):
        found[method] = {
            "color": _COLOURS[index % len(_COLOURS)],
            "linestyle": _LINES[1 + index // len(_COLOURS) % 3],
            "marker": _MARKERS[index % len(_MARKERS)],
            "linewidth": 1.1,
        }
    bold = {"linewidth": 2.2, "zorder": 5}
    for method in methods:
        if method in ours or method == "SPA":
            line = ours.get(method, ":")
            found[method] = bold | {"color": _OURS, "marker": "o", "linestyle": line}
        elif method in PLAIN:
            found[method] = found[PLAIN[method]] | bold
    return found


def draw_lines(
    ax: Axes,
    table: pd.DataFrame,
    x: str,
    y: str,
    look: dict[str, Style],
    only: tuple[str, ...] = (),
) -> None:
    """Draw the mean of each method with its interval."""
    for method, style in look.items():
        mine = table[(table["method"] == method) & table[y].notna()].sort_values(x)
        if mine.empty or (only and method not in only):
            continue
        # Hollow: the interval of two repetitions would span the figure.
        is_unsure = mine["repetitions"] < _FEWEST_WITH_INTERVAL
        ax.errorbar(
            mine[x], mine[y], mine[f"{y} ±"].mask(is_unsure), label=method, markersize=4,
            capsize=2, elinewidth=0.8, **style,
        )  # fmt: skip
        unsure = mine[is_unsure]
        ax.plot(
            unsure[x], unsure[y], linestyle="none", marker=style["marker"], color=style["color"],
            markersize=4, markerfacecolor="white", zorder=6,
        )  # fmt: skip
    ax.grid(alpha=0.25, linewidth=0.5)


def draw_published(
    ax: Axes, paper: pd.DataFrame | None, figure: str, algorithm: str, name: str
) -> None:
    """Draw the values of the paper as crosses."""
    if paper is None:
        return
    mine = paper[(paper["figure"] == figure) & (paper["algorithm"] == algorithm)]
    ax.errorbar(
        mine["x"], mine["y"], mine["ci_half"], linestyle="none", marker="x", markersize=6,
        markeredgewidth=1.4, color="#000000", capsize=2, elinewidth=0.8, label=name, zorder=6,
    )  # fmt: skip


_EOS_THERE = "Entropic Outlier Sparsification (EOS)"
Tables = dict[str, pd.DataFrame]
Draw = Callable[["Axes", Tables, "pd.DataFrame | None", bool], None]


def draw_a(ax: Axes, tables: Tables, paper: pd.DataFrame | None, sparse: bool) -> None:  # noqa: ARG001
    """Draw rows in two columns; the area of a disc is the weight of its row."""
    rows = tables["a"]
    if "x1" not in rows:
        ax.text(0.5, 0.5, "the weights collapsed", ha="center", transform=ax.transAxes)
        return
    for is_outlier, colour, name in ((False, "#56B4E9", "Gaussian"), (True, _OURS, "outlier")):
        mine = rows[rows["is outlier"] == is_outlier]
        # As pixels, because thousands of marks make a large file.
        ax.scatter(
            mine["x1"], mine["x2"], s=6 * mine["T·w"], color=colour, alpha=0.5, linewidth=0,
            rasterized=True,
        )  # fmt: skip
        ax.scatter(
            mine["x1"], mine["x2"], s=5, marker="x" if is_outlier else ".", linewidth=0.6,
            color=colour, label=name, alpha=1.0 if is_outlier else 0.25, rasterized=True,
        )  # fmt: skip
    ax.set(xlabel="column 1 (area of a disc: weight)", ylabel="column 2")
    ax.legend(loc="upper left", fontsize=7)


def draw_b(ax: Axes, tables: Tables, paper: pd.DataFrame | None, sparse: bool) -> None:  # noqa: ARG001
    """Draw the weight of every row as a colour, over rows and α."""
    rows = tables["b"]
    alphas = np.unique(rows["alpha"])
    n_rows = int(rows.groupby("alpha").size().max())
    surface = np.full((len(alphas), n_rows), np.nan)
    n_outliers = 0
    for line, alpha in enumerate(alphas):
        mine = rows[(rows["alpha"] == alpha) & ~rows["collapsed"].astype(bool)]
        if len(mine):
            surface[line] = mine["T·w"]
            n_outliers = int(mine["is outlier"].sum())
    mesh = ax.pcolormesh(surface, cmap="cividis", vmin=0.0, vmax=2.0, rasterized=True)
    ax.axvline(n_outliers, color=_OURS, linewidth=1.0)
    ax.set_facecolor("#DDDDDD")
    ticks = range(0, len(alphas), max(1, len(alphas) // 7))
    ax.set_yticks([tick + 0.5 for tick in ticks], [f"{alphas[tick]:g}" for tick in ticks])
    ax.set(xlabel="outliers | other rows (every 8th); grey: collapsed", ylabel="α")
    ax.figure.colorbar(mesh, ax=ax, label="T·w")


def _make_drawing(
    grid: str, x: str, y: str, label: str, figure: str, log_x: bool = True, log_y: bool = False
) -> Draw:
    """Return a function that draws a measure of a detection grid over one setting."""

    def draw(ax: Axes, tables: Tables, paper: pd.DataFrame | None, sparse: bool) -> None:
        table = tables[grid]
        look = assign_styles(list(dict.fromkeys(table["method"])))
        draw_lines(ax, table, x, y, look, _SPARSE if sparse else ())
        where = " (another machine)" if y == "seconds" else ""
        draw_published(ax, paper, figure, _EOS_THERE, f"EOS in the paper{where}")
        ax.set(xlabel=label, ylabel=y if y != "seconds" else "processor time, s")
        if log_x:
            ax.set_xscale("log")
        if log_y:
            ax.set_yscale("log")
        else:
            ax.set_ylim(-0.03, 1.05)

    return draw


def _draw_author(ax: Axes, paper: pd.DataFrame | None, figure: str, sparse: bool) -> None:
    """Draw the curves of the paper: EOS+SPA and, unless sparse, the others as grey lines."""
    draw_published(ax, paper, figure, "EOS+SPA", "EOS+SPA in the paper")
    if paper is None or sparse:
        return
    mine = paper[(paper["figure"] == figure) & (paper["algorithm"] != "EOS+SPA")]
    for index, (algorithm, curve) in enumerate(mine.groupby("algorithm", sort=False)):
        ax.plot(
            curve["x"], curve["y"], color="#999999", linewidth=0.9, marker=_MARKERS[index],
            markersize=3, linestyle=_LINES[index % 4], label=f"{algorithm} in the paper",
        )  # fmt: skip


def _make_noise_drawing(letter: str, noise: str) -> Draw:
    """Return a function that draws the area under the curve over the noise of labels."""

    def draw(ax: Axes, tables: Tables, paper: pd.DataFrame | None, sparse: bool) -> None:
        table = tables[letter]
        # Without noise both axes are the same.
        mine = table[(table["noise"] == noise) | (table["p"] == 0)]
        look = assign_styles(list(dict.fromkeys(table["method"])))
        draw_lines(ax, mine, "p", "AUC", look, _SPARSE_LABELS if sparse else ())
        if noise == "paper" and letter in ("g", "h"):
            _draw_author(ax, paper, f"Fig_{letter.upper()}", sparse)
        axis = "the paper's p" if noise == "paper" else "share of wrong labels"
        ax.set(xlabel=axis, ylabel="AUC, right labels")
        means = mine["AUC"].dropna()
        # Intervals of few repetitions may extend beyond 1.
        ax.set_ylim(max(min(means, default=0.5) - 0.05, 0.0), 1.02)

    return draw


DRAWINGS: dict[str, Draw] = {
    "a": draw_a,
    "b": draw_b,
    "c": _make_drawing("c", "rows", "seconds", "rows", "Fig_C", log_y=True),
    "d": _make_drawing("c", "rows", "precision", "rows", "Fig_D"),
    "e": _make_drawing("e", "columns", "precision", "columns", "Fig_E"),
    "f": _make_drawing("f", "share", "precision", "share of outliers", "Fig_F", log_x=False),
    "g": _make_noise_drawing("g", "paper"),
    "h": _make_noise_drawing("h", "paper"),
    "i": _make_noise_drawing("i", "paper"),
}
_TITLES = {
    "a": "weights, 2000 × 100", "b": "weights along α", "c": "cost, 100 columns",
    "d": "precision, 100 columns", "e": "precision, 2000 rows", "f": "precision, 1000 × 150",
    "g": "wrong labels: WDBC", "h": "wrong labels: longevity", "i": "wrong labels: Pollen",
}  # fmt: skip
# Panels that show the grid of another one.
GRID_OF = {"d": "c"}


def draw_overview(tables: Tables, paper: pd.DataFrame | None) -> Figure:
    """Return the nine panels, arranged as in the paper; those without results say so."""
    figure: Figure
    figure, axes = _make_axes(3, 3, (11.5, 12))
    for ax, (letter, draw) in zip(axes.flat, DRAWINGS.items(), strict=True):
        _draw_in_overview(ax, letter, draw, tables, paper)
    _add_shared_legend(figure, [axes.flat[i] for i in (2, 3, 4, 5)], "outside upper center")
    _add_shared_legend(figure, list(axes.flat[6:]), "outside lower center")
    return figure


def _draw_in_overview(
    ax: Axes, letter: str, draw: Draw, tables: Tables, paper: pd.DataFrame | None
) -> None:
    if _has_results(tables, letter):
        draw(ax, tables, paper, True)
    else:
        ax.text(0.5, 0.5, "not run", ha="center", va="center", transform=ax.transAxes)
    ax.set_title(f"{letter.upper()}   {_TITLES[letter]}", loc="left", fontweight="bold")


def _has_results(tables: Tables, name: str) -> bool:
    table = tables.get(GRID_OF.get(name, name))
    if table is None or table.empty:
        return False
    return bool(table["repetitions"].sum() > 0) if "repetitions" in table else True


def _add_shared_legend(figure: Figure, axes: list[Axes], where: Any, n_columns: int = 6) -> None:
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if found:
        figure.legend(
            list(found.values()), list(found), loc=where, ncols=n_columns, fontsize=8, frameon=False
        )


def draw_panel(name: str, tables: Tables, paper: pd.DataFrame | None) -> Figure | None:
    """Return the figure of one panel with all methods; None if it has no results."""
    if not _has_results(tables, name):
        return None
    if name in ("g", "h", "i"):
        return _draw_both_noises(name, tables, paper)
    if name == "harder":
        return _draw_harder(tables["harder"])
    if name == "labels":
        return _draw_other_labels(tables["labels"])
    if name == "limits":
        return _draw_dots(tables["limits"])
    if name == "adbench":
        return _draw_ranking(tables["adbench"])
    figure: Figure
    figure, ((ax,),) = _make_axes(1, 1, (8.5, 5))
    DRAWINGS[name](ax, tables, paper, False)
    if name not in ("a", "b"):
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
    ax.set_title(f"{name.upper()}   {_TITLES[name]}", loc="left", fontweight="bold")
    return figure


def _draw_both_noises(name: str, tables: Tables, paper: pd.DataFrame | None) -> Figure:
    figure: Figure
    figure, axes = _make_axes(1, 2, (12, 5.6), sharey=True)
    for ax, noise in zip(axes.flat, ("exact", "paper"), strict=True):
        _make_noise_drawing(name, noise)(ax, tables, paper, False)
    _add_shared_legend(figure, list(axes.flat), "outside lower center", n_columns=5)
    figure.suptitle(f"{name.upper()}   {_TITLES[name]}", x=0.02, ha="left", fontweight="bold")
    return figure


def _draw_small_multiples(
    table: pd.DataFrame, down: list[str], across: str, x: str, y: str, lowest: float
) -> Figure:
    kinds = list(dict.fromkeys(table[down].itertuples(index=False, name=None)))
    sizes = list(dict.fromkeys(table[across]))
    figure: Figure
    size = (3.0 * len(sizes) + 0.6, 2.4 * len(kinds) + 1.8)
    figure, axes = _make_axes(len(kinds), len(sizes), size, sharex=True, sharey=True)
    look = assign_styles(list(dict.fromkeys(table["method"])))
    for i, kind in enumerate(kinds):
        for j, size in enumerate(sizes):
            chosen = table[across] == size
            for column, value in zip(down, kind, strict=True):
                chosen &= table[column] == value
            draw_lines(axes[i, j], table[chosen], x, y, look)
            axes[i, j].set_title(f"{', '.join(map(str, kind))}; {across} {size}", fontsize=9)
            axes[i, j].set(xlabel=x, ylabel=y)
            axes[i, j].label_outer()
    # Intervals of few repetitions may extend beyond 1.
    axes[0, 0].set_ylim(lowest, 1.03)
    _add_shared_legend(figure, list(axes.flat), "outside lower center", n_columns=5)
    return figure


def _draw_harder(table: pd.DataFrame) -> Figure:
    return _draw_small_multiples(
        table, ["outliers", "inliers"], "columns", "share", "precision at count", lowest=-0.03
    )


def _draw_other_labels(table: pd.DataFrame) -> Figure:
    return _draw_small_multiples(table, ["noise"], "data", "p", "AUC", lowest=0.4)


def _draw_dots(table: pd.DataFrame) -> Figure:
    """Draw AUC-ROC of every method on every table."""
    figure: Figure
    kinds = list(dict.fromkeys(table["table"]))
    methods = list(dict.fromkeys(table["method"]))[::-1]
    n_across = min(3, len(kinds))
    n_down = -(-len(kinds) // n_across)
    size = (3.0 * n_across + 1.6, 3.0 * n_down + 0.4)
    figure, axes = _make_axes(n_down, n_across, size, sharex=True, sharey=True)
    for ax, kind in zip(axes.flat, kinds, strict=False):
        mine = table[table["table"] == kind].set_index("method").reindex(methods)
        colours = [_OURS if method == EOS else "#0072B2" for method in methods]
        _draw_intervals(ax, mine["AUC-ROC"], mine["AUC-ROC ±"], colours)
        ax.set_title(kind, fontsize=9)
        ax.tick_params(labelsize=8)
    axes[0, 0].set_yticks(range(len(methods)), methods)
    axes[0, 0].set_xlim(-0.03, 1.03)
    figure.supxlabel("AUC-ROC, mean and 95 % interval", fontsize=10)
    return figure


def _draw_intervals(ax: Axes, means: pd.Series, halves: pd.Series, colours: Any) -> None:
    """Draw means at 0, 1, ... from below, each with its interval if it has one."""
    places = np.arange(len(means))
    ax.hlines(places, means - halves, means + halves, colors=colours, linewidth=1.6)
    ax.scatter(means, places, color=colours, s=22, zorder=3)
    ax.grid(alpha=0.25, linewidth=0.5)


def _draw_ranking(ranking: pd.DataFrame) -> Figure:
    """Draw mean AUC-ROC of the methods that finished all sets, and their difference to ours."""
    shown = ranking[ranking["sets"] == ranking["sets"].max()].sort_values("AUC-ROC")
    names = shown["method"].astype(str)
    is_ours, is_published = names.str.startswith("EOS"), names.str.endswith("(published)")
    colours = np.where(is_ours, _OURS, np.where(is_published, "#999999", "#0072B2"))
    figure: Figure
    figure, ((left, right),) = _make_axes(1, 2, (8.5, 0.22 * len(shown) + 1), sharey=True)
    nothing = pd.Series(np.nan, shown.index)
    _draw_intervals(left, shown["AUC-ROC"], nothing, colours)
    for place, value in enumerate(shown["AUC-ROC"]):
        at, aside = (value, place), (5, -3)
        left.annotate(f"{value:.1f}", at, aside, textcoords="offset points", fontsize=7)
    left.set(xlabel="mean AUC-ROC, %")
    left.set_yticks(range(len(shown)), names, fontsize=8)
    left.margins(x=0.15, y=0.01)
    _draw_intervals(right, shown.get("minus EOS", nothing), shown.get("±", nothing), colours)
    right.axvline(0.0, color="#000000", linewidth=0.8)
    right.set(xlabel="difference in points, 95 % interval over sets")
    figure.suptitle(
        "orange: ours; blue: run here; grey: published; all sets finished; "
        f"differences to {SHRUNK}",
        fontsize=9,
    )
    return figure


def _make_axes(n_down: int, n_across: int, size: tuple[float, float], **shared: Any) -> Any:
    """Return a figure and its axes without pyplot, which would keep them open."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install 'eosparse[plots]'.") from error
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(n_down, n_across, squeeze=False, **shared)
