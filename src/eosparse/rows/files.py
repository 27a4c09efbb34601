"""Rows on disk: Parquet, Arrow and CSV files, streamed block by block.

However large the files, a few batches are in memory at a time. Every batch is checked as it is
read: numbers without gaps, or an error that says where.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from eosparse.core import FloatArray, IntArray, Mergeable
from eosparse.rows.memory import block_rows, block_slices, fold_array
from eosparse.rows.side_by_side import folded, in_order, single_threaded_blas
from eosparse.rows.table import Chained, NamedColumns, unchanged

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.dataset import Dataset

Part = TypeVar("Part", bound=Mergeable)
Value = TypeVar("Value")
Source = str | Path | Sequence[str | Path]

_FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow", ".csv": "csv", ".tsv": "csv", ".gz": "csv",
}  # fmt: skip


def arrow() -> Any:
    """Return pyarrow, or say how to get it."""
    try:
        import pyarrow.csv
        import pyarrow.dataset
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            "rows on disk are read with pyarrow: pip install 'eosparse[files]'"
        ) from error
    return pyarrow


@dataclass(frozen=True)
class Batch:
    """Some rows as they were read, and where they came from."""

    records: RecordBatch
    fragment: Any
    first_row: int

    @property
    def file(self) -> str:
        """The file that they were read from."""
        return str(self.fragment.path)


@dataclass(frozen=True)
class FileRows(NamedColumns):
    """Rows of one or more files.

    Attributes
    ----------
    dataset : pyarrow.dataset.Dataset
        The files.
    columns : tuple of str
        Columns to use, all numbers.
    weights : str or None
        Column of prior weights.
    prepare : callable
        Applied to each block.
    """

    dataset: Dataset
    columns: tuple[str, ...]
    weights: str | None = None
    prepare: Callable[[FloatArray], FloatArray] = field(default=unchanged, repr=False)

    @property
    def n_present(self) -> int:
        """Number of rows that count."""
        return int(self._totals[0])

    @property
    def mass(self) -> float:
        """Sum of the prior weights."""
        return float(self._totals[1])

    @cached_property
    def _totals(self) -> tuple[float, float]:
        if self.weights is None:
            size = float(self._guarded(self.dataset.count_rows))
            return size, size
        only, present, mass = FileRows(self.dataset, (), self.weights), 0.0, 0.0
        for batch in only.batches():
            prior = only.numbers(batch)[1]
            present, mass = present + np.count_nonzero(prior), mass + float(np.sum(prior))  # type: ignore[arg-type]
        return present, mass

    def fold(self, kernel: Callable[[FloatArray, FloatArray | None], Part]) -> Part:
        """Apply a kernel to every prepared block, side by side; merge the results in order."""

        def one(batch: Batch) -> Part | None:
            return fold_array(*self.numbers(batch), self.prepare, kernel)

        return folded(self.batches(), one)

    def each(
        self, function: Callable[[Batch, FloatArray], Value], others: Sequence[str] = ()
    ) -> Iterator[Value]:
        """Yield a function of every batch and its prepared rows, in order."""
        with single_threaded_blas() as n_threads:
            yield from in_order(
                self.batches(others),
                lambda batch: function(batch, self._prepared(batch)),
                n_threads=n_threads,
            )

    def _prepared(self, batch: Batch) -> FloatArray:
        values, _ = self.numbers(batch)
        return np.concatenate([self.prepare(values[part]) for part in block_slices(values.shape)])

    def weighted_by(self, column: str) -> FileRows:
        """Return the rows with a column of prior weights, which is not a feature then."""
        used = tuple(name for name in self.columns if name != column)
        rows = replace(self, columns=used, weights=column)
        rows.check_columns(chosen=True)
        return rows

    def check_columns(self, *, chosen: bool) -> None:
        """All columns must be there, and be numbers."""
        _check_columns(self.dataset, [*self.columns, *filter(None, [self.weights])], chosen=chosen)

    def prepared(self, prepare: Callable[[FloatArray], FloatArray]) -> FileRows:
        """Return the same rows, prepared in another way."""
        other = replace(self, prepare=prepare)
        if "_totals" in self.__dict__:
            other.__dict__["_totals"] = self._totals  # a pass, where there are weights
        return other

    def mapped(self, function: Callable[[FloatArray], FloatArray]) -> FileRows:
        """Return rows of one number each, made anew whenever they are read."""
        return self.prepared(Chained(self.prepare, function))

    def column(self, dtype: Any) -> Any:
        """Return mapped rows as one array: eight bytes per row in memory."""
        parts = self.each(lambda _, numbers: numbers.astype(dtype, copy=False))
        return np.concatenate([np.zeros(0, dtype), *parts])

    def take(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return some of the rows that count, by their number among these, with prior weights."""
        found, seen = [], 0
        for batch in self.batches():
            values, prior = self.numbers(batch)
            mass = np.ones(len(values)) if prior is None else prior
            present = np.flatnonzero(mass > 0)
            low, high = np.searchsorted(numbers, (seen, seen + len(present)))
            rows = present[numbers[low:high] - seen]
            found.append((values[rows], mass[rows]))
            seen += len(present)
        return np.concatenate([v for v, _ in found]), np.concatenate([m for _, m in found])

    def batches(self, others: Sequence[str] = ()) -> Iterator[Batch]:
        """Read the files from first to last, with other columns beside those used."""
        names = list(dict.fromkeys([*self.columns, *filter(None, [self.weights]), *others]))
        read, seen = _read(self.dataset, names, block_rows(len(names))), dict[str, int]()
        while (item := self._guarded(lambda: next(read, None), others)) is not None:
            records, fragment = item
            if len(records):
                batch = Batch(records, fragment, seen.get(fragment.path, 0))
                seen[batch.file] = batch.first_row + len(records)
                yield batch

    def numbers(self, batch: Batch) -> tuple[FloatArray, FloatArray | None]:
        """Return the columns of a batch as one block, and the prior weights."""
        values = np.empty((len(batch.records), self.n_features), order="F")
        for i, name in enumerate(self.columns):
            values[:, i] = self._column(batch, name)
        if self.weights is None:
            return values, None
        prior = self._column(batch, self.weights)
        if (prior < 0).any():
            row = int(np.flatnonzero(prior < 0)[0])
            raise ValueError(f"{self._place(batch, row)}, column {self.weights!r}: negative weight")
        return values, prior

    def _column(self, batch: Batch, name: str) -> FloatArray:
        records = batch.records.column(name)
        if not _is_number(records.type):
            raise ValueError(
                f"{batch.file}, column {name!r}: {records.type}, where other files have numbers."
            )
        if records.null_count:
            row = int(np.flatnonzero(records.is_null().to_numpy(zero_copy_only=False))[0])
            raise ValueError(f"{self._place(batch, row)}, column {name!r}: a value is missing. "
                             "Drop or fill it first.")  # fmt: skip
        numbers: FloatArray = records.cast(arrow().float64(), safe=False).to_numpy()
        if not np.isfinite(numbers.sum()) and not np.isfinite(numbers).all():
            row = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise ValueError(f"{self._place(batch, row)}, column {name!r}: {numbers[row]} is not a "
                             "finite number. Drop or replace it first.")  # fmt: skip
        return numbers

    def _place(self, batch: Batch, row: int) -> str:
        """Name the file, the row group if it has any, and the row."""
        number = batch.first_row + row
        if _is_filtered(self.dataset):
            return f"{batch.file}, row {number} of those that pass the filter"
        if not hasattr(batch.fragment, "row_groups"):
            return f"{batch.file}, row {number}"
        metadata = batch.fragment.metadata
        ends = np.cumsum([metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)])
        return (
            f"{batch.file}, row group {np.searchsorted(ends, number, side='right')}, row {number}"
        )

    def _guarded(self, read: Callable[[], Value], others: Sequence[str] = ()) -> Value:
        """Read; if pyarrow cannot, say in which file, row group and column."""
        try:
            return read()
        except (arrow().ArrowException, OSError) as error:
            names = [*self.columns, *filter(None, [self.weights]), *others]
            where = _broken_part(self.dataset, names)
            raise ValueError(f"{where} cannot be read: {error}") from error


