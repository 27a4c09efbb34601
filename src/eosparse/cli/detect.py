"""``eosparse detect``: which rows do not belong."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eosparse.cli import table_options as options
from eosparse.cli.printing import print_detection
from eosparse.cli.progress import Waiting

if TYPE_CHECKING:
    import pandas as pd

    from eosparse import EOSDetector
    from eosparse.tables import Numbers


def detect(
    table: options.Source,
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    identifier: options.Identifier = None,
    missing: options.MissingOption = options.Missing.error,
    fdr: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of false alarms among flagged rows.")
    ] = 0.01,
    alpha: Annotated[
        float | None, typer.Option(help="Regularisation; chosen from the table if not given.")
    ] = None,
    output: options.Output = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report.")] = None,
    embed: Annotated[
        options.Embed, typer.Option(help="Rows whose cells the report holds.")
    ] = options.Embed.flagged,
    as_json: options.AsJson = False,
    save_model: Annotated[
        Path | None, typer.Option(help="Keep the model, for eosparse score.")
    ] = None,
    top: options.Top = 20,
    force: options.Force = False,
) -> None:
    """Find the rows of a table that do not belong, with p-values and reasons.

    Exit codes: 0 done, 2 wrong use or a table that cannot be used, 3 no answer (the weights
    collapsed), 130 stopped.
    """
    from eosparse import EOSDetector
    from eosparse.report.detection import Verdict, pictured, summarise, with_findings
    from eosparse.tables import TableError, write_table

    detector = EOSDetector("auto" if alpha is None else alpha, fdr=fdr)
    if is_streamed(table):
        chosen = Streamed(table, columns, ignore, identifier, output, force)
        with options.told() as notes, Waiting() as waiting:
            if report is not None or save_model is not None:
                raise TableError("--report and --save-model need a table that fits into memory.")
            waiting.says("streaming")
            summary = chosen.summary(detector)
        _tell(summary, notes, as_json, top, [output])
        return
    with options.told() as notes, Waiting() as waiting:
        options.check_all_free([output, report, save_model], force=force)
        waiting.says("reading")
        source, found = options.opened(table, columns, ignore, identifier)
        numbers = options.numbers_of(source, found, missing)
        waiting.says(f"fitting {len(numbers.values):,} rows, {len(numbers.names)} columns")
        detector.fit(as_frame(numbers))
        waiting.says("summarising")
        summary = summarise(source, found, numbers, detector)
        if output is not None:
            verdict = Verdict.of_training(detector)
            judged = with_findings(source.frame, numbers, verdict, summary)
            write_table(judged, output, separator=source.separator, force=force)
        if report is not None:
            waiting.says("drawing the report")
            from eosparse.report.html import write_detection

            summary["notes"] += options.taken(notes)
            pictures = pictured(detector, numbers)
            write_detection(summary, pictures, source.frame, report, embed=embed.value)
        if save_model is not None:
            from eosparse.tables.models import save

            save(detector, found, numbers, save_model)
    _tell(summary, notes, as_json, top, [output, report, save_model])


def _tell(
    summary: dict[str, Any], notes: list[str], as_json: bool, top: int, written: list[Path | None]
) -> None:
    """Print a summary, for machines or people."""
    summary["notes"] += notes
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=1))
        return
    print_detection(summary, top, [path for path in written if path is not None])


def is_streamed(table: str) -> bool:
    """Whether a table is too large to be held: a folder, or a file beyond a gigabyte."""
    path = Path(table)
    return path.is_dir() or (path.is_file() and path.stat().st_size > _MOST_BYTES)


_MOST_BYTES = 2**30


@dataclass(frozen=True)
class Streamed:
    """A detection in a table on disk; without an output, findings go to a file that is removed."""

    table: str
    columns: list[str] | None
    ignore: list[str] | None
    identifier: str | None
    output: Path | None
    force: bool

    def summary(self, detector: EOSDetector) -> dict[str, Any]:
        """Fit, write and describe."""
        from eosparse.report.streamed import detect_streamed, recognised_columns
        from eosparse.tables import TableError
        from eosparse.tables.writing import check_free

        if self.output is not None:
            check_free(self.output, force=self.force)
            if self.output.suffix != ".parquet":
                raise TableError("a streamed table is written to Parquet: --output FILE.parquet.")
        found = recognised_columns(
            self.table,
            only=options.split_names(self.columns, []),
            ignore=options.split_names(self.ignore, []),
            identifier=self.identifier,
        )
        with tempfile.TemporaryDirectory() as folder:
            output = self.output or Path(folder) / "scores.parquet"
            return detect_streamed(self.table, found, detector, output, overwrite=self.force)


def as_frame(numbers: Numbers) -> pd.DataFrame:
    """Return numbers with their names, as estimators like them."""
    import pandas as pd

    return pd.DataFrame(numbers.values, columns=list(numbers.names))
