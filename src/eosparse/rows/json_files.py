"""JSON lines on disk, read in batches: what pyarrow's datasets are for other formats.

A first pass finds the keys of each file and the types of their values, as a table in memory has
them: numbers, true and false, or text. A key that a line lacks is a missing value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosparse.rows.compression import find_compression_of, open_unbounded
from eosparse.rows.formats import TableError
from eosparse.rows.json_text import decode_line, read_lines, read_object
from eosparse.rows.own_files import OwnFile, OwnFiles
from eosparse.rows.text_files import MISSING_TEXT

if TYPE_CHECKING:
    from pyarrow import Array, DataType, RecordBatch, Schema

LINE = "\0line"
"""A column that no table has: each line as it is written."""
MOST_KEYS = 10_000
"""Different keys of the lines of a file; each is a column, with a cell in every row."""
# Lines that are parsed at a time hold about this many bytes, so that a few batches fit into memory.
_BATCH_BYTES = 2**22
_MISSING = frozenset(MISSING_TEXT)


class JsonFile(OwnFile):
    """A file of JSON lines; the types of its columns are those of all files."""

    def read(self, names: Sequence[str], batch_size: int) -> Iterator[RecordBatch]:
        """Read some columns, batch by batch; `LINE` among them are the lines themselves."""
        path, number = Path(self.path), 1
        with open_unbounded(path, find_compression_of(path), self.path) as stream:
            while lines := stream.readlines(_BATCH_BYTES):
                records = self._read_block(lines, number, names)
                for start in range(0, len(records), batch_size):
                    yield records.slice(start, batch_size)
                number += len(lines)

    def _read_block(self, lines: list[bytes], first: int, names: Sequence[str]) -> RecordBatch:
        """Return lines as columns, by pyarrow unless values of a key are of several types."""
        import pyarrow as pa

        columns = {}
        if LINE in names:
            texts = (decode_line(line, self.path, i) for i, line in enumerate(lines, first))
            columns[LINE] = pa.array([text for text in texts if text], pa.string())
        keys = [name for name in names if name != LINE]
        schema = pa.schema([self.physical_schema.field(name) for name in keys])
        try:
            columns |= _parse_block(b"".join(lines), schema)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            columns |= self._parse_lines(lines, first, schema)
        return pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))

    def _parse_lines(self, lines: list[bytes], first: int, schema: Schema) -> dict[str, Array]:
        records = []
        for number, line in enumerate(lines, first):
            if text := decode_line(line, self.path, number):
                records.append(read_object(text, self.path, number))
        return {
            field.name: _make_column([record.get(field.name) for record in records], field.type)
            for field in schema
        }


def _parse_block(block: bytes, schema: Schema) -> dict[str, Array]:
    """Return lines as columns; pyarrow raises where a value has another type than its column."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.json

    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    parsing = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    table = pyarrow.json.read_json(pa.BufferReader(block), reading, parsing).combine_chunks()
    columns = {}
    for name, cells in zip(table.column_names, table.columns, strict=True):
        column = cells.chunk(0) if cells.num_chunks else pa.array([], cells.type)
        if pa.types.is_string(column.type):
            is_gap = pc.is_in(pc.utf8_trim_whitespace(column), pa.array(MISSING_TEXT))
            column = pc.if_else(is_gap, pa.scalar(None, pa.string()), column)
        columns[name] = column
    return columns


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
