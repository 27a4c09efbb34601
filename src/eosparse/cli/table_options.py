"""Options that all commands on tables share, and from them to numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from eosparse.core import CollapseError
from eosparse.tables import (
    Column,
    Numbers,
    TableError,
    TableFile,
    as_numbers,
    read_table,
    recognised,
)
from eosparse.tables.writing import check_free

WRONG_USE, NO_ANSWER, INTERRUPTED = 2, 3, 130

Source = Annotated[
    str, typer.Argument(help="CSV, TSV, Parquet, Arrow or XLSX file; - for standard input.")
]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", help="Column to use; repeat, or commas between.")
]
Ignore = Annotated[
    list[str] | None, typer.Option("--ignore", help="Column to leave out; repeat, or commas.")
]
Identifier = Annotated[str | None, typer.Option("--id", help="Column that names the rows.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write all rows in their order, with what was found."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Top = Annotated[int, typer.Option("--top", min=0, help="Rows to print.")]


class Missing(StrEnum):
    """What to do with gaps."""

    error = "error"
    drop = "drop"
    impute = "impute"


class Embed(StrEnum):
    """Rows whose cells a report holds."""

    flagged = "flagged"
    all = "all"
    none = "none"


MissingOption = Annotated[Missing, typer.Option("--missing", help="What to do with gaps.")]


def split_names(names: list[str] | None, known: list[str]) -> tuple[str, ...]:
    """Split at commas, unless a column has that very name."""
    found: list[str] = []
    for name in names or ():
        found += [name] if name in known else [part.strip() for part in name.split(",")]
    return tuple(found)


def opened(
    source: str,
    columns: list[str] | None,
    ignore: list[str] | None,
    identifier: str | None,
    target: str | None = None,
) -> tuple[TableFile, list[Column]]:
    """Read a table, and tell what its columns are."""
    table = read_table(source)
    known = [str(name) for name in table.frame.columns]
    only, left_out = split_names(columns, known), split_names(ignore, known)
    found = recognised(
        table.frame, only=only, ignore=left_out, identifier=identifier, target=target
    )
    return table, found


def check_all_free(paths: list[Path | None], *, force: bool) -> None:
    """Refuse to replace files before anything is done."""
    for path in paths:
        if path is not None:
            check_free(path, force=force)


def taken(notes: list[str]) -> list[str]:
    """Return the warnings so far, and forget them."""
    now = notes.copy()
    notes.clear()
    return now


def numbers_of(table: TableFile, columns: list[Column], missing: Missing) -> Numbers:
    """Return the usable part of a table as numbers."""
    return as_numbers(table.frame, columns, missing=missing.value)


@contextmanager
def told() -> Iterator[list[str]]:
    """Turn what goes wrong into a message and an exit code; yields a list that warnings fill."""
    notes: list[str] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            warnings.showwarning = lambda message, *_: notes.append(str(message))
            yield notes
    except TableError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(WRONG_USE) from None
    except CollapseError as error:
        typer.echo(f"There is no answer: {error}", err=True)
        raise typer.Exit(NO_ANSWER) from None
    except ValueError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(WRONG_USE) from None
    except KeyboardInterrupt:
        typer.echo("Stopped; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
