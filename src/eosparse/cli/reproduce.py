"""``eosparse reproduce``: the paper's figure and the field's tables."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

import eosparse
from eosparse.cli.extras import bench_needed
from eosparse.cli.progress import shown_progress


def reproduce(
    panels: Annotated[
        list[str] | None,
        typer.Argument(help="a to i, harder, adbench, labels; all if none is named."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="50 repetitions (hours), or a few (minutes).")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with data that are not shipped (or set EOSPARSE_DATA)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write; results/quick or results/full if not said.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = (
        os.cpu_count() or 1
    ),
    fresh: Annotated[bool, typer.Option(help="Forget units finished before.")] = False,
) -> None:
    """Run the paper's experiments and the tables of the field, and write figures and a page.

    Every finished unit is kept at once: stopped or killed, the same command goes on.
    """
    with bench_needed():
        from eosparse.comparison.data_folder import DataFolder
        from eosparse.comparison.machine import describe
        from eosparse.comparison.panels import FULL, PANELS, QUICK, grids_of
        from eosparse.comparison.results import write
        from eosparse.comparison.store import OtherRunError, Store
        from eosparse.comparison.units import run_grids

    names = [name.lower() for name in panels or PANELS]
    if unknown := [name for name in names if name not in PANELS]:
        raise typer.BadParameter(f"{', '.join(unknown)}: choose from {', '.join(PANELS)}.")
    plan = FULL if full else QUICK
    folder, source = out or Path("results") / ("full" if full else "quick"), DataFolder.given(data)
    notes = []
    for name in list(names):
        if (missing := source.missing(PANELS[name].needs)) is not None:
            names.remove(name)
            notes.append(f"{name}: {missing}")
            typer.echo(f"Panel {name} is left out: {missing}", err=True)
    optional = ["paper_figure_values.csv"] + ["adbench_published.csv"] * ("adbench" in names)
    if (missing := source.missing(optional)) is not None:
        typer.echo(f"Published values are not drawn: {missing}", err=True)
    grids, store = grids_of(names, not full, source), Store(folder)
    made_with = {"eosparse": eosparse.__version__, "mode": "full" if full else "quick"}
    try:
        with store.opened(made_with, fresh=fresh):
            with shown_progress() as observe:
                run_grids(grids, plan, store, workers, observe)
            command = shlex.join(["eosparse", *sys.argv[1:]])
            write(folder, names, store.kept(), source, plan, not full, describe(command), notes)
    except OtherRunError as error:
        raise typer.BadParameter(str(error)) from None
    except KeyboardInterrupt:
        typer.echo(f"Stopped; finished units are in {folder}. The same command goes on.", err=True)
        raise typer.Exit(130) from None
    typer.echo(f"Results: {folder / 'README.md'}")
