"""Tables as people bring them: files of several kinds, with ids, dates, categories and gaps."""

from eosparse.tables.columns import Column, Role, recognised
from eosparse.tables.numbers import Encoding, MissingValuesError, Numbers, as_numbers
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
    "as_numbers",
    "read_table",
    "recognised",
    "write_table",
]
