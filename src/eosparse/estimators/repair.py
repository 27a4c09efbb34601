"""A data frame with some of its cells replaced, of the same type as before."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from eosparse.core import FloatArray
from eosparse.rows import FrameReader


def repair_frame(
    frame: Any, values: FloatArray, repaired: FloatArray, reader: FrameReader | None
) -> Any:
    """Return a frame in which cells that differ between two readings of it are replaced.

    Dates stay as they are. Whole numbers stay whole; levels are put back as text.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 0.5]})
    >>> given = frame.to_numpy(dtype=float)
    >>> repair_frame(frame, given, given + [[2.2, 0.0], [0.0, 0.0]], None).to_numpy().tolist()
    [[3.0, 0.5], [2.0, 0.5]]
    """
    table = nw.from_native(frame, eager_only=True)
    is_new = ~((repaired == values) | (np.isnan(repaired) & np.isnan(values)))
    columns = []
    for j, name in enumerate(table.columns):
        series = table[name]
        if is_new[:, j].any() and not series.dtype.is_temporal():
            columns.append(_replace(series, is_new[:, j], repaired[:, j], name, reader))
    return table.with_columns(*columns).to_native() if columns else table.to_native()


def _replace(
    series: nw.Series[Any], is_new: Any, repaired: FloatArray, name: str, reader: FrameReader | None
) -> nw.Series[Any]:
    cells = series.to_list()
    levels = None if reader is None else reader.levels.get(name)
    for row in np.flatnonzero(is_new).tolist():
        value = repaired[row]
        if levels is not None:
            cells[row] = levels[int(value)]
        elif series.dtype == nw.Boolean:
            cells[row] = bool(round(value))
        else:
            cells[row] = round(value) if series.dtype.is_integer() else float(value)
    return nw.new_series(name, cells, dtype=series.dtype, backend=series.implementation)
