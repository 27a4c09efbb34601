"""``eosparse score``: score a table with a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eosparse.cli import table_options as options
from eosparse.cli.printing import add_notes, print_summary
from eosparse.cli.progress import StatusLine


def score(
    model: Annotated[Path, typer.Argument(help="Model saved by eosparse detect --save-model.")],
    table: options.Source,
    missing: options.GapsOption = options.Gaps.keep,
    level: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Flag p-values below this level; by default, use the model's cut-off.",
        ),
    ] = None,
    output: options.OutputOption = None,
    as_json: options.JsonOption = False,
    top: options.TopOption = 20,
    force: options.ForceOption = False,
    safe: options.SafeOption = False,
    sheet: options.SheetOption = None,
    separator: options.SeparatorOption = None,
    encoding: options.EncodingOption = None,
    header: options.HeaderOption = None,
) -> None:
    """Find outliers in a table with a saved model.

    Exit codes: 0 success, 1 unforeseen error, 2 usage error or unusable file, 4 no memory or disk
    space, 130 interrupted.
    """
    from eosparse.tables import take_cells
    from eosparse.tables.detection import append_scores, score_new_rows, summarise_scoring
    from eosparse.tables.models import load_model

    reading = options.Reading(sheet, separator, encoding, header)
    files = options.OutputFiles(output, force=force, safe=safe)
    with options.handle_errors() as notes, StatusLine() as status:
        files.check()
        status.show("Reading the table")
        saved, source = load_model(model), reading.read(table)
        columns = saved.match_columns(source)
        status.show(f"Scoring {len(source.frame):,} rows")
        cells = take_cells(source.frame, columns, missing=missing.value, encoding=saved.encoding)
        scored = score_new_rows(source, columns, cells, saved.detector, level)
        summary = summarise_scoring(scored, level)
        files.write_output(append_scores(scored, summary), source)
    print_summary(add_notes(summary, notes), as_json=as_json, top=top, written=files.paths)
