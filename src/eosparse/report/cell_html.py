"""A report of wrong cells: one HTML file, without any script."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from eosparse.report.cell_map import draw_cell_map
from eosparse.report.cell_text import format_cells_details, format_cells_headline, tabulate_cells
from eosparse.report.html import read_resource
from eosparse.rows.whole_file import write_text
from eosparse.tables.cell_audit import CellSummary

# This many cells can be listed while the file stays small.
_MAX_LISTED = 2000


def write_cell_report(summary: CellSummary, path: Path) -> None:
    """Write the report of wrong cells, completely or not at all."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FunctionLoader(read_resource), autoescape=True, undefined=StrictUndefined
    )
    listed = summary.cells[:_MAX_LISTED]
    page = environment.get_template("cells.html.j2").render(
        title=f"Wrong cells in {summary.table.name}",
        headline=format_cells_headline(summary),
        details=format_cells_details(summary),
        summary=summary,
        map=draw_cell_map(summary),
        lines=tabulate_cells(listed) if listed else {},
        n_listed=len(listed),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        css=Markup(read_resource("report.css")),
        zip=zip,
    )
    write_text(path, page)
