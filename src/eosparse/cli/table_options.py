"""What the commands on tables share: options, the table they read, the files they write."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosparse.cli.faults import handle_errors as handle_errors

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.tables import Column, TableFile


class Gaps(StrEnum):
    """How to handle missing values."""

    keep = "keep"
    drop = "drop"
    error = "error"


class Missing(StrEnum):
    """How to handle missing values where a learner takes none."""

    error = "error"
    drop = "drop"
    impute = "impute"


class ErrorModel(StrEnum):
    """What good rows look like."""

    auto = "auto"
    gaussian = "gaussian"
    margins = "margins"
    groups = "groups"
    local = "local"


class Groups(StrEnum):
    """What groups of rows that sit apart are."""

    outliers = "outliers"
    kinds = "kinds"


class Embed(StrEnum):
    """Rows whose cells a report contains."""

    flagged = "flagged"
    all = "all"
    none = "none"


Source = Annotated[
    str,
    typer.Argument(
        help="Table to read: CSV, TSV, Parquet, Arrow or XLSX. Use - for standard input."
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option("--columns", help="Columns to use, separated by commas. Can be repeated."),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", help="Columns to ignore, separated by commas. Can be repeated."),
]
IdOption = Annotated[str | None, typer.Option("--id", help="Column that identifies the rows.")]
GapsOption = Annotated[
    Gaps,
    typer.Option(
        "--missing",
        help="Rows with missing values: keep and judge them by the others, drop them, or stop.",
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="Missing values: stop with an error, drop the rows, or fill in the column's median.",
    ),
]
KindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="What a column holds: number, levels, category, heap, date or ignored. Can be "
        "repeated; recognised by default.",
    ),
]
ErrorModelOption = Annotated[
    ErrorModel,
    typer.Option(
        "--model", help="What good rows look like; by default the simplest model that fits."
    ),
]
GroupsOption = Annotated[
    Groups,
    typer.Option(
        "--groups", help="Whether smaller groups of rows are outliers, or kinds of good rows."
    ),
]
AlphaOption = Annotated[
    float | None,
    typer.Option(help="Larger values give rows more equal weights; automatic by default."),
]
FdrOption = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, help="Expected share of false alarms among the flagged rows."),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write all rows with their scores to a file.")
]
ReportOption = Annotated[Path | None, typer.Option(help="Write an HTML report.")]
EmbedOption = Annotated[Embed, typer.Option(help="Rows whose cells the report contains.")]
ModelOption = Annotated[Path | None, typer.Option(help="Save the model for eosparse score.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TopOption = Annotated[int, typer.Option("--top", min=0, help="Number of rows to print.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace existing files.")]


@dataclass(frozen=True)
class TableSelection:
    """A table, and what you said about its columns."""

    table: str
    columns: list[str] | None = None
    ignore: list[str] | None = None
    identifier: str | None = None
    target: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)

    @property
    def is_streamed(self) -> bool:
        """Whether the table is too large for memory: a folder, or a file above a gigabyte."""
        from eosparse.tables.limits import is_too_large

        path = Path(self.table)
        return path.is_dir() or (path.is_file() and is_too_large(path))

    def read(self) -> tuple[TableFile, list[Column]]:
        """Read the table, and recognise its columns."""
        from eosparse.tables import read_table

        table = read_table(self.table)
        return table, self.recognise(table.frame)

    def recognise(self, frame: pd.DataFrame) -> list[Column]:
        """Recognise the columns of the table from all of its rows or some of them."""
        from eosparse.tables import recognise_columns
        from eosparse.tables.columns import apply_kinds

        known = {str(name) for name in frame.columns}
        columns = recognise_columns(
            frame,
            only=_split_names(self.columns, known),
            ignore=_split_names(self.ignore, known),
            identifier=self.identifier,
            target=self.target,
        )
        return apply_kinds(frame, columns, self.kinds)


def split_kinds(given: list[str] | None) -> dict[str, str]:
    """Split options such as "sex=category" at their last "="."""
    kinds: dict[str, str] = {}
    for text in given or ():
        column, mark, kind = text.rpartition("=")
        if not (mark and column):
            raise typer.BadParameter(
                f"--kind {text}: write COLUMN=KIND, such as --kind sex=category."
            )
        kinds[column] = kind.strip()
    return kinds


def _split_names(names: list[str] | None, known: set[str]) -> tuple[str, ...]:
    """Split names at commas, unless the comma belongs to the name of a column."""
    split: list[str] = []
    for name in names or ():
        split += [name] if name in known else [part.strip() for part in name.split(",")]
    return tuple(split)


@dataclass(frozen=True)
class OutputFiles:
    """The files that a command writes."""

    output: Path | None = None
    report: Path | None = None
    model: Path | None = None
    force: bool = False

    @property
    def paths(self) -> list[Path]:
        """Those that were requested."""
        return [path for path in (self.output, self.report, self.model) if path is not None]

    def check(self) -> None:
        """Raise an error if a file cannot be written, before any work is done."""
        if not self.paths:
            return
        from eosparse.rows.formats import find_format
        from eosparse.tables.writing import check_writable

        for path in self.paths:
            check_writable(path, force=self.force)
        _check_different(self.paths)
        if self.output is not None:
            find_format(self.output)

    def write_output(self, scores: pd.DataFrame, source: TableFile) -> None:
        """Write the scores, if requested, with the separators of the source."""
        from eosparse.tables import write_table

        if self.output is not None:
            marks = {"separator": source.separator, "decimal": source.decimal}
            write_table(scores, self.output, **marks, force=self.force)


def _check_different(paths: list[Path]) -> None:
    """Refuse to write two things to one file: the second would replace the first."""
    from eosparse.tables import TableError

    places = [path.resolve() for path in paths]
    for i, path in enumerate(paths):
        if places[i] in places[:i]:
            raise TableError(f"Two outputs would be written to {path}. Name different files.")
