"""Rows on disk: Parquet, Arrow and CSV files, streamed block by block.

Only a few batches are in memory at a time, however large the files are. Every batch is checked as
it is read: a missing or infinite value is an error that names the file and the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

from eosparse.core import FloatArray, IntArray, Mergeable
from eosparse.rows.dataset import (
    check_columns,
    check_same_columns,
    find_broken_part,
    import_pyarrow,
    is_filtered,
    is_number,
    list_columns,
    open_dataset,
    read_batches,
)
from eosparse.rows.formats import TableError
from eosparse.rows.memory import block_rows, block_slices, fold_array
from eosparse.rows.parallel import fold_in_order, map_in_order, single_threaded_blas
from eosparse.rows.table import Chain, Table, as_stored, weigh_empty
from eosparse.rows.unchanged import Ledger
from eosparse.rows.whole_file import replace_when_complete

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.dataset import Dataset

Part = TypeVar("Part", bound=Mergeable)
Value = TypeVar("Value")
Source = str | Path | Sequence[str | Path]


class Decoder(Protocol):
    """How batches whose cells are more than numbers become numbers."""

    @property
    def has_gaps(self) -> bool:
        """Whether values are missing."""

    @property
    def n_present(self) -> int:
        """Number of rows that count."""

    def decode(self, records: RecordBatch) -> FloatArray:
        """Return the rows of a batch that count, NaN where values are missing."""


@dataclass(frozen=True)
class Batch:
    """Rows as they were read, and where they came from."""

    records: RecordBatch
    fragment: Any
    first_row: int

    @property
    def file(self) -> str:
        """The file the rows were read from."""
        return str(self.fragment.path)


@dataclass(frozen=True)
class FileRows(Table):
    """Rows of one or more files.

    Attributes
    ----------
    dataset : pyarrow.dataset.Dataset
        The files.
    columns : tuple of str
        Names of the columns to use; all are numeric.
    weights : str or None
        Name of the column of prior weights.
    prepare : callable
        Applied to each block.
    has_gaps : bool
        Whether missing values are NaN, and no error.
    decoder : Decoder or None
        How batches become numbers, if cells are more than numbers.
    ledger : Ledger
        How the files were when they were opened: they must not change.
    """

    dataset: Dataset
    columns: tuple[str, ...]
    weights: str | None = None
    prepare: Callable[[FloatArray], FloatArray] = field(default=as_stored, repr=False)
    has_gaps: bool = False
    decoder: Decoder | None = field(default=None, repr=False)
    ledger: Ledger = field(default_factory=Ledger, repr=False, compare=False)

    is_kept = False  # the rows can be read again

    def allow_gaps(self) -> Self:
        """Return the same rows, of which missing values are NaN and no error."""
        return replace(self, has_gaps=self.decoder is None or self.decoder.has_gaps)

    @classmethod
    def accepts(cls, X: Any) -> bool:
        """Whether X is a path, a list of paths, a pyarrow Dataset, or opened rows."""
        if isinstance(X, (str, Path, cls)):
            return True
        if isinstance(X, (list, tuple)):
            return bool(X) and all(isinstance(path, (str, Path)) for path in X)
        return type(X).__module__.startswith("pyarrow") and hasattr(X, "get_fragments")

    @classmethod
    def open(cls, X: Any, columns: Sequence[str] | None = None, sample_weight: Any = None) -> Self:
        """Return the rows of X: of the given columns, weighted by a column."""
        if sample_weight is not None and not isinstance(sample_weight, str):
            raise TypeError(
                "For rows on disk, sample_weight is the name of a column, not an array: use "
                "open_rows(..., weights='column')."
            )
        rows: Any = X if isinstance(X, cls) else open_rows(X, columns, weights=sample_weight)
        if columns is not None:  # new rows, for a fit to these columns
            rows = replace(rows, columns=tuple(columns), weights=None)
            rows.check_columns(chosen=True)
        elif sample_weight not in (None, rows.weights):
            rows = rows.weight_by(sample_weight)
        opened: Self = rows
        return opened

    @property
    def names(self) -> tuple[str, ...]:
        """Names that a fitted estimator remembers."""
        return self.columns

    @property
    def n_present(self) -> int:
        """Number of rows with a positive prior weight."""
        return int(self._totals[0])

    @property
    def mass(self) -> float:
        """Sum of the prior weights."""
        return float(self._totals[1])

    @property
    def n_empty(self) -> int:
        """Number of rows that do not count because they have no value."""
        return int(self._totals[2])

    @cached_property
    def _totals(self) -> FloatArray:
        """Rows that count, their mass, and rows without any value."""
        if self.decoder is None:
            if self.has_gaps and self._count(self.columns[:1])[2]:  # one column is read fast
                return self._count(self.columns)
            if self.weights is not None:
                return self._count(())
        size = float(self._count_rows() if self.decoder is None else self.decoder.n_present)
        return np.array([size, size, 0.0])

    def _count(self, columns: tuple[str, ...]) -> FloatArray:
        """Return the totals by some columns alone, in a pass over these."""
        only, total = replace(self, columns=columns, prepare=as_stored), np.zeros(3)
        for batch in only.batches():
            values, prior = only.numbers(batch)
            mass = np.ones(len(values)) if prior is None else prior
            n_empty = np.count_nonzero(np.isnan(values).all(axis=1)) if columns else 0
            total += [float(np.count_nonzero(mass)), float(mass.sum()), float(n_empty)]
        return total

    def _count_rows(self) -> int:
        if self.ledger.sizes and not is_filtered(self.dataset):
            return self.ledger.sizes[0]
        return int(self._read_or_explain(self.dataset.count_rows))

    def fold(self, kernel: Callable[[FloatArray, FloatArray | None], Part]) -> Part:
        """Apply a kernel to every prepared block, in parallel; merge the results in order."""

        def visit(batch: Batch) -> Part | None:
            return fold_array(*self.numbers(batch), self.prepare, kernel)

        return fold_in_order(self.batches(), visit)

    def map_batches(
        self, function: Callable[[Batch, FloatArray], Value], others: Sequence[str] = ()
    ) -> Iterator[Value]:
        """Apply a function to every batch and its prepared rows; yield the results in order."""
        with single_threaded_blas() as n_threads:
            yield from map_in_order(
                self.batches(others),
                lambda batch: function(batch, self._prepare_batch(batch)),
                n_threads=n_threads,
            )

    def _prepare_batch(self, batch: Batch) -> FloatArray:
        values, _ = self.numbers(batch)
        return np.concatenate([self.prepare(values[part]) for part in block_slices(values.shape)])

    def weight_by(self, column: str) -> FileRows:
        """Return the rows with a column of prior weights, which is not a feature then."""
        used = tuple(name for name in self.columns if name != column)
        rows = replace(self, columns=used, weights=column)
        rows.check_columns(chosen=True)
        return rows

    def check_columns(self, *, chosen: bool) -> None:
        """Raise an error if a column is missing or not numeric."""
        check_columns(self.dataset, [*self.columns, *filter(None, [self.weights])], chosen=chosen)

    def prepare_with(self, prepare: Callable[[FloatArray], FloatArray]) -> FileRows:
        """Return the same rows, prepared in another way."""
        other = replace(self, prepare=prepare)
        if "_totals" in self.__dict__:  # with weights, they cost a pass over the files
            other.__dict__["_totals"] = self._totals
        return other

    def map(self, function: Callable[[FloatArray], FloatArray]) -> FileRows:
        """Return rows of one number each, computed whenever they are read."""
        return self.prepare_with(Chain(self.prepare, function))

    def write_columns(
        self,
        output: str | Path,
        functions: Mapping[str, Callable[[FloatArray], Any]],
        keys: Sequence[str] = (),
        *,
        overwrite: bool = False,
    ) -> Path:
        """Write functions of every row to a Parquet file, beside its keys or its number."""

        def evaluate(values: FloatArray) -> dict[str, FloatArray]:
            return {name: function(values) for name, function in functions.items()}

        return write_parquet(self, output, evaluate, keys, overwrite=overwrite)

    def write_lines(
        self,
        output: str | Path,
        find: Callable[[FloatArray], dict[str, Any]],
        *,
        overwrite: bool = False,
    ) -> Path:
        """Write the lines that are found in every block of rows to a Parquet file."""
        return write_parquet(self, output, find, overwrite=overwrite)

    def to_column(self, dtype: Any) -> Any:
        """Return rows of one number each as one array: eight bytes per row in memory."""
        parts = self.map_batches(lambda _, numbers: numbers.astype(dtype, copy=False))
        return np.concatenate([np.zeros(0, dtype), *parts])

    def take(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return rows and prior weights by their number among the rows of positive weight."""
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
        """Read the files in order; `others` names further columns to read."""
        names = list(dict.fromkeys([*self.columns, *filter(None, [self.weights]), *others]))
        read, seen = read_batches(self.dataset, names, block_rows(len(names))), dict[str, int]()
        tally = self.ledger.open_pass()
        while (item := self._read_or_explain(lambda: next(read, None), others)) is not None:
            records, fragment = item
            if len(records):
                tally.add(records)
                batch = Batch(records, fragment, seen.get(fragment.path, 0))
                seen[batch.file] = batch.first_row + len(records)
                yield batch
        tally.close()

    def numbers(self, batch: Batch) -> tuple[FloatArray, FloatArray | None]:
        """Return the columns of a batch as one block, and the prior weights."""
        if self.decoder is not None:
            return self._decode(self.decoder, batch), None
        values = np.empty((len(batch.records), self.n_features), order="F")
        for i, name in enumerate(self.columns):
            values[:, i] = self._column(batch, name)
        if self.weights is None:
            return values, weigh_empty(values, None)
        prior = self._column(batch, self.weights)
        if (prior < 0).any():
            row = int(np.flatnonzero(prior < 0)[0])
            raise ValueError(f"{self._place(batch, row)}, column {self.weights!r}: "
                             "the weight is negative.")  # fmt: skip
        return values, weigh_empty(values, prior)

    def _decode(self, decoder: Decoder, batch: Batch) -> FloatArray:
        try:
            return decoder.decode(batch.records)
        except (import_pyarrow().ArrowException, ValueError) as error:
            raise ValueError(f"{self._place(batch, 0)} and below: {error}") from error

    def _column(self, batch: Batch, name: str) -> FloatArray:
        records = batch.records.column(name)
        if not is_number(records.type):
            raise ValueError(
                f"{batch.file}, column {name!r} holds {records.type}, but other files hold numbers."
            )
        if records.null_count and not self.has_gaps:
            row = int(np.flatnonzero(records.is_null().to_numpy(zero_copy_only=False))[0])
            raise ValueError(f"{self._place(batch, row)}, column {name!r}: the value is "
                             "missing. Drop the row or fill in a value first.")  # fmt: skip
        cast = records.cast(import_pyarrow().float64(), safe=False)
        numbers: FloatArray = cast.to_numpy(zero_copy_only=False)
        if np.isfinite(numbers.sum()):  # the usual case, at once
            return numbers
        is_fine = np.isfinite(numbers) | (np.isnan(numbers) & self.has_gaps)
        if not is_fine.all():
            row = int(np.flatnonzero(~is_fine)[0])
            raise ValueError(f"{self._place(batch, row)}, column {name!r}: {numbers[row]} is not a "
                             "finite number. Drop the row or replace the value first.")  # fmt: skip
        return numbers

    def _place(self, batch: Batch, row: int) -> str:
        """Name the file, its row group if there are any, and the row."""
        number = batch.first_row + row
        if is_filtered(self.dataset):
            return f"{batch.file}, row {number} of the rows that pass the filter"
        if not hasattr(batch.fragment, "row_groups"):
            return f"{batch.file}, row {number}"
        metadata = batch.fragment.metadata
        ends = np.cumsum([metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)])
        return (
            f"{batch.file}, row group {np.searchsorted(ends, number, side='right')}, row {number}"
        )

    def _read_or_explain(self, read: Callable[[], Value], others: Sequence[str] = ()) -> Value:
        """Read; if pyarrow cannot, say in which file, row group and column."""
        try:
            return read()
        except TableError:  # it names the line
            self.ledger.check_files()
            raise
        except (import_pyarrow().ArrowException, OSError) as error:
            self.ledger.check_files()
            names = [*self.columns, *filter(None, [self.weights]), *others]
            where = find_broken_part(self.dataset, names)
            raise ValueError(f"{where} cannot be read: {error}") from error


