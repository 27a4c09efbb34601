"""Text files as pyarrow reads them in batches: how they are written, and the types of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosparse.rows.compression import find_compression_of, open_stream
from eosparse.rows.dialect import Dialect, Hints, sniff_dialect
from eosparse.rows.formats import TableError, find_format
from eosparse.rows.own_files import OwnFile, OwnFiles

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema
    from pyarrow.dataset import CsvFileFormat, Dataset

MISSING_TEXT = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Cells that stand for a missing value, as in pandas."""
# Bytes that are parsed at a time: a row must fit into them, and so must a few of them into memory.
_BLOCK_BYTES = 2**21
# Extensions by which pyarrow's datasets unpack a file themselves.
_KNOWN_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2"}
# A column that pyarrow needs a name for, and that nobody has.
_TRAILING = "\0"
_ENCODING = b"eosparse: encoding"


def find_common_dialect(files: Sequence[str], hints: Hints | None = None) -> Dialect:
    """Return how all of some text files are written, or name the first that differs.

    Parameters
    ----------
    files : sequence of str
        The files.
    hints : Hints, optional
        What you said about them.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("a;b\\n1;2,5\\n")
    >>> find_common_dialect([str(path)]).separator
    ';'
    """
    common: Dialect | None = None
    for file in files:
        usual = find_format(file, streamed=True).separator or ","
        found = sniff_dialect(Path(file), file, replace(hints or Hints(), usual_separator=usual))
        if found.separator == " ":
            raise TableError(f"{file}: columns separated by blanks cannot be streamed. Use commas.")
        common = common or found
        _check_alike(common, found, files[0], file)
    assert common is not None
    return common


def _check_alike(one: Dialect, other: Dialect, file: str, other_file: str) -> None:
    """Raise unless two files have the same columns and are written in the same way."""
    for lacking, having, where in ((other, one, other_file), (one, other, file)):
        missing = [name for name in having.names if name not in lacking.names]
        if missing:
            raise TableError(f"{where} has no column {missing[0]!r}, which other files have.")
    # The decimal mark of a file of whole numbers is unknown, and each file may end its own lines.
    if replace(other, line_end=one.line_end, decimal=one.decimal) != one:
        raise TableError(
            f"{other_file} is written differently from {file}: other columns come first, or its "
            "separator, encoding or lines above the header differ. Open them one by one."
        )


@dataclass(frozen=True)
class CsvOptions:
    """How pyarrow is to read text files.

    Attributes
    ----------
    dialect : Dialect
        How the files are written.
    types : mapping of str to pyarrow.DataType
        Types of columns; others are inferred from the first block.
    is_verbatim : bool
        Whether cells of text that stand for a missing value are kept as they are.
    """

    dialect: Dialect
    types: Mapping[str, Any] = field(default_factory=dict)
    is_verbatim: bool = False

    @property
    def parsing(self) -> Any:
        """How lines are split."""
        import pyarrow.csv

        dialect = self.dialect
        return pyarrow.csv.ParseOptions(
            delimiter=dialect.separator, quote_char=dialect.quote, newlines_in_values=True
        )

    @property
    def reading(self) -> Any:
        """How bytes become lines."""
        import pyarrow.csv

        dialect = self.dialect
        return pyarrow.csv.ReadOptions(
            column_names=[*dialect.names, *([_TRAILING] if dialect.has_trailing else [])],
            skip_rows=dialect.n_lines_above,
            encoding=_find_encoding(dialect),
            block_size=_BLOCK_BYTES,
        )

    def convert(self, names: Sequence[str] = ()) -> Any:
        """Return how cells become values, of all columns or some."""
        import pyarrow.csv

        types = {name: kind for name, kind in self.types.items() if not names or name in names}
        return pyarrow.csv.ConvertOptions(
            column_types=types,
            include_columns=list(names),
            null_values=list(MISSING_TEXT),
            strings_can_be_null=not self.is_verbatim,
            decimal_point=self.dialect.decimal,
        )

    def make_format(self) -> CsvFileFormat:
        """Return what pyarrow's datasets take."""
        import pyarrow.dataset

        return pyarrow.dataset.CsvFileFormat(
            parse_options=self.parsing, read_options=self.reading, convert_options=self.convert()
        )


@dataclass(frozen=True)
class PackedText(OwnFile):
    """A compressed text file, unpacked while it is read."""

    options: CsvOptions = field(kw_only=True)

    def read(self, names: Sequence[str], batch_size: int) -> Iterator[RecordBatch]:  # noqa: ARG002  # pyarrow reads blocks of bytes
        """Read some columns, block by block."""
        with open_packed(self.path, self.options, names) as reader:
            yield from reader


@contextmanager
def open_packed(path: str, options: CsvOptions, names: Sequence[str] = ()) -> Iterator[Any]:
    """Open a compressed text file as pyarrow's reader of all columns or some."""
    import pyarrow.csv

    with (
        open_stream(Path(path)) as stream,
        pyarrow.csv.open_csv(
            stream, options.reading, options.parsing, options.convert(names)
        ) as reader,
    ):
        yield reader


def open_packed_files(files: Sequence[str], options: CsvOptions) -> OwnFiles:
    """Open compressed text files; types that are not known are those of the first block."""
    with open_packed(files[0], options, options.dialect.names) as reader:
        schema = reader.schema
    return OwnFiles(tuple(PackedText(file, schema, options=options) for file in files))


def needs_unpacking(path: str) -> bool:
    """Whether a file is compressed in a way that pyarrow's datasets do not know by its name."""
    return find_compression_of(Path(path)) != _KNOWN_COMPRESSIONS.get(Path(path).suffix.lower())


def _find_encoding(dialect: Dialect) -> str:
    """Return pyarrow's name of an encoding; it skips the byte order mark of UTF-8 itself."""
    return "utf8" if dialect.encoding in ("utf-8", "utf-8-sig") else dialect.encoding


def note_encoding(dataset: Dataset, dialect: Dialect) -> Dataset:
    """Return a dataset whose schema tells the encoding, which its fragments forget."""
    told = {_ENCODING: _find_encoding(dialect).encode()}
    return dataset.replace_schema(dataset.schema.with_metadata(told))


def read_text(fragment: Any, schema: Schema, names: Sequence[str]) -> Iterator[RecordBatch]:
    """Read some columns of a text file of a dataset, block by block, in the types of a schema."""
    import pyarrow.csv

    given = fragment.format.default_fragment_scan_options
    known = given.convert_options
    converting = pyarrow.csv.ConvertOptions(
        column_types={name: schema.field(name).type for name in names},
        include_columns=list(names),
        null_values=known.null_values,
        strings_can_be_null=known.strings_can_be_null,
        decimal_point=known.decimal_point,
    )
    reading = given.read_options
    reading.encoding = (schema.metadata or {}).get(_ENCODING, b"utf8").decode()
    with (
        fragment.filesystem.open_input_stream(fragment.path) as stream,
        pyarrow.csv.open_csv(stream, reading, fragment.format.parse_options, converting) as reader,
    ):
        yield from reader
