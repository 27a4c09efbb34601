"""``eosparse compare``: all detectors on your own labelled table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from eosparse.cli import table_options as options
from eosparse.cli.extras import require_bench_extra
from eosparse.cli.progress import show_progress


def compare(
    table: Annotated[
        Path, typer.Argument(help="CSV, TSV, Parquet, Arrow, JSON lines or XLSX file.")
    ],
    truth: Annotated[str, typer.Option(help="Column that marks the outliers.")],
    outlier: Annotated[
        str | None,
        typer.Option(help="Value that marks outliers. Default: 1, true, yes, outlier or anomaly."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Column to ignore. Can be repeated.")
    ] = None,
    standardise: Annotated[bool, typer.Option(help="Give all columns the same scale.")] = True,
    limit: Annotated[
        float, typer.Option(min=1.0, help="Seconds of processor time per method.")
    ] = 120.0,
    out: Annotated[
        Path | None, typer.Option(help="File for the results; its extension sets the format.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes, one thread each.")] = (
        os.cpu_count() or 1
    ),
) -> None:
    """Compare detectors on your own labelled table.

    Prints how well each detector finds the outliers. Detectors never see the labels.
    """
    with require_bench_extra():
        import pebble  # noqa: F401  # fail before the table is read

        from eosparse.comparison.own_table import compare_detectors, read_labelled_table
        from eosparse.tables import write_table

    with options.handle_errors():
        options.OutputFiles(out, force=force).check()
        own = read_labelled_table(table, truth, outlier, tuple(ignore or ()), standardise)
    typer.echo(own.summary, err=True)
    with show_progress() as observe:
        found = compare_detectors(own, limit, workers, observe)
    numbers = found.drop(columns="status")
    typer.echo(numbers.to_string(index=False, float_format=lambda v: f"{v:.4g}", na_rep=""))
    for _, line in found[found["status"] != ""].iterrows():
        typer.echo(f"{line['method']}: {line['status']}", err=True)
    if out is not None:
        write_table(found.round(6), out, force=force)
