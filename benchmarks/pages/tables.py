"""The block of docs/tables.md."""

from __future__ import annotations

from benchmarks.pages.markdown import Format, make_table
from benchmarks.pages.source import Show, Source


def show_tables(source: Source) -> str:
    table = source.read("tables")
    formats: dict[str, Format] = dict.fromkeys(table, _format_any)
    return make_table(table, formats | {"command": "`{}`".format})


def _format_any(cell: object) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.0f}" if cell >= 100 else f"{cell:.3g}"


SHOWN: dict[str, Show] = {"tables": show_tables}
