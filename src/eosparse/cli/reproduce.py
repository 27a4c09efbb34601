"""``eosparse reproduce``: the paper's figure and the field's tables."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eosparse
from eosparse.cli.extras import bench_needed
from eosparse.cli.progress import shown_progress

if TYPE_CHECKING:
    from eosparse.comparison.data_folder import DataFolder
    from eosparse.comparison.store import Store
    from eosparse.comparison.units import Grid, Plan


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

    Every finished unit is kept at once: stopped or killed, the same command goes on. Ctrl-C writes
    what there is.
    """
    with bench_needed():
        from eosparse.comparison import panels as all_panels
        from eosparse.comparison.data_folder import DataFolder
        from eosparse.comparison.machine import describe
        from eosparse.comparison.results import write
        from eosparse.comparison.store import OtherRunError, Store

    source = DataFolder.given(data)
    names, notes = _runnable(panels, source)
    mode = "full" if full else "quick"
    plan = all_panels.FULL if full else all_panels.QUICK
    store = Store(out or Path("results") / mode)
    try:
        with store.opened({"eosparse": eosparse.__version__, "mode": mode}, fresh=fresh):
            stopped = _ran(all_panels.grids_of(names, not full, source), plan, store, workers)
            notes += ["The run was stopped; what is not there yet says so."] * stopped
            made = describe(shlex.join(["eosparse", *sys.argv[1:]]))
            write(store.folder, names, store.kept(), source, plan, not full, made, notes)
    except OtherRunError as error:
        raise typer.BadParameter(str(error)) from None
    typer.echo(f"Results: {store.folder / 'README.md'}")
    if stopped:
        typer.echo("Stopped. The same command goes on.", err=True)
        raise typer.Exit(130)


def _ran(grids: list[Grid], plan: Plan, store: Store, workers: int) -> bool:
    """Run units; whether Ctrl-C stopped that."""
    from eosparse.comparison.units import run_grids

    try:
        with shown_progress() as observe:
            run_grids(grids, plan, store, workers, observe)
    except KeyboardInterrupt:
        return True
    return False


def _runnable(wanted: list[str] | None, source: DataFolder) -> tuple[list[str], list[str]]:
    """Return the panels that can run, and what is missing for the others, which is said too."""
    from eosparse.comparison.panels import PANELS

    names = [name.lower() for name in wanted or PANELS]
    if unknown := [name for name in names if name not in PANELS]:
        raise typer.BadParameter(f"{', '.join(unknown)}: choose from {', '.join(PANELS)}.")
    lacking = {name: source.missing(PANELS[name].needs) for name in names}
    notes = [f"{name}: {said}" for name, said in lacking.items() if said is not None]
    for note in notes:
        typer.echo(f"Left out: panel {note}", err=True)
    if (missing := source.missing(["paper_figure_values.csv"])) is not None:
        typer.echo(f"The paper's own values are not drawn: {missing}", err=True)
    return [name for name in names if lacking[name] is None], notes
