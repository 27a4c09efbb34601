"""What commands print for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eosparse.report import text as words
from eosparse.report.detection import reason_text


def tell(
    summary: dict[str, Any], notes: list[str], *, as_json: bool, top: int, written: list[Path]
) -> None:
    """Print a summary, for machines or people."""
    summary["notes"] += notes
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=1))
        return
    console = Console(highlight=False)
    if summary["kind"] == "labels":
        headline, columns = words.label_headline(summary), _ABOUT_LABELS
        lines = [words.noise_line(summary), words.quality_line(summary)]
    else:
        headline, columns = words.headline(summary), _ABOUT_ROWS
        lines = [words.model_line(summary)]
    console.print(Text(headline, style="bold"))
    for line in (*lines, *words.left_out(summary)):
        console.print(Text(line))
    for note in summary["notes"]:
        console.print(Text(f"Note: {note}", style="yellow"))
    _print_rows(console, summary, columns, top)
    for path in written:
        console.print(Text(f"Written: {path}"))


def _short(text: str, most: int = 24) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


Show = Callable[[dict[str, Any]], str]
_ABOUT_ROWS: dict[str, Show] = {
    "row": lambda r: str(r["row"]),
    "id": lambda r: _short(r["id"] or ""),
    "p-value": lambda r: words.p_value_text(r["p_value"]),
    "why (share of the distance)": lambda r: reason_text(r["reasons"]),
}
_ABOUT_LABELS: dict[str, Show] = {
    "row": _ABOUT_ROWS["row"],
    "id": _ABOUT_ROWS["id"],
    "wrong": lambda r: f"{r['probability_wrong']:.0%}",
    "given": lambda r: _short(r["given"]),
    "suggested": lambda r: _short(r["suggested"]),
    "what speaks for it": lambda r: reason_text(r["reasons"]),
}


def _print_rows(
    console: Console, summary: dict[str, Any], columns: dict[str, Show], top: int
) -> None:
    """Print the first rows as a table, and how many there are besides."""
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
        console.print(Text("Rows are counted from 1.", style="dim"))
    if summary["n_flagged"] > top:
        left = summary["n_flagged"] - top
        console.print(Text(f"… and {left:,} more: --top {summary['n_flagged']} or --output."))
