"""JSON lines: an object per line, whose keys are the columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from eosparse.rows.formats import TableError
from eosparse.rows.json_files import MOST_KEYS, too_many_keys
from eosparse.rows.json_text import (
    add_members,
    read_lines,
    read_object,
    replace_members,
    split_members,
    write_line,
)
from eosparse.rows.limits import MOST_BYTES_IN_MEMORY
from eosparse.tables.originals import ValuesOriginal, write_value

# A cell takes as much in memory, also where a line lacks its key.
_BYTES_PER_CELL = 8


@dataclass(frozen=True)
class JsonOriginal(ValuesOriginal):
    """Lines of a file, read again whenever they are written: numbers stay as they are written."""

    source: Path | bytes
    name: str

    def read_json(self) -> Iterator[str]:
        """Yield each line as it is."""
        n_rows = 0
        for _, line in read_lines(self.source, self.name, is_bounded=True):
            n_rows += 1
            yield line
        if n_rows != len(self.rows):
            raise TableError(f"{self.name} was changed while it was read. Run it again.")

    def read_cells(self) -> Iterator[Sequence[str]]:
        """Yield the cells of each row as text."""
        for line, values in zip(self.read_json(), self.rows, strict=True):
            yield write_cells(line, self.columns, values)


def write_cells(line: str, names: Sequence[str], values: Sequence[Any]) -> list[str]:
    """Return values as text, numbers as they are written in a line.

    Examples
    --------
    >>> write_cells('{"a": 1E5, "b": "x"}', ["a", "b", "c"], [1e5, "x", None])
    ['1E5', 'x', '']
    """
    members = split_members(line)
    pairs = zip(names, values, strict=True)
    return [members[name] if _is_number(value) else write_value(value) for name, value in pairs]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def read_json_lines(source: Path | bytes, name: str) -> JsonOriginal:
    """Read an object per line; a key that a line lacks is a missing value.

    Examples
    --------
    >>> read_json_lines(b'{"a": 1}\\n{"a": 2, "b": "x"}', "t.jsonl").rows
    [[1, None], [2, 'x']]
    """
    found, places = [], dict[str, int]()
    for number, line in read_lines(source, name, is_bounded=True):
        record = read_object(line, name, number)
        for key in record:
            places.setdefault(key, len(places))
        found.append(record)
        n_bytes = _BYTES_PER_CELL * len(found) * len(places)
        if len(places) > MOST_KEYS or n_bytes > MOST_BYTES_IN_MEMORY:
            raise too_many_keys(name) if len(places) > MOST_KEYS else _too_many_cells(name, places)
    rows = [[record.get(key) for key in places] for record in found]
    return JsonOriginal(tuple(places), rows, source, name)


def _too_many_cells(name: str, places: Mapping[str, int]) -> TableError:
    return TableError(
        f"{name} has {len(places):,} different keys, and too many lines for memory. Put it into a "
        "folder, and pass the folder: its files are streamed."
    )


def write_json_lines(file: BinaryIO, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write an object per row."""
    for row in rows:
        write_line(file, add_members("{}", dict(zip(names, row, strict=True))))


@dataclass(frozen=True)
class LineCopy:
    """How lines are copied: columns are added, and some cells replaced.

    Attributes
    ----------
    added : sequence of str
        Names of the added columns.
    dropped : frozenset of str
        Those that lines have already.
    """

    added: Sequence[str]
    dropped: frozenset[str]

    def copy(self, line: str, values: Sequence[Any], new: Mapping[str, Any]) -> str:
        """Return a line with the values of added columns, and new values of others."""
        if self.dropped or new:
            line = replace_members(line, new, self.dropped)
        return add_members(line, dict(zip(self.added, values, strict=True)))
