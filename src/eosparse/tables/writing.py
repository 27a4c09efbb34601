"""Write a table completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from eosparse.rows.formats import ARROW, COMPRESSIONS, PARQUET, TSV, find_format
from eosparse.rows.whole_file import check_target, replace_when_complete
from eosparse.tables.reading import TableError

if TYPE_CHECKING:
    import pandas as pd


def write_table(
    frame: pd.DataFrame,
    path: Path,
    *,
    separator: str = ",",
    decimal: str = ".",
    force: bool = False,
) -> None:
    """Write a table in the format that the file extension stands for.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : Path
        The file.
    separator, decimal : str
        For CSV: what separates cells, and the decimal mark.
    force : bool, default=False
        Replace the file if it exists.

    Raises
    ------
    TableError
        If the file exists and `force` is not set, or its folder does not exist.
    UnknownFormatError
        If the file extension is not recognised.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from eosparse.tables import read_table, write_table
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> write_table(pd.DataFrame({"height": [1.7, 1.8]}), path)
    >>> read_table(path).frame["height"].tolist()
    [1.7, 1.8]
    """
    check_writable(path, force=force)
    found = find_format(path)
    with replace_when_complete(path) as partial:
        if found.separator is not None:
            separator = "\t" if found is TSV else separator
            compression = COMPRESSIONS.get(path.suffix.lower())
            frame.to_csv(
                partial,
                index=False,
                sep=separator,
                decimal=decimal,
                compression=compression,  # type: ignore[arg-type]  # one of pandas' own names
            )
        elif found is PARQUET:
            frame.to_parquet(partial, index=False)
        elif found is ARROW:
            frame.to_feather(partial)
        else:
            with partial.open("wb") as file:
                frame.to_excel(file, index=False, engine="openpyxl")


def check_writable(path: Path, *, force: bool) -> None:
    """Refuse to replace a file unless `force` is set, and a place where none can be written."""
    if os.path.lexists(path) and not force:
        raise TableError(f"{path} already exists. Use --force to replace it.")
    if not path.parent.is_dir():
        raise TableError(f"The folder {path.parent} does not exist. Create it first.")
    try:
        check_target(path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror or error}.") from None
