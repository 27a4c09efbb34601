"""All that `eosparse reproduce` can run: each panel with its title and the grids behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from eosparse.comparison import adbench, contamination, labels, limits
from eosparse.comparison.classifiers import missing_package
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.ledger import Grid, Plan
from eosparse.comparison.peers import PEERS

MakeGrid = Callable[[bool, DataFolder], Grid]


@dataclass(frozen=True)
class Panel:
    """A part of the output.

    Attributes
    ----------
    title : str
        One line.
    grids : tuple of callable
        From quick or not, and a folder with data, to a grid.
    needs : tuple of str
        Files without which there is nothing to run.
    uses : tuple of str
        Files without which something is left out.
    """

    title: str
    grids: tuple[MakeGrid, ...]
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()


def _drawn(make: Callable[[bool], Grid]) -> MakeGrid:
    return lambda quick, data: make(quick)  # noqa: ARG005  # these draw their own data


_PAPER = ("paper_figure_values.csv",)
PANELS: dict[str, Panel] = {
    "a": Panel("Weights of Gaussian rows and 2 % outliers", (_drawn(contamination.panel_a),)),
    "b": Panel("Weights along α", (_drawn(contamination.panel_b),)),
    "c": Panel("Processor time against rows", (_drawn(contamination.panel_c),), (), _PAPER),
    "d": Panel("Precision against rows", (_drawn(contamination.panel_c),), (), _PAPER),
    "e": Panel("Precision against columns", (_drawn(contamination.panel_e),), (), _PAPER),
    "f": Panel(
        "Precision against the share of outliers", (_drawn(contamination.panel_f),), (), _PAPER
    ),
    "g": Panel("Wrong labels: WDBC", (partial(labels.panel, "g"),), (), _PAPER),
    "h": Panel(
        "Wrong labels: longevity", (partial(labels.panel, "h"),), ("longevity.npz",), _PAPER
    ),
    "i": Panel("Wrong labels: Pollen's cells", (partial(labels.panel, "i"),), ("pollen2014.npz",)),
    "harder": Panel("Clustered and radial outliers up to 45 %", (_drawn(contamination.harder),)),
    "limits": Panel("Tables on which EOS should lose", (_drawn(limits.grid),)),
    "adbench": Panel(
        "Real tables: the ADBench sets", (adbench.grid,), ("adbench",), ("adbench_published.csv",)
    ),
    "labels": Panel(
        "Wrong labels: other data",
        (labels.others, labels.finding),
        uses=("heart_failure.npz", "neurons.npz"),
    ),
}

QUICK = Plan(repetitions=3, least=1, budget=0.4, limit=6.0)
FULL = Plan(repetitions=50, least=2, budget=3.0, limit=30.0)


def grids_of(names: list[str], quick: bool, data: DataFolder) -> list[Grid]:
    """Return the grids of some panels, each once."""
    grids = [make(quick, data) for name in names for make in PANELS[name].grids]
    return list({grid.name: grid for grid in grids}.values())


def why_not(method: str) -> str | None:
    """Say why a method cannot run here; None if it can."""
    return PEERS[method].missing() if method in PEERS else missing_package(method)


def runnable(grid: Grid) -> Grid:
    """Return a grid without the methods that cannot run here."""
    return replace(grid, methods=tuple(m for m in grid.methods if why_not(m) is None))
