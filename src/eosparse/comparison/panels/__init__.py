"""The panels of `eosparse reproduce`: each has a title and the grids behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.panels import adbench, contamination, labels, non_gaussian
from eosparse.comparison.peers import explain_missing
from eosparse.comparison.runner import Grid, Plan

MakeGrid = Callable[[bool, DataFolder], Grid]


@dataclass(frozen=True)
class Panel:
    """A part of the results.

    Attributes
    ----------
    title : str
        One line.
    grids : tuple of callable
        Each returns a grid, given whether the run is quick and the folder with data.
    needs : tuple of str
        Files that the panel cannot run without.
    uses : tuple of str
        Files without which a part is left out.
    """

    title: str
    grids: tuple[MakeGrid, ...]
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()


def _ignore_data(make: Callable[[bool], Grid]) -> MakeGrid:
    return lambda quick, data: make(quick)  # noqa: ARG005  # these draw their own data


_PAPER = ("paper_figure_values.csv",)
PANELS: dict[str, Panel] = {
    "a": Panel(
        "Weights of Gaussian rows and 2 % outliers", (_ignore_data(contamination.make_panel_a),)
    ),
    "b": Panel("Weights along α", (_ignore_data(contamination.make_panel_b),)),
    "c": Panel(
        "Processor time against rows", (_ignore_data(contamination.make_panel_c),), (), _PAPER
    ),
    "d": Panel("Precision against rows", (_ignore_data(contamination.make_panel_c),), (), _PAPER),
    "e": Panel(
        "Precision against columns", (_ignore_data(contamination.make_panel_e),), (), _PAPER
    ),
    "f": Panel(
        "Precision against the share of outliers",
        (_ignore_data(contamination.make_panel_f),),
        (),
        _PAPER,
    ),
    "g": Panel("Wrong labels: WDBC", (partial(labels.make_panel, "g"),), (), _PAPER),
    "h": Panel(
        "Wrong labels: longevity", (partial(labels.make_panel, "h"),), ("longevity.npz",), _PAPER
    ),
    "i": Panel(
        "Wrong labels: Pollen's cells", (partial(labels.make_panel, "i"),), ("pollen2014.npz",)
    ),
    "harder": Panel(
        "Clustered and radial outliers up to 45 %", (_ignore_data(contamination.make_harder),)
    ),
    "limits": Panel("Tables on which EOS should lose", (_ignore_data(non_gaussian.make_grid),)),
    "adbench": Panel(
        "Real tables: the ADBench sets",
        (adbench.make_grid,),
        ("adbench",),
        ("adbench_published.csv",),
    ),
    "labels": Panel(
        "Wrong labels: other data",
        (labels.make_others, labels.make_finding),
        uses=("heart_failure.npz", "neurons.npz"),
    ),
}

# Seconds are chosen so that on two cores a quick run takes minutes, and a full one about two hours.
QUICK = Plan(repetitions=3, least=1, budget=0.4, limit=6.0)
FULL = Plan(repetitions=50, least=2, budget=3.0, limit=30.0)


def make_grids(names: list[str], quick: bool, data: DataFolder) -> list[Grid]:
    """Return the grids of some panels, each once.

    Examples
    --------
    >>> from pathlib import Path
    >>> [grid.name for grid in make_grids(["c", "d", "f"], True, DataFolder(Path("data")))]
    ['c', 'f']
    """
    grids = [make(quick, data) for name in names for make in PANELS[name].grids]
    return list({grid.name: grid for grid in grids}.values())


def drop_missing_methods(grid: Grid) -> Grid:
    """Return a grid without the methods that cannot run on this machine."""
    return replace(grid, methods=tuple(m for m in grid.methods if explain_missing(m) is None))
