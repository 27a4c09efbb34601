"""Where the rows live, and in which coordinates they are seen."""

from eosparse.rows.cluster import DaskRows, is_dask, is_frame
from eosparse.rows.coordinates import (
    BoundedColumns,
    Coordinates,
    bounded_columns,
    choose_coordinates,
    spanned,
)
from eosparse.rows.files import FileRows, is_on_disk, open_rows, write_parquet
from eosparse.rows.labelled import Labelled, LabelledRows, group_by_class
from eosparse.rows.memory import MemoryRows, as_float64, block_slices
from eosparse.rows.side_by_side import each, single_threaded_blas
from eosparse.rows.table import Chained, Table, spread_out

__all__ = [
    "BoundedColumns",
    "Chained",
    "Coordinates",
    "DaskRows",
    "FileRows",
    "Labelled",
    "LabelledRows",
    "MemoryRows",
    "Table",
    "as_float64",
    "block_slices",
    "bounded_columns",
    "choose_coordinates",
    "each",
    "group_by_class",
    "is_dask",
    "is_frame",
    "is_on_disk",
    "open_rows",
    "single_threaded_blas",
    "spanned",
    "spread_out",
    "write_parquet",
]
