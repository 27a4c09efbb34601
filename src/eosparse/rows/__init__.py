"""Where the rows live, and in which coordinates they are seen."""

from eosparse.rows.coordinates import (
    BoundedColumns,
    Coordinates,
    bounded_columns,
    choose_coordinates,
    spanned,
)
from eosparse.rows.labelled import LabelledRows, by_class
from eosparse.rows.memory import MemoryRows, block_slices
from eosparse.rows.side_by_side import single_threaded_blas
from eosparse.rows.table import Table

__all__ = [
    "BoundedColumns",
    "Coordinates",
    "LabelledRows",
    "MemoryRows",
    "Table",
    "block_slices",
    "bounded_columns",
    "by_class",
    "choose_coordinates",
    "single_threaded_blas",
    "spanned",
]
