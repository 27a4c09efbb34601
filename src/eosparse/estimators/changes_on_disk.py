"""Wrong cells of rows on disk, streamed to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eosparse.core import BoolArray, FloatArray
from eosparse.fitting.cell_fit import CellFit, CellVerdict
from eosparse.rows import FileRows
from eosparse.rows.dataset import import_pyarrow
from eosparse.rows.whole_file import replace_when_complete


def write_wrong_cells(
    rows: FileRows,
    fit: CellFit,
    find_wrong: Callable[[CellVerdict], BoolArray],
    output: str | Path,
    *,
    overwrite: bool,
) -> Path:
    """Write a line per wrong cell to a Parquet file, in the order of the rows."""
    output = Path(output)
    if output.exists() and not overwrite:
        raise FileExistsError(f"{output} already exists. Pass overwrite=True to replace it.")
    if output.absolute() in {Path(file).absolute() for file in rows.dataset.files}:
        raise ValueError(f"{output} is one of the input files. Write to another file.")
    pa, names = import_pyarrow(), np.array([column.name for column in fit.columns])

    def find(_: Any, values: FloatArray) -> tuple[int, dict[str, Any]]:
        verdict = fit.judge(values)
        return len(values), _tabulate(values, verdict, find_wrong(verdict), names)

    with replace_when_complete(output) as partial:
        numbers = ((name, pa.float64()) for name in ("value", "expected", "low", "high", "p_value"))
        schema = pa.schema([("row", pa.int64()), ("column", pa.string()), *numbers])
        with pa.parquet.ParquetWriter(partial, schema) as writer:
            seen = 0
            for size, lines in rows.map_batches(find):
                lines["row"] += seen
                seen += size
                writer.write_table(pa.table(lines, schema=schema))
    return output


def _tabulate(
    values: FloatArray, verdict: CellVerdict, is_wrong: BoolArray, names: NDArray[np.str_]
) -> dict[str, Any]:
    rows, columns = np.nonzero(is_wrong)
    numbers = {"value": values, "expected": verdict.expected, "low": verdict.low}
    numbers |= {"high": verdict.high, "p_value": verdict.p_values}
    return {"row": rows, "column": names[columns]} | {
        name: array[rows, columns] for name, array in numbers.items()
    }
