"""What commands print for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eosparse.report import text as words


def print_detection(summary: dict[str, Any], top: int, written: list[Path]) -> None:
    """Print what was found, the most outlying rows, and what was left out."""
    console = Console(highlight=False)
    console.print(Text(words.headline(summary), style="bold"))
    console.print(Text(words.model_line(summary), style="dim"))
    for line in words.left_out(summary):
        console.print(Text(line))
    for note in summary["notes"]:
        console.print(Text(f"Note: {note}", style="yellow"))
    rows = words.lines_of_rows(summary, top)
    if rows:
        console.print(_table(rows, has_id=any(row["id"] for row in summary["flagged"])))
    if summary["n_flagged"] > top:
        left = summary["n_flagged"] - top
        console.print(Text(f"… and {left:,} more: --top {summary['n_flagged']} or --output."))
    for path in written:
        console.print(Text(f"Written: {path}"))


def _table(rows: list[tuple[str, str, str, str]], *, has_id: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("row", justify="right")
    if has_id:
        table.add_column("id")
    table.add_column("p-value", justify="right")
    table.add_column("why (share of the distance)", overflow="fold")
    for row, name, p_value, why in rows:
        cells = [row, *([_short(name)] if has_id else []), p_value, why]
        table.add_row(*(Text(cell) for cell in cells))  # as text: brackets are no markup
    return table


def _short(text: str, most: int = 24) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