def _read(dataset: Dataset, names: list[str], batch_size: int) -> Iterator[tuple[RecordBatch, Any]]:
    """Read batches, and the fragment, a file, that each comes from."""
    options = {"batch_size": batch_size, "batch_readahead": 2, "fragment_readahead": 1}
    if _is_filtered(dataset):
        for item in dataset.scanner(columns=names, **options).scan_batches():
            yield item.record_batch, item.fragment
        return
    for fragment in dataset.get_fragments():
        _check_presence(dataset, fragment, names)
        if hasattr(fragment, "row_groups") and set(names) <= set(fragment.physical_schema.names):
            # Page by page: a row group may be larger than memory.
            file = arrow().parquet.ParquetFile(
                fragment.path, filesystem=fragment.filesystem, pre_buffer=False, buffer_size=2**16
            )
            batches = file.iter_batches(batch_size, columns=names)
        else:
            batches = fragment.to_batches(columns=names, schema=dataset.schema, **options)
        for records in batches:
            yield records, fragment


def _check_presence(dataset: Dataset, fragment: Any, names: list[str]) -> None:
    """A column that only some of the files have would be read as missing values."""
    in_folders = set(arrow().dataset.get_partition_keys(fragment.partition_expression))
    for name in names:
        if name in dataset.schema.names and name not in {
            *fragment.physical_schema.names,
            *in_folders,
        }:
            raise ValueError(f"{fragment.path} has no column {name!r}, which other files have.")


