"""What commands on tables share: their options, the table they choose, the files they write."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosparse.core import CollapseError
from eosparse.tables import Column, TableFile, read_table, recognised, write_table
from eosparse.tables.reading import kind_of
from eosparse.tables.writing import check_free

if TYPE_CHECKING:
    import pandas as pd

WRONG_USE, NO_ANSWER, INTERRUPTED = 2, 3, 130


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


Source = Annotated[
    str, typer.Argument(help="CSV, TSV, Parquet, Arrow or XLSX file; - for standard input.")
]
ColumnsOption = Annotated[
    list[str] | None, typer.Option("--columns", help="Column to use; repeat, or commas between.")
]
IgnoreOption = Annotated[
    list[str] | None, typer.Option("--ignore", help="Column to leave out; repeat, or commas.")
]
IdOption = Annotated[str | None, typer.Option("--id", help="Column that names the rows.")]
MissingOption = Annotated[Missing, typer.Option("--missing", help="What to do with gaps.")]
AlphaOption = Annotated[
    float | None, typer.Option(help="Regularisation; chosen from the table if not given.")
]
FdrOption = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Share of false alarms among what is flagged.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write all rows in their order, with what was found."),
]
ReportOption = Annotated[Path | None, typer.Option(help="Write an HTML report.")]
EmbedOption = Annotated[Embed, typer.Option(help="Rows whose cells the report holds.")]
ModelOption = Annotated[Path | None, typer.Option(help="Keep the model, for eosparse score.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
TopOption = Annotated[int, typer.Option("--top", min=0, help="Rows to print.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]

# Beyond so many bytes a file is streamed.
_MOST_BYTES = 2**30


@dataclass(frozen=True)
class Chosen:
    """A table, and which of its columns."""

    table: str
    columns: list[str] | None = None
    ignore: list[str] | None = None
    identifier: str | None = None
    target: str | None = None

    @property
    def is_streamed(self) -> bool:
        """Whether the table is too large to be held: a folder, or a file beyond a gigabyte."""
        path = Path(self.table)
        return path.is_dir() or (path.is_file() and path.stat().st_size > _MOST_BYTES)

    def opened(self) -> tuple[TableFile, list[Column]]:
        """Read the table, and tell what its columns are."""
        table = read_table(self.table)
        return table, self.recognised(table.frame)

    def recognised(self, frame: pd.DataFrame) -> list[Column]:
        """Tell what the columns of the table, or of a part of it, are."""
        known = [str(name) for name in frame.columns]
        return recognised(
            frame,
            only=_split(self.columns, known),
            ignore=_split(self.ignore, known),
            identifier=self.identifier,
            target=self.target,
        )


def _split(names: list[str] | None, known: list[str]) -> tuple[str, ...]:
    """Split at commas, unless a column has that very name."""
    found: list[str] = []
    for name in names or ():
        found += [name] if name in known else [part.strip() for part in name.split(",")]
    return tuple(found)


@dataclass(frozen=True)
class Files:
    """Files to write."""

    output: Path | None = None
    report: Path | None = None
    model: Path | None = None
    force: bool = False

    @property
    def paths(self) -> list[Path]:
        """Those that were asked for."""
        return [path for path in (self.output, self.report, self.model) if path is not None]

    def check_free(self) -> None:
        """Refuse to replace files before anything is done."""
        for path in self.paths:
            check_free(path, force=self.force)
        if self.output is not None:
            kind_of(self.output)

    def write(self, judged: pd.DataFrame, like: TableFile) -> None:
        """Write a table as the one it was made of is written."""
        if self.output is not None:
            marks = {"separator": like.separator, "decimal": like.decimal}
            write_table(judged, self.output, **marks, force=self.force)


def taken(notes: list[str]) -> list[str]:
    """Return the warnings so far, and forget them."""
    now = notes.copy()
    notes.clear()
    return now


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
    except CollapseError as error:
        typer.echo(f"There is no answer: {error}", err=True)
        raise typer.Exit(NO_ANSWER) from None
    except ValueError as error:  # TableError is one
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(WRONG_USE) from None
    except KeyboardInterrupt:
        typer.echo("Stopped; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
