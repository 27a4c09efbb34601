"""JSON lines as text: an object per line, read, taken apart and added to without changing it."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from eosparse.rows.compression import find_compression_of, open_decompressed, open_unbounded
from eosparse.rows.formats import TableError

# A longer line is an accident, or an attack: it is in memory as a whole.
_MOST_LINE_BYTES = 2**26
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def read_lines(source: Path | bytes, name: str, *, is_bounded: bool) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank.

    Parameters
    ----------
    source : Path or bytes
        The file, or what was read from standard input; it may be compressed.
    name : str
        What messages call it.
    is_bounded : bool
        Whether it must not unpack to more than what is read into memory.
    """
    opened = open_decompressed if is_bounded else open_unbounded
    with opened(source, find_compression_of(source), name) as stream:
        number = 0
        while line := stream.readline(_MOST_LINE_BYTES + 1):
            number += 1
            if len(line) > _MOST_LINE_BYTES:
                raise TableError(f"{name}, line {number} is longer than {_MOST_LINE_BYTES} bytes.")
            if text := decode_line(line, name, number):
                yield number, text


def decode_line(line: bytes, name: str, number: int) -> str:
    """Return a line as text without spaces around it; the message of an error names the line."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError as error:
        raise TableError(f"{name}, line {number} is not UTF-8 text: {error}.") from None


def read_object(line: str, name: str, number: int) -> dict[str, Any]:
    """Return the object of a line; the message of an error names the line.

    Examples
    --------
    >>> read_object('{"a": 1, "b": null}', "rows.jsonl", 1)
    {'a': 1, 'b': None}
    """
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


def split_members(line: str) -> dict[str, str]:
    """Return the keys of an object, and their values as they are written.

    Examples
    --------
    >>> split_members('{"a": 1E5, "b": "x, y", "c": [1, 2]}')
    {'a': '1E5', 'b': '"x, y"', 'c': '[1, 2]'}
    """
    found = {}
    place = _skip(line, line.index("{") + 1)
    while line[place] != "}":
        key, place = _DECODER.raw_decode(line, place)
        start = _skip(line, _skip(line, place) + 1)  # behind the colon
        _, end = _DECODER.raw_decode(line, start)
        found[key] = line[start:end]
        place = _skip(line, end)
        if line[place] == ",":
            place = _skip(line, place + 1)
    return found


def _skip(line: str, place: int) -> int:
    """Return the place of the next character that is no space."""
    found = _SPACE.match(line, place)
    return place if found is None else found.end()


def add_members(line: str, added: Mapping[str, Any]) -> str:
    """Return an object with further keys, which it must not have; what it has stays as it is.

    Examples
    --------
    >>> add_members('{"a":1.10}', {"b": 2})
    '{"a":1.10, "b": 2}'
    """
    body = line.rstrip()[:-1].rstrip()
    more = ", ".join(f"{json.dumps(key)}: {dump(value)}" for key, value in added.items())
    separator = ", " if more and not body.endswith("{") else ""
    return f"{body}{separator}{more}}}"


def replace_members(line: str, new: Mapping[str, Any], dropped: frozenset[str]) -> str:
    """Return an object with new values of some keys and without others; the rest stays as it is.

    A value in place of text is text.

    Examples
    --------
    >>> replace_members('{"a": 1.10, "b": 2E3, "c": "3"}', {"b": 5, "c": 4}, frozenset({"a"}))
    '{"b": 5, "c": "4"}'
    """
    members = split_members(line)
    for key, value in new.items():
        is_text = members.get(key, "").startswith('"')
        members[key] = dump(str(value) if is_text else value)
    kept = (f"{json.dumps(key, ensure_ascii=False)}: {text}"
            for key, text in members.items() if key not in dropped)  # fmt: skip
    return f"{{{', '.join(kept)}}}"


def dump(value: Any) -> str:
    """Return a value as JSON: no number is null, what JSON does not know is text.

    Examples
    --------
    >>> dump(float("nan")), dump(datetime.date(2024, 1, 31)), dump("ö")
    ('null', '"2024-01-31"', '"ö"')
    """
    return json.dumps(_make_plain(value), ensure_ascii=False, default=_to_plain)


def _make_plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return value


def _to_plain(value: Any) -> Any:
    """Return numpy's numbers as Python's, bytes as their digits, and other values as text."""
    if hasattr(value, "item"):
        return value.item()
    return value.hex() if isinstance(value, bytes) else str(value)


def write_line(stream: BinaryIO, text: str) -> None:
    """Write a line; a lone surrogate is escaped."""
    stream.write(text.encode(errors="backslashreplace") + b"\n")
