"""A summary as one HTML file that loads nothing and in which no cell of the table is markup."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eosparse.report.json import render_json
from eosparse.report.text import format_centre, format_headline, format_quality, name_kinds_options
from eosparse.rows.whole_file import write_text
from eosparse.tables.columns import PLAIN_NUMBERS, Column, Role
from eosparse.tables.outlier_map import OutlierMap
from eosparse.tables.reasons import format_cell
from eosparse.tables.summary import (
    DetectionSummary,
    FlaggedLabel,
    FlaggedRow,
    GroupSummary,
    LabelSummary,
    Summary,
)

if TYPE_CHECKING:
    import pandas as pd

Embed = Literal["flagged", "all", "none"]
# This many rows can be listed and searched while the file stays small.
_MAX_LISTED = 2000
_MAX_CELL_LENGTH = 80
# Of wider tables, only the columns that are not plain numbers or explain a row are listed.
_MAX_COLUMNS = 200
# Pairs of given and suggested class that are listed.
_MOST_PAIRS = 20
_LEARNERS = {"linear": "a linear model", "boosted": "a model of boosted trees"}
# Columns in which the middle of a group is shown.
_MOST_CENTRES = 8
_USED_AS = {
    Role.NUMBER: "number",
    Role.CATEGORY: "category",
    Role.DATE: "date",
    Role.TARGET: "labels",
}
_EMBEDDED = {
    "flagged": "Of the table, this file contains only the cells of flagged rows.",
    "all": "This file contains the cells of the whole table.",
    "none": "This file contains no cells of the table other than labels.",
}
# Cells in the description of a column, such as those that are not numbers.
_QUOTED_CELL = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def write_detection_report(
    summary: DetectionSummary,
    outlier_map: OutlierMap,
    frame: pd.DataFrame,
    path: Path,
    *,
    embed: Embed,
) -> None:
    """Write the report of a detection.

    Parameters
    ----------
    summary : DetectionSummary
        What was found.
    outlier_map : OutlierMap
        The points of its pictures.
    frame : DataFrame
        The table, or the rows of it that are listed; the index has their places, from 0.
    path : Path
        The file, which is written completely or not at all.
    embed : {"flagged", "all", "none"}
        Rows whose cells the file contains. With "none" it contains row numbers, names of columns,
        and labels.
    """
    title = f"Outliers in {summary.table.name}"
    if embed == "none":
        outlier_map = replace(outlier_map, margins=[])
        summary = replace(summary, groups=tuple(replace(g, centre={}) for g in summary.groups))
    extra = {"model": summary.model, "map": outlier_map}
    context = extra | {
        "groups": [(group, _format_centre(group)) for group in summary.groups],
        "kinds_options": name_kinds_options(summary.model),
    }
    write_text(path, _render("detection.html.j2", title, summary, frame, embed, extra, context))


def _format_centre(group: GroupSummary) -> str:
    """Return the middle of a group in a few columns, the most telling first."""
    names = [name for name in group.columns if name in group.centre]
    names += [name for name in group.centre if name not in names]
    shown = format_centre(group, names[:_MOST_CENTRES])
    return ", ".join(shown) + (", …" if len(names) > _MOST_CENTRES else "")


def write_label_report(
    summary: LabelSummary, frame: pd.DataFrame, path: Path, *, embed: Embed
) -> None:
    """Write the report of a label audit; parameters as for `write_detection_report`."""
    title = f"Wrong labels in {summary.table.name}"
    context = {
        "quality_text": format_quality(summary.quality),
        "learner": _LEARNERS.get(summary.model.learner, "a model"),
        "most_pairs": _MOST_PAIRS,
    }
    write_text(path, _render("labels.html.j2", title, summary, frame, embed, {}, context))


def _render(
    template: str,
    title: str,
    summary: Summary,
    frame: pd.DataFrame,
    embed: Embed,
    extra_data: dict[str, Any],
    context: dict[str, Any],
) -> str:
    """Render a template with a summary; `extra_data` goes to the script of the page as well."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FunctionLoader(read_resource), autoescape=True, undefined=StrictUndefined
    )
    columns = _choose_columns(summary)
    listed: list[FlaggedRow | FlaggedLabel] = [*summary.flagged[:_MAX_LISTED]]
    if embed == "none":
        columns = [replace(column, why=_QUOTED_CELL.sub("…", column.why)) for column in columns]
        listed = [_withhold_values(row) for row in listed]
    data = {
        "kind": summary.kind,
        "flagged": listed,
        **extra_data,
        **_embed_cells(frame, summary, columns, listed, embed),
    }
    script = read_resource("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template(template).render(
        title=title,
        headline=format_headline(summary),
        summary=summary,
        n_listed=len(listed),
        columns=columns,
        used_as={column.name: _describe_use(column) for column in columns},
        usual=data["usual"],
        table_text=_format_table(summary),
        embedded_text=_EMBEDDED[embed],
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        css=Markup(read_resource("report.css")),
        js=Markup(script),
        script_hash=f"sha256-{digest}",
        data=Markup(render_inert_json(data)),
        **context,
    )


