"""``eosparse cells``: find wrong cells, and repair a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosparse.cli import table_options as options
from eosparse.cli.printing import show_plainly
from eosparse.cli.progress import StatusLine

if TYPE_CHECKING:
    from eosparse import EOSCells
    from eosparse.tables.cell_audit import CellSummary

RepairedOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write the table with wrong cells replaced to a file."),
]
ChangesOption = Annotated[
    Path | None, typer.Option("--changes", help="Write the list of wrong cells to a file.")
]
FdrOption = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, help="Expected share of right cells among those flagged."),
]
FillOption = Annotated[
    bool, typer.Option("--fill-gaps", help="Put expected values into gaps of --output too.")
]
TopOption = Annotated[int, typer.Option("--top", min=0, help="Number of cells to print.")]


def cells(
    table: options.Source,
    columns: options.ColumnsOption = None,
    ignore: options.IgnoreOption = None,
    identifier: options.IdOption = None,
    kind: options.KindOption = None,
    fdr: FdrOption = 0.01,
    output: RepairedOption = None,
    changes: ChangesOption = None,
    fill_gaps: FillOption = False,
    report: options.ReportOption = None,
    as_json: options.JsonOption = False,
    top: TopOption = 20,
    force: options.ForceOption = False,
    safe: options.SafeOption = False,
    sheet: options.SheetOption = None,
    separator: options.SeparatorOption = None,
    encoding: options.EncodingOption = None,
    header: options.HeaderOption = None,
) -> None:
    """Find wrong cells in a table, with the values that are expected instead.

    The table itself is not changed: --output writes a repaired copy, --changes a list.

    Exit codes: 0 success, 1 unforeseen error, 2 usage error or unusable file, 3 no result, 4 no
    memory or disk space, 130 interrupted.
    """
    kinds = options.split_kinds(kind)
    reading = options.Reading(sheet, separator, encoding, header)
    selection = options.TableSelection(
        table, columns, ignore, identifier, kinds=kinds, reading=reading
    )
    files = options.OutputFiles(output, report, changes, force, safe)
    with options.handle_errors() as notes, StatusLine() as status:
        _check_files(files, table)
        summary = _audit(selection, files, status, kinds, fdr=fdr, fill_gaps=fill_gaps)
    noted = replace(summary, notes=(*summary.notes, *notes))
    _print_cells(noted, files.paths, as_json=as_json, top=top)


def _check_files(files: options.OutputFiles, tables: list[str]) -> None:
    from eosparse.rows.formats import find_format
    from eosparse.tables import TableError

    files.check()
    paths = [path.resolve() for path in files.paths]
    for table in tables:
        if Path(table).resolve() in paths:
            raise TableError(
                f"{table} is the table itself, which is not changed. Name another file."
            )
    if files.model is not None:
        find_format(files.model)


def _audit(
    selection: options.TableSelection,
    files: options.OutputFiles,
    status: StatusLine,
    kinds: dict[str, str],
    *,
    fdr: float,
    fill_gaps: bool,
) -> CellSummary:
    from eosparse import EOSCells
    from eosparse.tables import take_cells, write_table
    from eosparse.tables.cell_audit import CellAudit, list_changes

    estimator = EOSCells(fdr, kinds=kinds, fill_gaps=fill_gaps)
    if selection.is_streamed:
        return _audit_on_disk(selection, files, status, estimator)
    status.show("Reading the table")
    source, columns = selection.read()
    taken = take_cells(source.frame, columns, missing="keep")
    status.show(f"Comparing {len(taken.frame):,} rows, {len(taken.names):,} columns")
    audit = CellAudit.fit(source, columns, taken, estimator)
    summary = audit.summarise()
    if files.output is not None:
        status.show(f"Writing {files.output.name}")
        files.write_output(None, source, audit.list_repairs())
    if files.model is not None:
        write_table(
            list_changes(summary),
            files.model,
            separator=source.separator,
            decimal=source.decimal,
            force=files.force,
            safe=files.safe,
        )
    if files.report is not None:
        from eosparse.report.cell_html import write_cell_report

        write_cell_report(summary, files.report)
    return summary


def _audit_on_disk(
    selection: options.TableSelection,
    files: options.OutputFiles,
    status: StatusLine,
    estimator: EOSCells,
) -> CellSummary:
    from eosparse.rows.formats import find_format
    from eosparse.tables import TableError
    from eosparse.tables.cell_stream import StreamedAudit
    from eosparse.tables.stream_cells import correct_roles
    from eosparse.tables.stream_output import check_destination
    from eosparse.tables.streaming import StreamedTable
    from eosparse.tables.survey import survey_table

    if files.report is not None:
        raise TableError("--report needs a table that fits into memory.")
    status.show(f"Looking through {selection.table}")
    needs_types = files.output is not None and find_format(files.output).separator is None
    hints = selection.reading.make_hints()
    survey = survey_table(selection.table, hints, needs_types=needs_types)
    for path in files.paths:
        check_destination(survey.table, path)
    found = selection.recognise(survey.sample)
    found = correct_roles(found, survey, is_selected=bool(selection.columns))
    table = StreamedTable.prepare(survey, found, "keep")
    status.show(f"Comparing {survey.n_rows:,} rows, {len(table.cells.names):,} columns")
    audit = StreamedAudit.fit(table, estimator)
    status.show(f"Judging {survey.n_rows:,} rows")
    return audit.judge(files.output, files.model, is_safe=files.safe)


def _print_cells(summary: CellSummary, written: list[Path], *, as_json: bool, top: int) -> None:
    from eosparse.report.json import render_json

    if as_json:
        typer.echo(render_json(summary, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    from eosparse.report.cell_text import (
        format_cells_details,
        format_cells_headline,
        tabulate_cells,
    )

    console = Console(highlight=False)
    console.print(show_plainly(format_cells_headline(summary), style="bold"))
    for line in format_cells_details(summary):
        console.print(show_plainly(line))
    for note in summary.notes:
        console.print(show_plainly(f"Note: {note}", style="yellow"))
    shown = summary.cells[:top]
    if shown:
        listing, lines = Table(box=None, pad_edge=False), tabulate_cells(shown)
        for name in lines:
            is_number = name in ("row", "p-value", "value", "expected")
            listing.add_column(name, justify="right" if is_number else "left", overflow="fold")
        for values in zip(*lines.values(), strict=True):
            listing.add_row(*map(show_plainly, values))
        console.print(listing)
        console.print(show_plainly("Rows are counted from 1.", style="dim"))
    if summary.n_wrong > top:
        console.print(
            show_plainly(f"… and {summary.n_wrong - top:,} more: use --top or --changes.")
        )
    for path in written:
        console.print(show_plainly(f"Wrote {path}"))
