"""Where the rows live, and in which coordinates they are seen."""

from eosparse.rows.coordinates import (
    BoundedColumns,
    Coordinates,
    bounded_columns,
    choose_coordinates,
    spanned,
)
from eosparse.rows.labelled import LabelledRows, by_class
from eosparse.rows.memory import MemoryRows

__all__ = [
    "BoundedColumns",
    "Coordinates",
    "LabelledRows",
    "MemoryRows",
    "bounded_columns",
    "by_class",
    "choose_coordinates",
    "spanned",
]
