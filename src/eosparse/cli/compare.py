"""``eosparse compare``: the same peers on a table of one's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from eosparse.cli import table_options as options
from eosparse.cli.extras import require_bench_extra
from eosparse.cli.progress import show_progress


def compare(
    table: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet, Arrow or XLSX file.")],
    truth: Annotated[str, typer.Option(help="Column that says which rows are outliers.")],
    outlier: Annotated[
        str | None,
        typer.Option(help="Value of that column for outliers; 1, true or yes if not said."),
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeat.")] = None,
    standardise: Annotated[
        bool, typer.Option(help="Give all columns the same scale, as for the ADBench sets.")
    ] = True,
    limit: Annotated[float, typer.Option(min=1.0, help="Seconds that a method may take.")] = 120.0,
    out: Annotated[
        Path | None, typer.Option(help="File to write the table to; its ending says the kind.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace that file if it exists.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes, one thread each.")] = (
        os.cpu_count() or 1
    ),
) -> None:
    """Run all detectors on labelled data and print how well each finds the outliers.

    The labels are used to judge, never to fit.
    """
    with require_bench_extra():
        import pebble  # noqa: F401  # asked for now, not after the table was read

        from eosparse.comparison.own_table import judged, read
        from eosparse.tables import write_table

    with options.handle_errors():
        options.OutputFiles(out, force=force).check()
        own = read(table, truth, outlier, tuple(ignore or ()), standardise)
    typer.echo(own.said, err=True)
    with show_progress() as observe:
        found = judged(own, limit, workers, observe)
    numbers = found.drop(columns="status")
    typer.echo(numbers.to_string(index=False, float_format=lambda v: f"{v:.4g}", na_rep=""))
    for _, line in found[found["status"] != ""].iterrows():
        typer.echo(f"{line['method']}: {line['status']}", err=True)
    if out is not None:
        write_table(found.round(6), out, force=force)
