"""``eosparse detect``: which rows do not belong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosparse.cli import table_options as options
from eosparse.cli.printing import print_detection
from eosparse.cli.progress import Waiting

if TYPE_CHECKING:
    import pandas as pd

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
    from eosparse.tables import read_table, recognised, write_table
    from eosparse.tables.writing import check_free

    with options.told() as notes, Waiting() as waiting:
        for path in (output, report, save_model):
            if path is not None:
                check_free(path, force=force)
        waiting.says("reading")
        source = read_table(table)
        known = [str(name) for name in source.frame.columns]
        found = recognised(
            source.frame,
            only=options.split_names(columns, known),
            ignore=options.split_names(ignore, known),
            identifier=identifier,
        )
        numbers = options.numbers_of(source, found, missing)
        waiting.says(f"fitting {len(numbers.values):,} rows, {len(numbers.names)} columns")
        detector = EOSDetector("auto" if alpha is None else alpha, fdr=fdr)
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
    summary["notes"] += notes
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=1))
        return
    print_detection(summary, top, [p for p in (output, report, save_model) if p is not None])


def as_frame(numbers: Numbers) -> pd.DataFrame:
    """Return numbers with their names, as estimators like them."""
    import pandas as pd

    return pd.DataFrame(numbers.values, columns=list(numbers.names))
