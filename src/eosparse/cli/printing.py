"""Print a summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from eosparse.tables.summary import DetectionSummary, LabelSummary, Summary

    AnySummary = TypeVar("AnySummary", DetectionSummary, LabelSummary)


def add_notes(summary: AnySummary, notes: list[str]) -> AnySummary:
    """Return a summary with further notes, such as warnings."""
    return replace(summary, notes=(*summary.notes, *notes))


def print_summary(summary: Summary, *, as_json: bool, top: int, written: list[Path]) -> None:
    """Print a summary as JSON or text, the `top` flagged rows, and the files that were written."""
    from eosparse.report.json import render_json
    from eosparse.report.text import format_details, format_headline

    if as_json:
        typer.echo(render_json(summary, indent=1))
        return
    from rich.console import Console
    from rich.text import Text

    # Everything is printed as Text: brackets in a cell are not markup.
    console = Console(highlight=False)
    console.print(Text(format_headline(summary), style="bold"))
    for line in format_details(summary):
        console.print(Text(line))
    for note in summary.notes:
        console.print(Text(f"Note: {note}", style="yellow"))
    if summary.flagged[:top]:
        console.print(_tabulate(summary, top))
        console.print(Text("Rows are counted from 1.", style="dim"))
    if summary.n_flagged > top:
        n_more = summary.n_flagged - top
        console.print(Text(f"… and {n_more:,} more: use --top {summary.n_flagged} or --output."))
    for path in written:
        console.print(Text(f"Wrote {path}"))


def _tabulate(summary: Summary, top: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    from eosparse.report.text import format_rows

    table, columns = Table(box=None, pad_edge=False), format_rows(summary, top)
    for name in columns:
        is_number = name in ("row", "p-value", "P(wrong)")
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, cells))
    return table