def read_resource(name: str) -> str:
    """Return a template, style sheet or script."""
    return (files("eosparse.report") / "templates" / name).read_text(encoding="utf-8")


def render_inert_json(data: Any) -> str:
    """Return JSON that cannot end the script element it stands in.

    Examples
    --------
    >>> print(render_inert_json({"x": "</script>"}))
    {"x":"\\u003c/script\\u003e"}
    """
    text = render_json(data, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _choose_columns(summary: Summary) -> list[Column]:
    """Return all columns, or of a wide table the most informative ones, in the table's order."""
    columns = list(summary.columns)
    if len(columns) <= _MAX_COLUMNS:
        return columns
    explaining = {reason.column for row in summary.flagged for reason in row.reasons}
    order = sorted(columns, key=lambda c: (c.why == PLAIN_NUMBERS, c.name not in explaining))
    chosen = {column.name for column in order[:_MAX_COLUMNS]}
    return [column for column in columns if column.name in chosen]


def _describe_use(column: Column) -> str:
    """Say what a column is used as, with the kind that the detector saw where they differ."""
    used = _USED_AS.get(column.role, f"not used ({column.role})")
    if column.kind is None or column.kind == used:
        return used
    return f"{column.kind} ({column.kind_why})"


def _format_table(summary: Summary) -> str:
    table = summary.table
    n_used = sum(column.role.is_used for column in summary.columns)
    text = f"{table.n_rows:,} rows and {len(summary.columns)} columns, {n_used} used."
    if table.n_used < table.n_rows:
        text += f" {table.n_rows - table.n_used:,} rows with missing values were left out."
    return text


def _withhold_values(row: FlaggedRow | FlaggedLabel) -> FlaggedRow | FlaggedLabel:
    reasons = tuple(replace(reason, value=None) for reason in row.reasons)
    return replace(row, id=None, reasons=reasons)


def _embed_cells(
    frame: pd.DataFrame,
    summary: Summary,
    columns: list[Column],
    listed: Sequence[FlaggedRow | FlaggedLabel],
    embed: Embed,
) -> dict[str, Any]:
    """Return cells as text by row number, the names of their columns, and the usual values."""
    if embed == "none":
        return {"cells": {}, "cell_names": [], "usual": {}}
    names = [column.name for column in columns]
    rows = [*frame.index] if embed == "all" else [row.row - 1 for row in listed]
    lines = frame.loc[rows, names].itertuples(index=False, name=None)
    cells = {
        str(row + 1): [format_cell(value, _MAX_CELL_LENGTH) for value in line]
        for row, line in zip(rows, lines, strict=True)
    }
    usual = {name: text for name, text in summary.usual.items() if name in names}
    return {"cells": cells, "cell_names": names, "usual": usual}
