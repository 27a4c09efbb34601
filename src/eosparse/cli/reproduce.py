"""``eosparse reproduce``: the paper's figure and the field's tables."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eosparse
from eosparse.cli.extras import require_bench_extra
from eosparse.cli.progress import show_progress

if TYPE_CHECKING:
    from eosparse.comparison.data_folder import DataFolder
    from eosparse.comparison.ledger import Grid, Plan
    from eosparse.comparison.store import Store


def reproduce(
    panels: Annotated[
        list[str] | None,
        typer.Argument(help="a to i, harder, limits, adbench, labels; all if none is named."),
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
    fresh: Annotated[
        bool, typer.Option(help="Forget units finished before: of the panels named, or all.")
    ] = False,
) -> None:
    """Run the paper's experiments and the tables of the field, and write figures and a page.

    Every finished unit is kept at once: stopped or killed, the same command goes on. Ctrl-C writes
    what there is.
    """
    with require_bench_extra():
        import filelock  # noqa: F401  # asked for now, not after an hour
        import matplotlib  # noqa: F401
        import pebble  # noqa: F401

        from eosparse.comparison import panels as all_panels
        from eosparse.comparison.data_folder import DataFolder
        from eosparse.comparison.machine import describe, fingerprint
        from eosparse.comparison.results import Run, write
        from eosparse.comparison.store import OtherRunError, Store

    source = DataFolder.given(data)
    names, notes = _runnable(panels, source)
    mode = "full" if full else "quick"
    plan = all_panels.FULL if full else all_panels.QUICK
    store = Store(out or Path("results") / mode)
    os.environ["EOSPARSE_DATA"] = str(source.path.resolve())  # where workers look
    made_with = {"eosparse": eosparse.__version__, "mode": mode, "plan": str(plan)} | fingerprint()
    grids = all_panels.grids_of(names, not full, source)
    only = {grid.name for grid in grids} if panels else None
    try:
        with store.opened(made_with, fresh=fresh, only=only):
            grids = [all_panels.runnable(grid) for grid in grids]
            stopped = _ran(grids, plan, store, workers)
            notes += ["The run was stopped; what is not there yet says so."] * stopped
            made = describe(shlex.join(["eosparse", *sys.argv[1:]]), workers)
            kept, told = store.kept(), tuple(notes)
            write(Run(store.folder, tuple(names), kept, source, plan, not full, made, told))
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
        with show_progress() as observe:
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
    notes = [f"Panel {name} is left out: {said}" for name, said in lacking.items() if said]
    runnable = [name for name in names if lacking[name] is None]
    used = dict.fromkeys(file for name in runnable for file in PANELS[name].uses)
    if (missing := source.missing(used)) is not None:
        notes.append(f"A part is left out: {missing}")
    for note in notes:
        typer.echo(note, err=True)
    if not runnable:
        typer.echo("There is nothing to run.", err=True)
        raise typer.Exit(1)
    return runnable, notes
