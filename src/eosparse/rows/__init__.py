"""Where the rows are stored, and in which coordinates they are seen."""

from eosparse.rows.cluster import DaskRows
from eosparse.rows.coordinates import (
    BoundedColumns,
    Coordinates,
    bound_columns,
    check_rows_differ,
    choose_coordinates,
    find_heap,
    find_middle,
    reduce_to_span,
    span_rows,
)
from eosparse.rows.files import FileRows, open_rows
from eosparse.rows.frames import FrameReader, collect_rows, find_index, is_frame
from eosparse.rows.frames import accepts as has_more_than_numbers
from eosparse.rows.kinds import ColumnKind, Kind, check_kinds, recognise_kinds
from eosparse.rows.labelled import Labelled, LabelledRows, group_by_class
from eosparse.rows.levels import LevelEffects, learn_effects
from eosparse.rows.margins import Margin, Margins, fit_margins, identity_margins
from eosparse.rows.memory import MemoryRows
from eosparse.rows.parallel import fit_threads, map_columns, map_parallel, single_threaded_blas
from eosparse.rows.ranges import ColumnRanges, find_ranges
from eosparse.rows.sample import Sample, count_copies, spread_out, take_sample
from eosparse.rows.table import Chain, Table, as_float64, as_stored
from eosparse.rows.view import TableView, learn_view
from eosparse.rows.writing import RareWriting, find_rare_writing

# Storages other than memory, asked in turn whether they accept what a user passes as X.
STORAGES = (FileRows, DaskRows)

__all__ = [
    "STORAGES",
    "BoundedColumns",
    "Chain",
    "ColumnKind",
    "ColumnRanges",
    "Coordinates",
    "DaskRows",
    "FileRows",
    "FrameReader",
    "Kind",
    "Labelled",
    "LabelledRows",
    "LevelEffects",
    "Margin",
    "Margins",
    "MemoryRows",
    "RareWriting",
    "Sample",
    "Table",
    "TableView",
    "as_float64",
    "as_stored",
    "bound_columns",
    "check_kinds",
    "check_rows_differ",
    "choose_coordinates",
    "collect_rows",
    "count_copies",
    "find_heap",
    "find_index",
    "find_middle",
    "find_ranges",
    "find_rare_writing",
    "fit_margins",
    "fit_threads",
    "group_by_class",
    "has_more_than_numbers",
    "identity_margins",
    "is_frame",
    "learn_effects",
    "learn_view",
    "map_columns",
    "map_parallel",
    "open_rows",
    "recognise_kinds",
    "reduce_to_span",
    "single_threaded_blas",
    "span_rows",
    "spread_out",
    "take_sample",
]
