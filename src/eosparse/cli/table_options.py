"""What the commands on tables share: options, the table they read, the files they write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eosparse.cli.faults import handle_errors as handle_errors

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.cli.progress import StatusLine
    from eosparse.rows.dialect import Hints
    from eosparse.tables import Column, TableFile
    from eosparse.tables.survey import Survey


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
    list[str],
    typer.Argument(
        help="Table to read: CSV, TSV, Parquet, Arrow, JSON lines or XLSX; or several files with "
        "the same columns. Use - for standard input."
    ),
]
SheetOption = Annotated[
    str | None,
    typer.Option("--sheet", help="Sheet of an XLSX file: its name, or its number from 1."),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option("--separator", help="What separates cells in a text file; recognised by default."),
]
EncodingOption = Annotated[
    str | None,
    typer.Option("--encoding", help="Encoding of a text file; recognised by default."),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns."),
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
SafeOption = Annotated[
    bool,
    typer.Option(
        "--safe", help="In CSV, put ' before text that a spreadsheet would take for a formula."
    ),
]


@dataclass(frozen=True)
class Reading:
    """What you said about how files are written."""

    sheet: str | None = None
    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None

    def make_hints(self) -> Hints:
        """Return what is known about text files that are streamed."""
        from eosparse.tables.reading import make_hints

        return make_hints(self.separator, self.encoding, self.header)

    def read(self, tables: list[str]) -> TableFile:
        """Read a table."""
        from eosparse.tables import read_table

        return read_table(tables, **vars(self))


@dataclass(frozen=True)
class TableSelection:
    """A table, of one or more files, and what you said about its columns."""

    tables: list[str]
    columns: list[str] | None = None
    ignore: list[str] | None = None
    identifier: str | None = None
    target: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)

    @property
    def table(self) -> str:
        """The only table, which is streamed."""
        from eosparse.tables import TableError

        if self.reading.sheet is not None:
            raise TableError(f"{self.tables[0]} has no sheets: --sheet is for XLSX files.")
        if len(self.tables) > 1:
            raise TableError(
                "Several files are read into memory, and these are too large. Put them into a "
                "folder, and pass the folder."
            )
        return self.tables[0]

    @property
    def is_streamed(self) -> bool:
        """Whether the table is too large for memory: a folder, or files above a gigabyte."""
        from eosparse.rows.limits import are_too_large

        return are_too_large([Path(table) for table in self.tables])

    def survey(self, output: Path | None, status: StatusLine) -> Survey:
        """Read a table on disk once, and check that the output can be written beside it."""
        from eosparse.rows.formats import find_format
        from eosparse.tables.stream_judging import check_output
        from eosparse.tables.survey import survey_table

        status.show(f"Looking through {self.table}")
        needs_types = output is not None and find_format(output).separator is None
        found = survey_table(self.table, self.reading.make_hints(), needs_types=needs_types)
        check_output(found, output)
        return found

    def read(self) -> tuple[TableFile, list[Column]]:
        """Read the table, and recognise its columns."""
        table = self.reading.read(self.tables)
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
    safe: bool = False

    @property
    def paths(self) -> list[Path]:
        """Those that were requested."""
        return [path for path in (self.output, self.report, self.model) if path is not None]

    def check(self) -> None:
        """Raise an error if a file cannot be written, before any work is done."""
        if not self.paths:
            return
        from eosparse.rows.formats import find_format
        from eosparse.tables import TableError
        from eosparse.tables.writing import check_writable

        for path in self.paths:
            check_writable(path, force=self.force)
        if len({path.resolve() for path in self.paths}) < len(self.paths):
            raise TableError("Outputs must be different files: two of them have the same name.")
        if self.output is not None:
            find_format(self.output)

    def write_output(
        self,
        added: pd.DataFrame | None,
        source: TableFile,
        changes: Mapping[str, Mapping[int, Any]] | None = None,
    ) -> None:
        """Write a copy of the source with columns beside it, if requested."""
        if self.output is None:
            return
        from eosparse.tables.writing import Copy, warn_of_replaced, write_copy

        copy = Copy(source, added, changes or {}, self.safe)
        replaced = [name for name in copy.new_names if name in copy.original.names]
        write_copy(copy, self.output, force=self.force)
        if replaced:
            warn_of_replaced(self.output, replaced)
