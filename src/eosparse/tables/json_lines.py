"""JSON lines: an object per line, whose keys are the columns."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from eosparse.rows.compression import find_compression_of, open_decompressed
from eosparse.rows.formats import TableError
from eosparse.tables.originals import ValuesOriginal, write_value


def read_json_lines(source: Path | bytes, name: str) -> ValuesOriginal:
    """Read an object per line; a key that a line lacks is a missing value.

    Examples
    --------
    >>> read_json_lines(b'{"a": 1}\\n{"a": 2, "b": "x"}', "t.jsonl").rows
    [[1, None], [2, 'x']]
    """
    found, places = [], dict[str, int]()
    with open_decompressed(source, find_compression_of(source), name) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                record = _read_object(line, name, number)
                for key in record:
                    places.setdefault(key, len(places))
                found.append(record)
    return ValuesOriginal(tuple(places), [[record.get(key) for key in places] for record in found])


def _read_object(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=_collect_pairs)
    except RecursionError:
        raise TableError(f"{name}, line {number} is nested too deeply.") from None
    except ValueError as error:
        raise TableError(f"{name}, line {number} is not JSON: {error}.") from None
    if not isinstance(record, dict):
        raise TableError(f'{name}, line {number} is no object, such as {{"height": 1.75}}.')
    return record


def _collect_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def write_json_lines(file: BinaryIO, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write an object per row."""
    for row in rows:
        record = {name: _make_plain(value) for name, value in zip(names, row, strict=True)}
        text = json.dumps(record, ensure_ascii=False, default=write_value)
        file.write(text.encode(errors="backslashreplace") + b"\n")


def _make_plain(value: Any) -> Any:
    """Return what JSON can hold: no number is null, dates are text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return value
