"""Files as pyarrow datasets: opened, checked, and read batch by batch."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosparse.rows.formats import JSON_LINES, Format, find_format
from eosparse.rows.json_files import open_json_files
from eosparse.rows.own_files import OwnFile
from eosparse.rows.text_files import (
    CsvOptions,
    find_common_dialect,
    needs_unpacking,
    note_encoding,
    open_packed_files,
    read_text,
)

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.dataset import Dataset

    from eosparse.rows.dialect import Dialect, Hints


def import_pyarrow() -> Any:
    """Import pyarrow, or name the extra that installs it."""
    try:
        import pyarrow.csv
        import pyarrow.dataset
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "Reading rows from disk needs pyarrow: pip install 'eosparse[files]'."
        ) from error
    return pyarrow


def open_dataset(source: Any, partitioning: Any) -> Any:
    """Open a path, a glob, a folder or a list of paths as one dataset; text files as numbers."""
    files, found, options = _find_files(source, partitioning)
    pa = import_pyarrow()
    if found is JSON_LINES:
        return open_json_files(files)
    if found.separator is None:
        return _open_or_explain(files, {"format": found.arrow_name, **options})
    dialect = find_common_dialect(files)
    dataset = _open_text(files, CsvOptions(dialect), options)
    # pyarrow infers types from the first rows; integers there may be followed by decimals.
    types = {f.name: pa.float64() if pa.types.is_integer(f.type) else f.type
             for f in dataset.schema if f.name in dialect.names}  # fmt: skip
    return _open_text(files, CsvOptions(dialect, types), options)


def open_text(
    source: Any, partitioning: Any, dialect: Dialect, numbers: Sequence[str], *, is_verbatim: bool
) -> Any:
    """Open text files as text, apart from some columns, which are plain numbers."""
    files, _, options = _find_files(source, partitioning)
    pa = import_pyarrow()
    types = {name: pa.float64() if name in numbers else pa.string() for name in dialect.names}
    return _open_text(files, CsvOptions(dialect, types, is_verbatim), options)


def _open_text(files: list[str], how: CsvOptions, options: dict[str, Any]) -> Any:
    if not any(needs_unpacking(file) for file in files):
        dataset = _open_or_explain(files, {"format": how.make_format(), **options})
        return note_encoding(dataset, how.dialect)
    try:
        return open_packed_files(files, how)
    except (import_pyarrow().ArrowException, OSError) as error:
        raise ValueError(f"{files[0]} cannot be read: {error}") from error


def find_text_dialect(source: Any, hints: Hints | None = None) -> Dialect | None:
    """Return how the text files of a source are written; None for other formats."""
    files, found, _ = _find_files(source, None)
    return None if found.separator is None else find_common_dialect(files, hints)


def _find_files(source: Any, partitioning: Any) -> tuple[list[str], Format, dict[str, Any]]:
    """List the files of a source, with their format and what pyarrow needs to open them."""
    paths = [source] if isinstance(source, (str, Path)) else list(source)
    files = [file for path in paths for file in _list_files(str(path))]
    formats = {find_format(file, streamed=True) for file in files}
    if len(formats) > 1:
        names = ", ".join(sorted(found.name for found in formats))
        raise ValueError(f"{source} has files of several formats ({names}). Open them one by one.")
    is_folder = len(paths) == 1 and Path(str(paths[0])).is_dir()
    base = {"partition_base_dir": str(paths[0])} if is_folder else {}
    options = {"partitioning": partitioning if is_folder else None, **base}
    return files, formats.pop(), options


def _open_or_explain(files: list[str], options: dict[str, Any]) -> Dataset:
    pa = import_pyarrow()
    try:
        return pa.dataset.dataset(files, **options)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{files[0]} cannot be read: {error}") from error


def _list_files(path: str) -> list[str]:
    """List the files of a path, a folder or a glob pattern, in order."""
    if Path(path).is_dir():
        inside = (file for file in Path(path).rglob("*") if file.is_file())
        hidden = (".", "_")  # unfinished files and metadata
        files = [
            str(file)
            for file in inside
            if not any(part.startswith(hidden) for part in file.relative_to(path).parts)
        ]
    elif Path(path).exists():
        files = [path]
    else:
        files = glob.glob(path, recursive=True)
    if not files:
        raise FileNotFoundError(f"No file matches {path!r}.")
    return sorted(files)


def list_columns(dataset: Dataset) -> list[str]:
    """List the columns stored in the files, without those encoded in folder names."""
    first = None if is_filtered(dataset) else next(iter(dataset.get_fragments()), None)
    inside = set(dataset.schema.names if first is None else first.physical_schema.names)
    index = list_index(dataset)
    return [name for name in dataset.schema.names if name in inside and name not in index]


def list_index(dataset: Dataset) -> list[str]:
    """List the columns that pandas stores its index in, such as `__index_level_0__`."""
    stored = (dataset.schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in dataset.schema.names if name in stored]


def check_same_columns(dataset: Dataset) -> None:
    """Refuse a first file that lacks a column: pyarrow would leave it out without a word."""
    known = None
    for fragment in () if is_filtered(dataset) else dataset.get_fragments():
        try:
            names = fragment.physical_schema.names
        except (import_pyarrow().ArrowException, OSError) as error:
            raise ValueError(f"{fragment.path} cannot be read: {error}") from error
        known = known or (fragment.path, set(names))
        for name in names:
            if name not in known[1] and name not in dataset.schema.names:
                raise ValueError(f"{known[0]} has no column {name!r}, which {fragment.path} has.")


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers; booleans count as 0 and 1."""
    types = import_pyarrow().types
    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(check(kind) for check in checks)


