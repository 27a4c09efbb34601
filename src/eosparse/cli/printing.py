"""Print a summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from eosparse.report.controls import show_controls

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

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

    console = Console(highlight=False)
    console.print(show_plainly(format_headline(summary), style="bold"))
    for line in format_details(summary):
        console.print(show_plainly(line))
    for note in summary.notes:
        console.print(show_plainly(f"Note: {note}", style="yellow"))
    if summary.flagged[:top]:
        console.print(_tabulate(summary, top))
        console.print(show_plainly("Rows are counted from 1.", style="dim"))
    if summary.n_flagged > top:
        n_more = summary.n_flagged - top
        more = f"… and {n_more:,} more: use --top {summary.n_flagged} or --output."
        console.print(show_plainly(more))
    for path in written:
        console.print(show_plainly(f"Wrote {path}"))


def show_plainly(text: str, style: str = "") -> Text:
    """Return text for a terminal in which brackets are no markup, and control characters show."""
    from rich.text import Text

    return Text(show_controls(text, keep="\n"), style=style)


def _tabulate(summary: Summary, top: int) -> Table:
    from rich.table import Table

    from eosparse.report.text import format_rows

    table, columns = Table(box=None, pad_edge=False), format_rows(summary, top)
    for name in columns:
        is_number = name in ("row", "p-value", "P(wrong)")
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(show_plainly, cells))
    return table
