"""``eosparse reproduce``: the paper's figures, and tables of other methods."""

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
    from eosparse.comparison.runner import Grid, Plan, Store


def reproduce(
    panels: Annotated[
        list[str] | None,
        typer.Argument(help="a to i, harder, limits, adbench, labels. Default: all."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="50 repetitions in hours, or a few in minutes.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with data that eosparse does not ship (or set EOSPARSE_DATA)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Output folder. Default: results/quick or results/full.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes, one thread each.")] = (
        os.cpu_count() or 1
    ),
    fresh: Annotated[
        bool, typer.Option(help="Start again: discard finished units of these panels, or of all.")
    ] = False,
) -> None:
    """Run the paper's experiments and other benchmarks.

    Writes tables, figures and a page. Every finished unit is saved at once. If the run is stopped
    or killed, the same command resumes it. Ctrl-C writes the results so far.
    """
    with require_bench_extra():
        import filelock  # noqa: F401  # fail now, not after an hour
        import matplotlib  # noqa: F401
        import pebble  # noqa: F401

        from eosparse.comparison.data_folder import DataFolder
        from eosparse.comparison.runner import StoreError

    source = DataFolder.locate(data)
    names, notes = _select_panels(panels, source)
    folder = out or Path("results") / ("full" if full else "quick")
    try:
        is_complete = _run_panels(
            names,
            notes,
            source,
            folder,
            full=full,
            workers=workers,
            fresh=fresh,
            all_anew=not panels,
        )
    except StoreError as error:
        raise typer.BadParameter(str(error)) from None
    typer.echo(f"Results: {folder / 'README.md'}")
    if not is_complete:
        typer.echo("Stopped. Run the same command to resume.", err=True)
        raise typer.Exit(130)  # as shells report Ctrl-C


def _run_panels(
    names: list[str],
    notes: list[str],
    source: DataFolder,
    folder: Path,
    *,
    full: bool,
    workers: int,
    fresh: bool,
    all_anew: bool,
) -> bool:
    """Run panels and write their results; return False if Ctrl-C stopped the run."""
    from eosparse.comparison import panels as all_panels
    from eosparse.comparison.machine import compute_fingerprint, describe_machine
    from eosparse.comparison.results import Run, write_results
    from eosparse.comparison.runner import Store

    plan, store = all_panels.FULL if full else all_panels.QUICK, Store(folder)
    os.environ["EOSPARSE_DATA"] = str(source.path.resolve())  # where workers look
    mode = "full" if full else "quick"
    made_by = {"eosparse": eosparse.__version__, "mode": mode, "plan": str(plan)}
    grids = all_panels.make_grids(names, not full, source)
    requested = {grid.name for grid in grids}
    with store.open(
        made_by | compute_fingerprint(),
        fresh=fresh and all_anew,
        forget=lambda row: fresh and row["grid"] in requested,
    ):
        grids = [all_panels.drop_missing_methods(grid) for grid in grids]
        is_complete = _run_units(grids, plan, store, workers)
        if not is_complete:
            notes.append("The run was stopped. Cells that are missing say so.")
        machine = describe_machine(shlex.join(["eosparse", *sys.argv[1:]]), workers)
        units = store.read_units()
        write_results(
            Run(store.folder, tuple(names), units, source, plan, not full, machine, tuple(notes))
        )
    return is_complete


def _run_units(grids: list[Grid], plan: Plan, store: Store, n_workers: int) -> bool:
    """Run units; return False if Ctrl-C stopped the run."""
    from eosparse.comparison.runner import Workers, run_grids

    try:
        with show_progress() as observe:
            run_grids(grids, plan, store, Workers(n_workers), observe)
    except KeyboardInterrupt:
        return False
    return True


def _select_panels(wanted: list[str] | None, source: DataFolder) -> tuple[list[str], list[str]]:
    """Return the panels that can run, and notes about what is missing for the others."""
    from eosparse.comparison.panels import PANELS

    names = [name.lower() for name in wanted or PANELS]
    if unknown := [name for name in names if name not in PANELS]:
        raise typer.BadParameter(f"Unknown: {', '.join(unknown)}. Choose from {', '.join(PANELS)}.")
    missing = {name: source.explain_missing(PANELS[name].needs) for name in names}
    notes = [f"Panel {name} is left out: {why}" for name, why in missing.items() if why]
    runnable = [name for name in names if missing[name] is None]
    used = dict.fromkeys(file for name in runnable for file in PANELS[name].uses)
    if (why := source.explain_missing(used)) is not None:
        notes.append(f"A part is left out: {why}")
    for note in notes:
        typer.echo(note, err=True)
    if not runnable:
        typer.echo("Nothing can run without these data.", err=True)
        raise typer.Exit(1)
    return runnable, notes
