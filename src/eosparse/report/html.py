"""The summary as one HTML file: no network, nothing of the table is ever markup."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eosparse.report.detection import Summary, shown
from eosparse.report.text import headline, label_headline, quality_line
from eosparse.tables.columns import HOLDS_NUMBERS
from eosparse.tables.writing import write_text

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

Embed = Literal["flagged", "all", "none"]
EMBED: tuple[Embed, ...] = ("flagged", "all", "none")
# So many rows can be listed and searched, and keep the file small.
_MOST_LISTED = 2000
_CELL_LENGTH = 80
# Of wider tables, the columns that are more than numbers or explain a row are shown.
_MOST_COLUMNS = 200
_USED_AS = {"number": "numbers", "category": "kinds of rows", "target": "labels"}


def write_detection(
    summary: Summary, pictures: Summary, frame: pd.DataFrame, path: Path, *, embed: Embed
) -> None:
    """Write the report of a detection.

    Parameters
    ----------
    summary, pictures : dict
        From `eosparse.report.detection`.
    frame : DataFrame
        The table.
    path : Path
        File; it appears when it is complete.
    embed : {"flagged", "all", "none"}
        Rows whose cells go into the file. With "none" there are no values of the table in it, only
        row numbers and names of columns.
    """
    listed = summary["flagged"][:_MOST_LISTED]
    data = {
        "kind": summary["kind"],
        "flagged": listed if embed != "none" else [_without_values(row) for row in listed],
        "model": summary["model"],
        "map": pictures,
        **_cells(frame, summary, listed, embed),
    }
    context = {
        "n_flagged": summary["n_flagged"],
        "n_used": summary["table"]["n_used"],
        "n_listed": len(listed),
        "model": summary["model"],
        "map": pictures,
    }
    title = f"Which rows of {summary['table']['name']} do not belong"
    text = render("detection.html.j2", title, headline(summary), summary, data, context, embed)
    write_text(path, text)


def write_labels(summary: Summary, frame: pd.DataFrame, path: Path, *, embed: Embed) -> None:
    """Write the report of an audit of labels; parameters as for `write_detection`."""
    listed = summary["flagged"][:_MOST_LISTED]
    data = {
        "kind": "labels",
        "flagged": listed if embed != "none" else [_without_values(row) for row in listed],
        **_cells(frame, summary, listed, embed),
    }
    context = {
        "n_flagged": summary["n_flagged"],
        "n_used": summary["table"]["n_used"],
        "n_listed": len(listed),
        "fdr": summary["model"]["fdr"],
        "target": summary["target"],
        "task": summary["task"],
        "noise_rates": summary["noise_rates"],
        "matrix": summary["matrix"],
        "quality": summary["quality"],
        "quality_said": quality_line(summary),
    }
    title = f"Which labels of {summary['table']['name']} are wrong"
    said = label_headline(summary)
    write_text(path, render("labels.html.j2", title, said, summary, data, context, embed))


def render(
    template: str,
    title: str,
    said: str,
    summary: Summary,
    data: Summary,
    context: Summary,
    embed: Embed,
) -> str:
    """Return a report as text."""
    js = _resource("report.js")
    digest = base64.b64encode(hashlib.sha256(js.encode()).digest()).decode()
    environment = _environment()
    markup = environment.filters["safe"]
    columns = _shown_columns(summary)
    return environment.get_template(template).render(
        title=title,
        headline=said,
        notes=summary["notes"],
        columns=[
            column | {"used_as": _USED_AS.get(column["role"], f"not used ({column['role']})")}
            for column in columns
        ],
        n_more_columns=len(summary["columns"]) - len(columns),
        usual=data["usual"],
        table_said=_table_said(summary),
        embedded_said=_embedded_said(embed),
        version=summary["eosparse"],
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        css=markup(_resource("report.css")),
        js=markup(js),
        script_hash=f"sha256-{digest}",
        data=markup(inert_json(data)),
        **context,
    )


def _shown_columns(summary: Summary) -> list[Summary]:
    """Return all columns; of a wide table those that say most, in the table's order."""
    columns: list[Summary] = summary["columns"]
    if len(columns) <= _MOST_COLUMNS:
        return columns
    named = {reason["column"] for row in summary["flagged"] for reason in row["reasons"]}
    order = sorted(columns, key=lambda c: (c["why"] == HOLDS_NUMBERS, c["name"] not in named))
    chosen = {column["name"] for column in order[:_MOST_COLUMNS]}
    return [column for column in columns if column["name"] in chosen]


def inert_json(data: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(loader=FunctionLoader(_resource), autoescape=True, undefined=StrictUndefined)


def _resource(name: str) -> str:
    return (files("eosparse.report") / "templates" / name).read_text(encoding="utf-8")


def _table_said(summary: Summary) -> str:
    table = summary["table"]
    used = [c["name"] for c in summary["columns"] if c["role"] == "number"]
    said = f"{table['n_rows']:,} rows and {len(summary['columns'])} columns, {len(used)} used."
    if table["n_used"] < table["n_rows"]:
        said += f" {table['n_rows'] - table['n_used']:,} rows with gaps were left out."
    return said


def _embedded_said(embed: Embed) -> str:
    return {
        "flagged": "Of the table, this file holds the cells of flagged rows only.",
        "all": "This file holds the cells of the whole table.",
        "none": "This file holds no cells of the table, only row numbers and names of columns.",
    }[embed]


def _without_values(row: Summary) -> Summary:
    reasons = [reason | {"value": None} for reason in row["reasons"]]
    return row | {"id": None, "reasons": reasons}


def _cells(frame: pd.DataFrame, summary: Summary, listed: list[Summary], embed: Embed) -> Summary:
    """Return cells as text, by row number, and what is usual."""
    if embed == "none":
        return {"cells": {}, "cell_names": [], "usual": {}}
    frame = frame[[column["name"] for column in _shown_columns(summary)]]
    rows = range(len(frame)) if embed == "all" else [row["row"] - 1 for row in listed]
    chosen = frame.iloc[np.asarray(rows, dtype=int)]
    cells = {
        str(row + 1): [shown(value, _CELL_LENGTH) for value in line]
        for row, line in zip(rows, chosen.itertuples(index=False, name=None), strict=True)
    }
    usual = {name: said for name, said in summary["usual"].items() if name in frame.columns}
    return {"cells": cells, "cell_names": list(frame.columns), "usual": usual}