def check_columns(dataset: Dataset, names: list[str], *, chosen: bool) -> None:
    """Raise if a column is missing or not numeric; `chosen` means that the user listed them."""
    missing = [name for name in names if name not in dataset.schema.names]
    if missing:
        raise ValueError(
            f"The files have no column {missing[0]!r}. They have {', '.join(dataset.schema.names)}."
        )
    for name in names:
        kind = dataset.schema.field(name).type
        if not is_number(kind):
            remedy = "Leave it out" if chosen else "List the columns to use: open_rows(…, columns)"
            raise ValueError(f"Column {name!r} holds {kind}, not numbers. {remedy}.")


def read_batches(
    dataset: Dataset, names: list[str], batch_size: int
) -> Iterator[tuple[RecordBatch, Any]]:
    """Yield batches, each with the fragment (a file) that it comes from."""
    options = {"batch_size": batch_size, "batch_readahead": 2, "fragment_readahead": 1}
    if is_filtered(dataset):
        for item in dataset.scanner(columns=names, **options).scan_batches():
            yield item.record_batch, item.fragment
        return
    for fragment in dataset.get_fragments():
        _check_presence(dataset, fragment, names)
        for records in _read_fragment(dataset, fragment, names, options):
            yield records, fragment


def _read_fragment(
    dataset: Dataset, fragment: Any, names: list[str], options: dict[str, int]
) -> Iterator[RecordBatch]:
    """Read some columns of a file, a few batches ahead at most.

    pyarrow's scanner does not wait for its reader: it has read all of a text file while the first
    batches are looked at, and a row group may be larger than memory.
    """
    batch_size, form = options["batch_size"], fragment.format
    if isinstance(fragment, OwnFile):
        yield from fragment.read(names, batch_size)
        return
    pa = import_pyarrow()
    if not set(names) <= set(fragment.physical_schema.names):  # some are in names of folders
        yield from fragment.to_batches(columns=names, schema=dataset.schema, **options)
    elif isinstance(form, pa.dataset.CsvFileFormat):
        yield from read_text(fragment, dataset.schema, names)
    elif isinstance(form, pa.dataset.IpcFileFormat):
        yield from _read_arrow(fragment, names, batch_size)
    else:
        yield from _read_parquet(fragment, names, batch_size)


def _read_parquet(fragment: Any, names: list[str], batch_size: int) -> Iterator[RecordBatch]:
    """Read a Parquet file page by page, and check that it holds the rows that it promises."""
    file = import_pyarrow().parquet.ParquetFile(
        fragment.path, filesystem=fragment.filesystem, pre_buffer=False, buffer_size=2**16
    )
    n_rows, n_promised = 0, file.metadata.num_rows
    for records in file.iter_batches(batch_size, columns=names):
        n_rows += len(records)
        yield records
    if names and n_rows != n_promised:
        raise ValueError(
            f"{fragment.path} is damaged: it promises {n_promised:,} rows and holds {n_rows:,}."
        )


def _read_arrow(fragment: Any, names: list[str], batch_size: int) -> Iterator[RecordBatch]:
    """Read an Arrow file batch by batch, without the columns that nobody asked for."""
    pa = import_pyarrow()
    places = [fragment.physical_schema.get_field_index(name) for name in names]
    options = pa.ipc.IpcReadOptions(included_fields=sorted(places))
    with fragment.open() as source:
        file = pa.ipc.open_file(source, options=options)
        for i in range(file.num_record_batches):
            records = file.get_batch(i).select(names)
            records.validate(full=True)  # damaged offsets of text would crash whoever follows them
            for start in range(0, len(records), batch_size):
                yield records.slice(start, batch_size)


def _check_presence(dataset: Dataset, fragment: Any, names: list[str]) -> None:
    """Refuse a column that a file lacks: pyarrow would read it as missing values."""
    in_folders = set(import_pyarrow().dataset.get_partition_keys(fragment.partition_expression))
    for name in names:
        if name in dataset.schema.names and name not in {
            *fragment.physical_schema.names,
            *in_folders,
        }:
            raise ValueError(f"{fragment.path} has no column {name!r}, which other files have.")


def is_filtered(dataset: Dataset) -> bool:
    """Whether `Dataset.filter` was applied, which hides the files."""
    return bool(getattr(dataset, "_scan_options", None))


def find_broken_part(dataset: Dataset, columns: list[str]) -> str:
    """Find the first file, row group and column that cannot be read."""
    unreadable = (import_pyarrow().ArrowException, OSError)
    for fragment in () if is_filtered(dataset) else dataset.get_fragments():
        try:
            groups = fragment.split_by_row_group() if hasattr(fragment, "row_groups") else []
        except unreadable:
            return str(fragment.path)
        for number, group in enumerate(groups or [fragment]):
            for column in columns:
                try:
                    _read_column(dataset, fragment, group, column)
                except unreadable:
                    part = f", row group {number}" if groups else ""
                    return f"{fragment.path}{part}, column {column!r}"
    return "the files"


def _read_column(dataset: Dataset, fragment: Any, group: Any, column: str) -> None:
    """Read a column of a row group, or of a file without any."""
    if group is not fragment:
        batches = group.to_batches(columns=[column], schema=dataset.schema)
    else:
        batches = _read_fragment(dataset, fragment, [column], {"batch_size": 2**16})
    for _ in batches:
        pass