def write_parquet(
    rows: FileRows,
    output: str | Path,
    function: Callable[[FloatArray], dict[str, Any]],
    keys: Sequence[str] = (),
    *,
    overwrite: bool = False,
) -> Path:
    """Write what is computed from rows to a Parquet file, next to their keys or numbers.

    A line per row; or any number of lines, if these name their row in the block as "row". The file
    is written completely or not at all.
    """
    output = Path(output)
    if output.exists() and not overwrite:
        raise FileExistsError(f"{output} already exists. Pass overwrite=True to replace it.")
    schema = rows.dataset.schema
    missing = [key for key in keys if key not in schema.names]
    if missing:
        raise ValueError(f"The files have no column {missing[0]!r} to use as a key.")
    if str(output.absolute()) in {str(Path(file).absolute()) for file in rows.dataset.files}:
        raise ValueError(f"{output} is one of the input files. Write to another file.")
    pa = import_pyarrow()

    def one(batch: Batch, values: FloatArray) -> Any:
        own = {key: batch.records.column(key).cast(schema.field(key).type) for key in keys}
        return own, function(values), len(values)

    with replace_when_complete(output) as partial:
        writer, seen = None, 0
        try:
            for own, made, size in rows.map_batches(one, keys):
                numbers = {} if keys else {"row": seen + made.pop("row", np.arange(size))}
                table = pa.table({**own, **numbers, **made})
                writer = writer or pa.parquet.ParquetWriter(partial, table.schema)
                writer.write_table(table)
                seen += size
            if writer is None:
                raise ValueError("the files have no rows.")
        finally:
            if writer is not None:
                writer.close()
    return output


