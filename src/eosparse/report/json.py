"""A summary as JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from eosparse.report.controls import escape_in_json

# "with" is a keyword of Python, so the fields have other names.
_NAMES = {"score_with": "with", "score_without": "without"}


def render_json(data: Any, **options: Any) -> str:
    """Return data as JSON, with dataclasses as objects; `options` are those of `json.dumps`.

    Examples
    --------
    >>> from eosparse.tables.summary import TableSummary
    >>> render_json(TableSummary("people.csv", n_rows=500, n_used=497))
    '{"name": "people.csv", "n_rows": 500, "n_used": 497}'
    """
    return escape_in_json(json.dumps(data, ensure_ascii=False, default=_list_fields, **options))


def _list_fields(value: Any) -> dict[str, Any]:
    return {_NAMES.get(f.name, f.name): getattr(value, f.name) for f in fields(value)}
