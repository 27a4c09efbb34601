"""Tables as people bring them: file formats, identifiers, dates, categories, missing values."""

from eosparse.tables.columns import Column, Role, recognise_columns
from eosparse.tables.numbers import Encoding, MissingValuesError, Numbers, encode_table
from eosparse.tables.reading import TableError, TableFile, read_table
from eosparse.tables.writing import write_table

__all__ = [
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
    "write_table",
]