def _is_filtered(dataset: Dataset) -> bool:
    """Whether some rows were left out by `Dataset.filter`, which hides the files."""
    return bool(getattr(dataset, "_scan_options", None))


def write_parquet(
    rows: FileRows,
    output: str | Path,
    function: Callable[[FloatArray], dict[str, FloatArray]],
    keys: Sequence[str] = (),
    *,
    overwrite: bool = False,
) -> Path:
    """Write columns made from every row beside its keys, or its number, to a Parquet file.

    The file appears when it is complete, or not at all.
    """
    output = Path(output)
    if output.exists() and not overwrite:
        raise FileExistsError(f"{output} exists. Name another file, or pass overwrite=True.")
    schema = rows.dataset.schema
    missing = [key for key in keys if key not in schema.names]
    if missing:
        raise ValueError(f"no column {missing[0]!r} in the files to take as a key.")
    if str(output.absolute()) in {str(Path(file).absolute()) for file in rows.dataset.files}:
        raise ValueError(f"{output} is one of the files that are read. Name another file.")
    pa = arrow()

    def one(batch: Batch, values: FloatArray) -> Any:
        own = {key: batch.records.column(key).cast(schema.field(key).type) for key in keys}
        return own, function(values)

    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    writer, seen = None, 0
    try:
        for own, made in rows.each(one, keys):
            size = len(next(iter(made.values())))
            numbers = {} if keys else {"row": np.arange(seen, seen + size)}
            table = pa.table({**own, **numbers, **made})
            writer = writer or pa.parquet.ParquetWriter(partial, table.schema)
            writer.write_table(table)
            seen += size
        if writer is None:
            raise ValueError("the files have no rows.")
        writer.close()
        os.replace(partial, output)
    finally:
        try:
            if writer is not None:
                writer.close()
        finally:
            partial.unlink(missing_ok=True)
    return output


def _broken_part(dataset: Dataset, columns: list[str]) -> str:
    """Find the first file, row group and column that cannot be read."""
    unreadable = (arrow().ArrowException, OSError)
    for fragment in () if _is_filtered(dataset) else dataset.get_fragments():
        try:
            groups = fragment.split_by_row_group() if hasattr(fragment, "row_groups") else []
        except unreadable:
            return str(fragment.path)
        for number, group in enumerate(groups or [fragment]):
            for column in columns:
                try:
                    for _ in group.to_batches(columns=[column], schema=dataset.schema):
                        pass
                except unreadable:
                    part = f", row group {number}" if groups else ""
                    return f"{fragment.path}{part}, column {column!r}"
    return "the files"


def open_rows(
    source: Source | Dataset,
    columns: Sequence[str] | None = None,
    *,
    weights: str | None = None,
    partitioning: Any = "hive",
) -> FileRows:
    """Open rows on disk for `EOSDetector`, which never reads more than a few batches at a time.

    Parameters
    ----------
    source : path, glob, folder, list of paths, or pyarrow Dataset
        Parquet, Arrow (feather, ipc) or CSV (tsv, gz) files; all of one format.
    columns : sequence of str, optional
        Columns to use. By default all that are in the files; they must be numbers.
    weights : str, optional
        Column with prior weights: k equals the same row k times, 0 its absence.
    partitioning : str or pyarrow.dataset.Partitioning, default="hive"
        How the names of folders stand for columns, if `source` is a folder; such columns are used
        only if named.

    Returns
    -------
    FileRows
        To be given to `EOSDetector.fit` and the scoring methods in place of an array.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd
    >>> from eosparse import EOSDetector, open_rows
    >>> folder = tempfile.mkdtemp()
    >>> frame = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 2)), columns=["a", "b"])
    >>> frame.assign(id=range(500)).to_parquet(f"{folder}/part-0.parquet")
    >>> detector = EOSDetector().fit(open_rows(folder, ["a", "b"]))
    >>> detector.location_.shape
    (2,)
    """
    dataset = source if _is_dataset(source) else _dataset(source, partitioning)
    if not hasattr(dataset, "files"):
        raise ValueError(f"a {type(dataset).__name__} has no files: write it to Parquet first.")
    used = tuple(_names_in_files(dataset) if columns is None else columns)
    if columns is None and weights is not None:
        used = tuple(name for name in used if name != weights)
    rows = FileRows(dataset, used)
    rows.check_columns(chosen=columns is not None)
    return rows if weights is None else rows.weighted_by(weights)


