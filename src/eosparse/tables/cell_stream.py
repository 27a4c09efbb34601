"""Wrong cells of a table that does not fit into memory: a list of them, and a repaired copy.

The files are read once to see what they hold, a few times for the fit, and once more to judge each
cell and to write both. Only a few batches, and the surest cells, are in memory at a time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eosparse.core import BoolArray, FloatArray
from eosparse.estimators.repair import repair_frame
from eosparse.estimators.wrong_cells import WrongCell, list_wrong_cells
from eosparse.rows import FileRows, single_threaded_blas
from eosparse.rows.formats import find_format
from eosparse.rows.json_files import LINE
from eosparse.rows.json_text import replace_members
from eosparse.rows.number_text import Notation, is_number
from eosparse.rows.parallel import map_in_order
from eosparse.tables.cell_audit import (
    CellLine,
    CellSummary,
    count_decimals,
    describe_cell,
    suit_values,
)
from eosparse.tables.cells import take_cells
from eosparse.tables.columns import find_identifier
from eosparse.tables.originals import write_value
from eosparse.tables.stream_output import (
    RowWriter,
    copy_cells,
    list_copied,
    write_rows,
)
from eosparse.tables.streaming import StreamedTable, count_rows
from eosparse.tables.summary import TableSummary

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow import Array, RecordBatch, Table

    from eosparse.estimators import EOSCells

# Wrong cells that the summary describes, so that it fits into memory; the list has all of them.
_MAX_DESCRIBED = 2000
# Rows that tell how finely columns are written, as the first ones of a table in memory do.
_ROWS_READ = 5000
_LIST = ("row", "identifier", "column", "value", "expected", "low", "high", "p_value")


@dataclass(frozen=True)
class _JudgedRows:
    """Some rows of the table, their wrong cells, and new values by column and row."""

    records: RecordBatch
    n_cells: int
    n_wrong_rows: int
    cells: list[tuple[tuple[float, float], CellLine]]
    repairs: dict[str, dict[int, Any]]


@dataclass
class _Findings:
    """Counts, and the surest cells."""

    n_cells: int = 0
    n_wrong: int = 0
    n_rows: int = 0
    n_wrong_rows: int = 0
    best: list[tuple[tuple[float, float], CellLine]] = field(default_factory=list)

    def add(self, judged: _JudgedRows) -> None:
        self.n_cells += judged.n_cells
        self.n_wrong += len(judged.cells)
        self.n_rows += len({line.row for _, line in judged.cells})
        self.n_wrong_rows += judged.n_wrong_rows
        self.best = heapq.nsmallest(
            _MAX_DESCRIBED, [*self.best, *judged.cells], key=lambda cell: cell[0]
        )


@dataclass(frozen=True)
class StreamedAudit:
    """An estimator that was fitted to a table on disk, and the first rows of this table."""

    table: StreamedTable
    estimator: EOSCells
    head: pd.DataFrame

    @classmethod
    def fit(cls, table: StreamedTable, estimator: EOSCells) -> StreamedAudit:
        """Fit an estimator to rows on disk as to the same rows in memory."""
        given = dict(estimator.kinds or {})
        estimator.set_params(kinds=table.cells.list_kinds(given)).fit(table.rows)
        reader = table.cells.make_reader(given)
        if reader is not None:
            estimator._reader = reader  # names levels
        first = next(iter(table.survey.table.list_batches()))
        return cls(table, estimator, _read_cells(table, first.slice(0, _ROWS_READ)))

    def judge(
        self, output: Path | None, changes: Path | None, *, is_safe: bool = False
    ) -> CellSummary:
        """Judge each cell in a last pass, write what was asked for, and summarise."""
        found, table = _Findings(), self.table
        with ExitStack() as files:
            copy, listing = (
                None if path is None else files.enter_context(self._open(path, is_safe=is_safe))
                for path in (output, changes)
            )
            for judged in self._judge_batches(output):
                found.add(judged)
                if copy is not None:
                    assert output is not None
                    copy.write(self._repair(judged, output))
                if listing is not None:
                    assert changes is not None
                    listing.write(self._list(judged, is_text=_is_text(changes)))
        notes = list(table.notes)
        if found.n_wrong > len(found.best):
            notes.append(f"Only the {len(found.best):,} surest cells are described here.")
        promise, survey = self.estimator.promise_, table.survey
        return CellSummary(
            table=TableSummary(Path(survey.table.source).name, survey.n_rows, table.n_used),
            columns=tuple(table.columns),
            notes=tuple(notes),
            fdr=self.estimator.fdr,
            promise=bool(promise),
            promise_reason=promise.reason,
            n_cells=found.n_cells,
            n_wrong=found.n_wrong,
            n_rows=found.n_rows,
            n_wrong_rows=found.n_wrong_rows,
            cells=tuple(line for _, line in found.best),
        )

    def _open(self, path: Path, *, is_safe: bool) -> AbstractContextManager[RowWriter]:
        return write_rows(path, self.table.survey.table, is_safe=is_safe)

    def _judge_batches(self, output: Path | None) -> Iterator[_JudgedRows]:
        """Read all rows once more, the cells of text as they are written."""
        stored = self.table.survey.table
        rows = FileRows(stored.read_verbatim(), self.table.cells.names, ledger=stored.verbatim)

        with single_threaded_blas() as n_threads:
            others = stored.list_all() if output is None else list_copied(stored, output)
            batches = count_rows(rows.batches(others))
            yield from map_in_order(batches, lambda item: self._judge(*item), n_threads=n_threads)

    def _judge(self, records: RecordBatch, first: int) -> _JudgedRows:
        estimator, cells = self.estimator, self.table.cells
        values = cells.decode_all(records)
        kept = np.flatnonzero(cells.find_kept(values))
        values = values[kept]
        verdict = estimator._fit.judge(values)
        is_wrong = estimator.find_wrong(verdict)
        wrong = list_wrong_cells(values, verdict, is_wrong, cells.names, cells.levels)
        replaced = is_wrong | np.isnan(values) if estimator.fill_gaps else is_wrong
        replaced &= ~np.isnan(verdict.expected)
        return _JudgedRows(
            records,
            n_cells=int(np.count_nonzero(~np.isnan(verdict.p_values))),
            n_wrong_rows=int(estimator.find_wrong_rows(verdict).sum()),
            cells=self._describe(wrong, records, kept, first),
            repairs=self._find_repairs(records, kept, values, replaced, verdict.expected),
        )

    def _describe(
        self, wrong: Any, records: RecordBatch, kept: Any, first: int
    ) -> list[tuple[tuple[float, float], CellLine]]:
        """Return wrong cells as lines, in the order of the rows, each with how sure it is."""
        identifier = find_identifier(self.table.columns)
        rows = sorted({cell.row for cell in wrong})
        places = {row: i for i, row in enumerate(rows)}
        names = [*self.table.cells.names, *([] if identifier is None else [identifier])]
        frame = _read_frame(self.table, records, kept[rows], names)
        lines = []
        for cell in sorted(wrong, key=lambda cell: cell.row):
            i = places[cell.row]
            line = describe_cell(
                cell,
                row=first + int(kept[cell.row]),
                identifier=None if identifier is None else frame[identifier].iloc[i],
                value=frame[cell.column].iloc[i],
                decimals=count_decimals(self.head[cell.column]),
            )
            lines.append((_rank(cell), line))
        return lines

    def _find_repairs(
        self,
        records: RecordBatch,
        kept: Any,
        values: FloatArray,
        replaced: BoolArray,
        expected: FloatArray,
    ) -> dict[str, dict[int, Any]]:
        """Return new values by column and row of the batch."""
        rows = np.flatnonzero(replaced.any(axis=1))
        if not len(rows):
            return {}
        before = _read_cells(self.table, records, kept[rows])
        # A level that is expected need not stand in any of these rows.
        levels = [name for name in before.columns if before[name].dtype == "category"]
        before = before.astype(dict.fromkeys(levels, object))
        new = np.where(replaced[rows], expected[rows], values[rows])
        after = repair_frame(before, values[rows], new, getattr(self.estimator, "_reader", None))
        repairs = {}
        for name in before.columns:
            was, now = before[name], after[name]
            is_new = ((was != now) & ~(was.isna() & now.isna())).to_numpy()
            if is_new.any():
                stored = self.table.survey.sample[name].dtype
                fitting = suit_values(now[is_new].tolist(), self.head[name], stored)
                repairs[name] = dict(zip(kept[rows[is_new]].tolist(), fitting, strict=True))
        return repairs

    def _repair(self, judged: _JudgedRows, path: Path) -> Table:
        """Return rows with new values; text that is written to text stays as it is elsewhere."""
        copied = copy_cells(judged.records, self.table, path)
        if LINE in copied.column_names:
            return _repair_lines(copied.select([LINE]), judged.repairs)
        for place, name in enumerate(copied.column_names):
            if (new := judged.repairs.get(name)) is not None:
                cells = copied.column(place).combine_chunks()
                copied = copied.set_column(place, name, self._replace(cells, new, name))
        return copied

    def _replace(self, cells: Array, new: Mapping[int, Any], name: str) -> Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind, is_new = cells.type, np.zeros(len(cells), dtype=np.bool_)
        is_new[list(new)] = True
        values = [new[i] for i in sorted(new)]
        plain = cells.dictionary_decode() if pa.types.is_dictionary(kind) else cells
        if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type):
            values = [self._write(value, name) for value in values]
        fitting = pa.array(values).cast(plain.type)
        replaced = pc.replace_with_mask(plain, pa.array(is_new), fitting)
        return replaced.cast(kind)

    def _write(self, value: Any, name: str) -> str:
        """Return a value as text, in the notation of its column."""
        text, cells = write_value(value), self.table.cells
        if not isinstance(value, float) and not is_number(text):
            return text
        return cells.notations.get(name, Notation(cells.decimal)).write(text)

    def _list(self, judged: _JudgedRows, *, is_text: bool) -> Table:
        """Return wrong cells as a table, a line each."""
        import pyarrow as pa

        names = list(_LIST)
        if find_identifier(self.table.columns) is None:
            names.remove("identifier")
        columns = {name: [getattr(line, name) for _, line in judged.cells] for name in names}
        types = {"row": pa.int64(), "p_value": pa.float64()}
        if is_text:
            types["p_value"] = pa.string()
            decimal = self.table.cells.decimal
            columns["p_value"] = [write_value(p, decimal) for p in columns["p_value"]]
        arrays = [pa.array(columns[name], types.get(name, pa.string())) for name in names]
        return pa.table(arrays, names=names)


def _is_text(path: Path) -> bool:
    return find_format(path).separator is not None


def _rank(cell: WrongCell) -> tuple[float, float]:
    """Return the order of cells: by p-value, equal ones by how far they lie out."""
    if isinstance(cell.value, str) or not cell.high > cell.low:
        return cell.p_value, 0.0
    return cell.p_value, -abs(cell.value - float(cell.expected)) / (cell.high - cell.low)


def _repair_lines(lines: Table, repairs: Mapping[str, Mapping[int, Any]]) -> Table:
    """Return lines of JSON with new values, and otherwise as they are written."""
    import pyarrow as pa

    texts = lines.column(0).to_pylist()
    for row in sorted({row for new in repairs.values() for row in new}):
        values = {name: new[row] for name, new in repairs.items() if row in new}
        texts[row] = replace_members(texts[row], values, frozenset())
    return pa.table([pa.array(texts, pa.string())], names=[LINE])


def _read_frame(
    table: StreamedTable, records: RecordBatch, rows: Any, names: list[str]
) -> pd.DataFrame:
    """Return some rows in the types of a table in memory."""
    import pyarrow as pa

    return table.read_frame(records.select(names).take(pa.array(rows, pa.int64())))


def _read_cells(table: StreamedTable, records: RecordBatch, rows: Any = None) -> pd.DataFrame:
    """Return some rows, or all, as an estimator takes them."""
    rows = np.arange(len(records)) if rows is None else rows
    frame = _read_frame(table, records, rows, list(table.cells.names))
    parsed = table.cells.parse_written(frame)
    encoding = table.cells.encoding
    found: pd.DataFrame = take_cells(
        parsed, table.cells.columns, missing="keep", encoding=encoding
    ).frame
    return found
