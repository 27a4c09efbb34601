"""JSON lines on disk, read in batches: what pyarrow's datasets are for other formats.

A first pass finds the keys of each file and the types of their values, as a table in memory has
them: numbers, true and false, or text. A key that a line lacks is a missing value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosparse.rows.formats import TableError
from eosparse.rows.json_text import read_lines, read_object
from eosparse.rows.own_files import OwnFile, OwnFiles
from eosparse.rows.text_files import MISSING_TEXT

if TYPE_CHECKING:
    from pyarrow import Array, DataType, RecordBatch

LINE = "\0line"
"""A column that no table has: each line as it is written."""
MOST_KEYS = 10_000
"""Different keys of the lines of a file; each is a column, with a cell in every row."""
# Lines in a batch hold about this many characters, so that a few batches fit into memory.
_BATCH_CHARACTERS = 2**22
_MISSING = frozenset(MISSING_TEXT)


class JsonFile(OwnFile):
    """A file of JSON lines; the types of its columns are those of all files."""

    def read(self, names: Sequence[str], batch_size: int) -> Iterator[RecordBatch]:
        """Read some columns, batch by batch; `LINE` among them are the lines themselves."""
        records: list[tuple[dict[str, Any], str]] = []
        n_characters = 0
        for number, line in read_lines(Path(self.path), self.path, is_bounded=False):
            records.append((read_object(line, self.path, number), line))
            n_characters += len(line)
            if len(records) == batch_size or n_characters > _BATCH_CHARACTERS:
                yield self._make_batch(records, names)
                records, n_characters = [], 0
        if records:
            yield self._make_batch(records, names)

    def _make_batch(
        self, records: list[tuple[dict[str, Any], str]], names: Sequence[str]
    ) -> RecordBatch:
        import pyarrow as pa

        columns = []
        for name in names:
            if name == LINE:
                columns.append(pa.array([line for _, line in records], pa.string()))
                continue
            kind = self.physical_schema.field(name).type
            columns.append(_make_column([record.get(name) for record, _ in records], kind))
        return pa.RecordBatch.from_arrays(columns, names=list(names))


@dataclass
class _Kinds:
    """What the values of a key are, in the lines that were read."""

    found: set[str] = field(default_factory=set)

    def add(self, value: Any) -> None:
        if value is None or (isinstance(value, str) and value.strip() in _MISSING):
            return
        if isinstance(value, int) and not isinstance(value, bool):
            self.found.add("whole" if -(2**63) <= value < 2**63 else "decimal")
        else:
            self.found.add({bool: "truth", float: "decimal", str: "text"}.get(type(value), "other"))

    def find_type(self) -> DataType:
        import pyarrow as pa

        if self.found == {"truth"}:
            return pa.bool_()
        if self.found == {"whole"}:
            return pa.int64()
        return pa.float64() if self.found and self.found <= {"whole", "decimal"} else pa.string()


def open_json_files(files: Sequence[str]) -> OwnFiles:
    """Find the keys of some files and their types in a first pass over all lines.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = path.write_text('{"a": 1, "b": "x"}\\n{"a": 2.5}\\n')
    >>> opened = open_json_files([str(path)])
    >>> next(opened.fragments[0].read(["a", "b"], 10)).to_pylist()
    [{'a': 1.0, 'b': 'x'}, {'a': 2.5, 'b': None}]
    """
    import pyarrow as pa

    kinds = dict[str, _Kinds]()
    keys = [_find_keys(file, kinds) for file in files]
    types = {name: kind.find_type() for name, kind in kinds.items()}
    schemas = [pa.schema([(name, types[name]) for name in names]) for names in keys]
    pairs = zip(files, schemas, strict=True)
    return OwnFiles(tuple(JsonFile(file, schema) for file, schema in pairs))


def _find_keys(file: str, kinds: dict[str, _Kinds]) -> list[str]:
    """Return the keys of a file in the order in which they come, and look at their values."""
    names = dict[str, None]()
    for number, line in read_lines(Path(file), file, is_bounded=False):
        for name, value in read_object(line, file, number).items():
            names[name] = None
            kinds.setdefault(name, _Kinds()).add(value)
        if len(names) > MOST_KEYS:
            raise too_many_keys(file)
    if not names:
        raise TableError(f"{file} has no columns.")
    return list(names)


def too_many_keys(name: str) -> TableError:
    """Return the error of a file whose lines have ever new keys."""
    return TableError(
        f"The lines of {name} have more than {MOST_KEYS:,} different keys, each of which would be "
        "a column. Give all lines the same keys."
    )


def _make_column(values: list[Any], kind: DataType) -> Array:
    """Return values of a key in the type of its column; text that stands for a gap is missing."""
    import pyarrow as pa

    if pa.types.is_string(kind):
        return pa.array([_to_text(value) for value in values], kind)
    known = [None if isinstance(value, str) else value for value in values]
    if pa.types.is_floating(kind):
        return pa.array([_to_float(value) for value in known], kind)
    return pa.array(known, kind)


def _to_text(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value.strip() in _MISSING):
        return None
    text = value if isinstance(value, str) else str(value)
    return text.encode(errors="backslashreplace").decode()  # a lone surrogate is no text


def _to_float(value: Any) -> float | None:
    """Return a number in double precision; one beyond it is infinite."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf")
