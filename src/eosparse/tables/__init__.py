"""Tables as people bring them: file formats, identifiers, dates, categories, missing values."""

from eosparse.tables.cells import Cells, Encoding, MissingValuesError, take_cells
from eosparse.tables.columns import Column, Role, recognise_columns
from eosparse.tables.numbers import Numbers, encode_table
from eosparse.tables.reading import TableError, TableFile, read_table
from eosparse.tables.writing import write_table

__all__ = [
    "Cells",
    "Column",
    "Encoding",
    "MissingValuesError",
    "Numbers",
    "Role",
    "TableError",
    "TableFile",
    "encode_table",
    "read_table",
    "recognise_columns",
    "take_cells",
    "write_table",
]
