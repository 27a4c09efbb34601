"""What commands print for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from eosparse.report import text as words
from eosparse.report.detection import reason_text


def print_detection(summary: dict[str, Any], top: int, written: list[Path]) -> None:
    """Print what was found, the most outlying rows, and what was left out."""
    console = Console(highlight=False)
    console.print(Text(words.headline(summary), style="bold"))
    console.print(Text(words.model_line(summary), style="dim"))
    for line in words.left_out(summary):
        console.print(Text(line))
    for note in summary["notes"]:
        console.print(Text(f"Note: {note}", style="yellow"))
    columns = {
        "row": lambda r: str(r["row"]),
        "id": lambda r: _short(r["id"] or ""),
        "p-value": lambda r: words.p_value_text(r["p_value"]),
        "why (share of the distance)": lambda r: reason_text(r["reasons"]),
    }
    _print_rows(console, summary, columns, top, written)


def print_labels(summary: dict[str, Any], top: int, written: list[Path]) -> None:
    """Print what was found about labels."""
    console = Console(highlight=False)
    console.print(Text(words.label_headline(summary), style="bold"))
    for line in (words.noise_line(summary), words.quality_line(summary), *words.left_out(summary)):
        console.print(Text(line))
    for note in summary["notes"]:
        console.print(Text(f"Note: {note}", style="yellow"))
    columns = {
        "row": lambda r: str(r["row"]),
        "id": lambda r: _short(r["id"] or ""),
        "wrong": lambda r: f"{r['probability_wrong']:.0%}",
        "given": lambda r: _short(r["given"]),
        "suggested": lambda r: _short(r["suggested"]),
        "what speaks for it": lambda r: reason_text(r["reasons"]),
    }
    _print_rows(console, summary, columns, top, written)


Show = Callable[[dict[str, Any]], str]


def _print_rows(
    console: Console,
    summary: dict[str, Any],
    columns: dict[str, Show],
    top: int,
    written: list[Path],
) -> None:
    """Print the first rows as a table, and what there is besides."""
    rows = summary["flagged"][:top]
    if rows:
        has_id = any(row["id"] for row in rows)
        shown = {name: show for name, show in columns.items() if has_id or name != "id"}
        table = Table(box=None, pad_edge=False)
        for name in shown:
            right = "right" if name in ("row", "p-value", "wrong") else "left"
            table.add_column(name, justify=right, overflow="fold")  # type: ignore[arg-type]
        for row in rows:
            # As text: brackets in a cell are no markup.
            table.add_row(*(Text(show(row)) for show in shown.values()))
        console.print(table)
    if summary["n_flagged"] > top:
        left = summary["n_flagged"] - top
        console.print(Text(f"… and {left:,} more: --top {summary['n_flagged']} or --output."))
    for path in written:
        console.print(Text(f"Written: {path}"))


def _short(text: str, most: int = 24) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
