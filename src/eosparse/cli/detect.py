"""``eosparse detect``: which rows do not belong."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosparse.cli import table_options as options
from eosparse.cli.printing import tell
from eosparse.cli.progress import Waiting

if TYPE_CHECKING:
    from eosparse import EOSDetector


def detect(
    table: options.Source,
    columns: options.ColumnsOption = None,
    ignore: options.IgnoreOption = None,
    identifier: options.IdOption = None,
    missing: options.MissingOption = options.Missing.error,
    fdr: options.FdrOption = 0.01,
    alpha: options.AlphaOption = None,
    output: options.OutputOption = None,
    report: options.ReportOption = None,
    embed: options.EmbedOption = options.Embed.flagged,
    as_json: options.JsonOption = False,
    save_model: options.ModelOption = None,
    top: options.TopOption = 20,
    force: options.ForceOption = False,
) -> None:
    """Find the rows of a table that do not belong, with p-values and reasons.

    Exit codes: 0 done, 2 wrong use or a table that cannot be used, 3 no answer (the weights
    collapsed), 130 stopped.
    """
    from eosparse import EOSDetector

    chosen = options.Chosen(table, columns, ignore, identifier)
    files = options.Files(output, report, save_model, force)
    with options.told() as notes, Waiting() as waiting:
        detector = EOSDetector("auto" if alpha is None else alpha, fdr=fdr, callback=waiting.passes)
        files.check_free()
        if chosen.is_streamed:
            summary = streamed(chosen, detector, files, waiting)
        else:
            summary = held(chosen, missing, detector, files, embed, notes, waiting)
    tell(summary, notes, as_json=as_json, top=top, written=files.paths)


def held(
    chosen: options.Chosen,
    missing: options.Missing,
    detector: EOSDetector,
    files: options.Files,
    embed: options.Embed,
    notes: list[str],
    waiting: Waiting,
) -> dict[str, Any]:
    """Judge the rows of a table in memory, and write what was asked for."""
    import pandas as pd

    from eosparse.report.detection import Verdict, pictured, summarise, with_findings
    from eosparse.report.html import write_detection
    from eosparse.tables import as_numbers
    from eosparse.tables.models import save

    waiting.says("reading")
    source, found = chosen.opened()
    waiting.says("looking for gaps and categories")
    numbers = as_numbers(source.frame, found, missing=missing.value)
    waiting.says(f"fitting {len(numbers.values):,} rows, {len(numbers.names):,} columns")
    detector.fit(pd.DataFrame(numbers.values, columns=list(numbers.names)))
    detector.set_params(callback=None)  # the path of the report copies the detector
    waiting.says("looking for reasons")
    summary = summarise(source, found, numbers, detector)
    if files.output is not None:
        waiting.says(f"writing {files.output.name}")
        verdict = Verdict.of_training(detector)
        files.write(with_findings(source.frame, numbers, verdict, summary), source)
    if files.report is not None:
        waiting.says("drawing the report")
        summary["notes"] += options.taken(notes)
        pictures = pictured(detector, numbers)
        write_detection(summary, pictures, source.frame, files.report, embed=embed.value)
    if files.model is not None:
        save(detector, found, numbers, files.model)
    return summary


def streamed(
    chosen: options.Chosen, detector: EOSDetector, files: options.Files, waiting: Waiting
) -> dict[str, Any]:
    """Judge the rows of a table on disk; without an output, findings go to a file for a while."""
    from eosparse.report.streamed import detect_streamed, first_rows, only_numbers
    from eosparse.tables import TableError

    if files.report is not None or files.model is not None:
        raise TableError("--report and --save-model need a table that fits into memory.")
    if files.output is not None and files.output.suffix != ".parquet":
        raise TableError("a streamed table is written to Parquet: --output FILE.parquet.")
    waiting.says(f"streaming {chosen.table}")
    found = only_numbers(chosen.recognised(first_rows(chosen.table)))
    with tempfile.TemporaryDirectory() as folder:
        output = files.output or Path(folder) / "scores.parquet"
        return detect_streamed(chosen.table, found, detector, output, overwrite=files.force)
