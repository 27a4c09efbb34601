"""What a report shows of a table on disk: flagged rows, and a sample of the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eosparse.rows import spread_out
from eosparse.tables.cells import take_cells
from eosparse.tables.detection import ScoredTable, describe_usual_values
from eosparse.tables.outlier_map import OutlierMap, Represented, map_outliers
from eosparse.tables.reading import TableFile
from eosparse.tables.stream_judging import MAX_SHOWN, P_VALUE, PLACE, WEIGHT, Findings
from eosparse.tables.streaming import StreamedTable
from eosparse.tables.summary import DetectionSummary

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.estimators import EOSDetector


@dataclass(frozen=True)
class StreamedReport:
    """What the report of a streamed table is made of.

    Attributes
    ----------
    summary : DetectionSummary
        With the usual values, and a note about the rows that the pictures show.
    outlier_map : OutlierMap
        The points of the pictures.
    frame : DataFrame
        The rows of the pictures; the index has their places in the table.
    """

    summary: DetectionSummary
    outlier_map: OutlierMap
    frame: pd.DataFrame


def prepare_report(
    summary: DetectionSummary, table: StreamedTable, detector: EOSDetector, found: Findings
) -> StreamedReport:
    """Collect what a report shows from the rows that were kept in the last pass."""
    import pandas as pd

    assert found.others is not None
    flagged, others = found.list_best(MAX_SHOWN), _list_others(table, found)
    n_others = table.n_used - found.n_flagged
    parts = {True: (flagged, found.n_flagged), False: (others, n_others)}
    mass = np.concatenate([np.full(len(part), n / max(len(part), 1)) for part, n in parts.values()])
    is_outlier = np.repeat([*parts], [len(part) for part, _ in parts.values()])
    rows = pd.concat([flagged, others], ignore_index=True)
    order = np.argsort(rows[PLACE].to_numpy(), kind="stable")
    rows = table.cells.parse_written(rows.iloc[order].reset_index(drop=True))
    values = take_cells(rows, table.cells.columns, missing="keep", encoding=table.cells.encoding)
    scored = ScoredTable(
        TableFile(rows, table.survey.name),
        table.columns,
        values,
        detector,
        p_values=rows[P_VALUE].to_numpy(),
        weights=rows[WEIGHT].to_numpy(),
        is_outlier=is_outlier[order],
    )
    sampled = Represented(rows[PLACE].to_numpy(), mass[order])
    notes = summary.notes
    if len(rows) < table.n_used:
        notes = (*notes, _note_sample(len(flagged), len(others), n_others))
    usual = describe_usual_values(rows[~scored.is_outlier], table.columns)
    return StreamedReport(
        replace(summary, notes=notes, usual=usual),
        map_outliers(scored, sampled),
        rows.set_index(sampled.places),
    )


def _list_others(table: StreamedTable, found: Findings) -> pd.DataFrame:
    """Return an even sample of the rows that are not flagged."""
    import pandas as pd

    assert found.others is not None
    parts = [table.read_frame(records) for records in found.others.kept]
    others = pd.concat(parts, ignore_index=True)
    return others.iloc[spread_out(len(others), min(MAX_SHOWN, len(others)))]


def _note_sample(n_flagged: int, n_others: int, n_all: int) -> str:
    return (
        f"Pictures and usual values are those of {n_flagged:,} flagged rows and {n_others:,} of "
        f"the {n_all:,} others, evenly spread over the table."
    )