def open_rows(
    source: Source | Dataset,
    columns: Sequence[str] | None = None,
    *,
    weights: str | None = None,
    partitioning: Any = "hive",
) -> FileRows:
    """Open rows on disk for `EOSDetector`, which keeps only a few batches in memory at a time.

    Parameters
    ----------
    source : path, glob, folder, list of paths, or pyarrow Dataset
        Parquet, Arrow (also ``.feather``, ``.ipc``), CSV, TSV or JSON lines files, all of one
        format. Text files may be compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``).
    columns : sequence of str, optional
        Columns to use; they must be numeric. By default all columns in the files.
    weights : str, optional
        Column with prior weights: a weight of k counts the row k times, 0 leaves it out.
    partitioning : str or pyarrow.dataset.Partitioning, default="hive"
        How the names of subfolders encode columns, if `source` is a folder. Such columns are used
        only if you list them in `columns`.

    Returns
    -------
    FileRows
        Pass it to `EOSDetector.fit` and the scoring methods in place of an array.

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
    dataset: Any = source
    if isinstance(source, (str, Path, list, tuple)):
        dataset = open_dataset(source, partitioning)
    if not hasattr(dataset, "files"):
        raise ValueError(f"A {type(dataset).__name__} has no files. Write it to Parquet first.")
    ledger = Ledger.of(list(dataset.files))
    if columns is None:
        check_same_columns(dataset)
    used = tuple(list_columns(dataset) if columns is None else columns)
    if columns is None and weights is not None:
        used = tuple(name for name in used if name != weights)
    rows = FileRows(dataset, used, ledger=ledger)
    rows.check_columns(chosen=columns is not None)
    return rows if weights is None else rows.weight_by(weights)
