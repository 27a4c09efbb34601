"""Detect outliers in a table that does not fit into memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eosparse.rows import open_rows
from eosparse.tables.columns import Column, Role
from eosparse.tables.detection import add_kinds, describe_rows, summarise_groups, summarise_model
from eosparse.tables.summary import DetectionSummary, FlaggedRow, TableSummary

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.estimators import EOSDetector

# Flagged rows that the summary describes, so that it fits into memory; the output has all of them.
_MAX_DESCRIBED = 2000
# Rows that the roles of the columns are recognised from.
_N_FIRST_ROWS = 10_000


def read_first_rows(source: str) -> pd.DataFrame:
    """Read the rows that the roles of the columns are recognised from."""
    dataset = open_rows(source, ()).dataset
    stored = next(iter(dataset.get_fragments())).physical_schema.names  # not in folder names
    frame: pd.DataFrame = dataset.head(_N_FIRST_ROWS, columns=stored).to_pandas()
    return frame


def detect_streamed(
    source: str, columns: list[Column], detector: EOSDetector, output: Path, *, overwrite: bool
) -> DetectionSummary:
    """Fit a detector to rows on disk, write their scores, and summarise the most outlying rows."""
    names = [column.name for column in columns if column.role is Role.NUMBER]
    rows = open_rows(source, names)
    kinds = {name: kind for name, kind in (detector.kinds or {}).items() if name in names}
    detector.set_params(kinds=kinds).fit(rows)
    keys = [column.name for column in columns]
    detector.write_scores(rows, output, keys=keys, overwrite=overwrite)
    flagged, n_flagged, n_rows = _read_most_outlying(output)
    return DetectionSummary(
        table=TableSummary(Path(source).name, n_rows, n_rows),
        columns=add_kinds(columns, detector),
        notes=("The table was streamed; column roles were recognised from its first rows.",),
        model=summarise_model(detector, len(names)),
        n_flagged=n_flagged,
        flagged=_describe_flagged(flagged, columns, names, detector),
        usual={},
        groups=summarise_groups(detector),
    )


def _read_most_outlying(output: Path) -> tuple[pd.DataFrame, int, int]:
    """Return the most outlying rows of the output, and the numbers of flagged and of all rows."""
    import pandas as pd
    import pyarrow.dataset as datasets

    dataset, best = datasets.dataset(output), pd.DataFrame()
    n_flagged, n_rows = 0, 0
    for batch in dataset.to_batches():
        rows = batch.to_pandas()
        rows["eos_row"] = np.arange(n_rows, n_rows + len(rows))
        n_rows += len(rows)
        flagged = rows[rows["eos_is_outlier"]]
        n_flagged += len(flagged)
        both = pd.concat([best, flagged]) if len(best) else flagged
        best = both.nsmallest(_MAX_DESCRIBED, "eos_p_value", keep="first")
    return best, n_flagged, n_rows


def _describe_flagged(
    flagged: pd.DataFrame, columns: list[Column], names: list[str], detector: EOSDetector
) -> tuple[FlaggedRow, ...]:
    if flagged.empty:
        return ()
    return describe_rows(
        flagged,
        columns,
        detector,
        flagged[names].astype("float64"),
        places=flagged["eos_row"].to_numpy(),
        p_values=flagged["eos_p_value"].to_numpy(),
        weights=flagged["eos_weight"].to_numpy(),
    )
