"""The summary of a table that is larger than memory: streamed, never held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import eosparse
from eosparse.estimators import EOSDetector
from eosparse.report.detection import (
    Described,
    Summary,
    column_summaries,
    described,
    model_summary,
)
from eosparse.rows import open_rows
from eosparse.tables import Column, Role

if TYPE_CHECKING:
    import pandas as pd

# Flagged rows that are described; all of them are in the output.
_MOST_DESCRIBED = 2000
_ROWS_LOOKED_AT = 10_000


def first_rows(source: str) -> pd.DataFrame:
    """Return the rows that tell what the columns are."""
    import pyarrow.dataset as datasets

    head: pd.DataFrame = datasets.dataset(source).head(_ROWS_LOOKED_AT).to_pandas()
    return head


def only_numbers(columns: list[Column]) -> list[Column]:
    """Leave categories out: their medians would take passes of their own."""
    why = "categories are not used when rows are streamed"
    return [
        replace(column, role=Role.IGNORED, why=why) if column.role is Role.CATEGORY else column
        for column in columns
    ]


def detect_streamed(
    source: str, columns: list[Column], detector: EOSDetector, output: Path, *, overwrite: bool
) -> Summary:
    """Fit to rows on disk, write what is found, and describe the most outlying rows."""
    names = [column.name for column in columns if column.role is Role.NUMBER]
    rows = open_rows(source, names)
    detector.fit(rows)
    every = [column.name for column in columns]
    detector.write_scores(rows, output, keys=every, overwrite=overwrite)
    flagged, n_flagged, n_rows = _most_outlying(output)
    return {
        "kind": "detection",
        "eosparse": eosparse.__version__,
        "table": {"name": Path(source).name, "n_rows": n_rows, "n_used": n_rows},
        "columns": column_summaries(columns),
        "notes": ["The table was streamed; roles of columns were told from its first rows."],
        "model": model_summary(detector, len(names)),
        "n_flagged": n_flagged,
        "flagged": _described(flagged, columns, names, detector),
        "usual": {},
    }


def _most_outlying(output: Path) -> tuple[pd.DataFrame, int, int]:
    """Return the most outlying flagged rows of the output, and how many there are."""
    import pandas as pd
    import pyarrow.dataset as datasets

    dataset, best = datasets.dataset(output), pd.DataFrame()
    n_flagged, n_rows = 0, 0
    for batch in dataset.to_batches():
        rows = batch.to_pandas()
        rows["eos_row"] = np.arange(n_rows, n_rows + len(rows))
        n_rows += len(rows)
        mine = rows[rows["eos_is_outlier"]]
        n_flagged += len(mine)
        both = pd.concat([best, mine]) if len(best) else mine
        best = both.nsmallest(_MOST_DESCRIBED, "eos_p_value", keep="first")
    return best, n_flagged, n_rows


def _described(
    flagged: pd.DataFrame, columns: list[Column], names: list[str], detector: EOSDetector
) -> list[Summary]:
    if flagged.empty:
        return []
    found = Described(
        flagged["eos_row"].to_numpy(),
        flagged["eos_p_value"].to_numpy(),
        np.sqrt(-flagged["eos_score"].to_numpy()),
        flagged["eos_weight"].to_numpy(),
    )
    return described(flagged, columns, detector, flagged[names].astype("float64"), found)
