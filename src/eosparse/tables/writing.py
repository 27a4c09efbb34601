"""Write a table in the kind it came in, all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eosparse.tables.reading import TableError, kind_of

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
    """Write a table; an existing file is only replaced if `force` is set.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : Path
        Its ending says the kind.
    separator, decimal : str
        For CSV: between cells, and in numbers.
    force : bool, default=False
        Replace an existing file.
    """
    check_free(path, force=force)
    kind = kind_of(path)
    part = path.with_name(f".{path.name}.part")
    try:
        if kind in ("csv", "tsv"):
            separator = "\t" if kind == "tsv" else separator
            frame.to_csv(part, index=False, sep=separator, decimal=decimal)
        elif kind == "parquet":
            frame.to_parquet(part, index=False)
        elif kind == "arrow":
            frame.to_feather(part)
        else:
            with part.open("wb") as file:
                frame.to_excel(file, index=False, engine="openpyxl")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file that is either the old or the new one."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to replace a file unless asked to."""
    if path.exists() and not force:
        raise TableError(f"{path} exists. Use --force to replace it, or another name.")
    if not path.parent.is_dir():
        raise TableError(f"there is no folder {path.parent} to write {path.name} to.")