def is_on_disk(X: Any) -> bool:
    """Whether something stands for rows on disk: a path, paths, a Dataset, or opened rows."""
    paths = list(X) if isinstance(X, (list, tuple)) else [X]
    is_path = bool(paths) and all(isinstance(path, (str, Path)) for path in paths)
    return isinstance(X, FileRows) or _is_dataset(X) or is_path


def _is_dataset(source: Any) -> bool:
    return type(source).__module__.startswith("pyarrow") and hasattr(source, "get_fragments")


def _dataset(source: Any, partitioning: Any) -> Dataset:
    paths = [source] if isinstance(source, (str, Path)) else list(source)
    files = [file for path in paths for file in _files(str(path))]
    formats = {_format(file) for file in files}
    delimiters = {_is_tabbed(file) for file in files}
    if len(formats) > 1 or len(delimiters) > 1:
        raise ValueError(f"{source}: files of several formats ({', '.join(sorted(formats))}).")
    is_folder = len(paths) == 1 and Path(str(paths[0])).is_dir()
    base = {"partition_base_dir": str(paths[0])} if is_folder else {}
    kind: Any = formats.pop()
    pa = arrow()
    if kind == "csv" and _is_tabbed(files[0]):
        kind = pa.dataset.CsvFileFormat(pa.csv.ParseOptions(delimiter="\t"))
    options = {"format": kind, "partitioning": partitioning if is_folder else None, **base}
    try:
        dataset = pa.dataset.dataset(files, **options)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{files[0]} cannot be read: {error}") from error
    if dataset.format.default_extname != "csv":
        return dataset
    # The first rows decide about types, and whole numbers may be followed by others.
    fields = [
        pa.field(f.name, pa.float64()) if pa.types.is_integer(f.type) else f for f in dataset.schema
    ]
    return pa.dataset.dataset(files, schema=pa.schema(fields), **options)


def _files(path: str) -> list[str]:
    """Return the files that a path, a folder or a pattern stands for, in order."""
    if Path(path).is_dir():
        inside = (file for file in Path(path).rglob("*") if file.is_file())
        hidden = (".", "_")  # what is not finished, and notes beside the data
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
        raise FileNotFoundError(f"no file at {path!r}.")
    return sorted(files)


def _is_tabbed(file: str) -> bool:
    return file.lower().removesuffix(".gz").endswith(".tsv")


def _format(file: str) -> str:
    suffix = Path(file).suffix.lower()
    if suffix not in _FORMATS:
        raise ValueError(f"{file}: unknown ending; use one of {', '.join(_FORMATS)}.")
    return _FORMATS[suffix]


def _names_in_files(dataset: Dataset) -> list[str]:
    """Names of the columns that are in the files, not in the names of folders."""
    first = None if _is_filtered(dataset) else next(iter(dataset.get_fragments()), None)
    inside = set(dataset.schema.names if first is None else first.physical_schema.names)
    # pandas stores its index as a column, such as `__index_level_0__` of a filtered frame.
    index = (dataset.schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in dataset.schema.names if name in inside and name not in index]


def _is_number(kind: Any) -> bool:
    types = arrow().types
    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(check(kind) for check in checks)


def _check_columns(dataset: Dataset, names: list[str], *, chosen: bool) -> None:
    missing = [name for name in names if name not in dataset.schema.names]
    if missing:
        raise ValueError(
            f"no column {missing[0]!r} in the files; there are {', '.join(dataset.schema.names)}."
        )
    for name in names:
        kind = dataset.schema.field(name).type
        if not _is_number(kind):
            remedy = "Leave it out" if chosen else "Name the columns to use: open_rows(…, columns)"
            raise ValueError(f"column {name!r} holds {kind}, not numbers. {remedy}.")
