"""``eosparse labels``: find wrong labels."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from eosparse.cli import table_options as options
from eosparse.cli.printing import add_notes, print_summary
from eosparse.cli.progress import StatusLine


class Task(StrEnum):
    """What the labels are."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class Learner(StrEnum):
    """What labels are predicted by."""

    auto = "auto"
    linear = "linear"
    boosted = "boosted"


TargetOption = Annotated[str, typer.Option(help="Column with the labels.")]
TaskOption = Annotated[
    Task, typer.Option(help="Whether labels are classes or numbers; inferred by default.")
]
LearnerOption = Annotated[
    Learner,
    typer.Option(
        help="What predicts the labels: a linear model or boosted trees; by default the better."
    ),
]


def labels(
    table: options.Source,
    target: TargetOption,
    columns: options.ColumnsOption = None,
    ignore: options.IgnoreOption = None,
    identifier: options.IdOption = None,
    missing: options.MissingOption = options.Missing.error,
    task: TaskOption = Task.auto,
    learner: LearnerOption = Learner.auto,
    fdr: options.FdrOption = 0.1,
    output: options.OutputOption = None,
    report: options.ReportOption = None,
    embed: options.EmbedOption = options.Embed.flagged,
    as_json: options.JsonOption = False,
    top: options.TopOption = 20,
    force: options.ForceOption = False,
    safe: options.SafeOption = False,
    sheet: options.SheetOption = None,
    separator: options.SeparatorOption = None,
    encoding: options.EncodingOption = None,
    header: options.HeaderOption = None,
) -> None:
    """Find wrong labels in a table, and suggest others.

    Exit codes: 0 success, 1 unforeseen error, 2 usage error or unusable file, 3 no result, 4 no
    memory or disk space, 130 interrupted.
    """
    from eosparse.tables.label_audit import append_issues, audit_labels, summarise_labels

    reading = options.Reading(sheet, separator, encoding, header)
    selection = options.TableSelection(table, columns, ignore, identifier, target, reading=reading)
    files = options.OutputFiles(output, report, force=force, safe=safe)
    with options.handle_errors() as notes, StatusLine() as status:
        files.check()
        status.show("Reading the table")
        source, found = selection.read()
        status.show(f"Checking the labels of {len(source.frame):,} rows")
        audit = audit_labels(
            source, found, target,
            missing=missing.value, task=task.value, learner=learner.value, fdr=fdr,
        )  # fmt: skip
        status.show("Training with and without the flagged rows")
        summary = summarise_labels(audit)
        files.write_output(append_issues(audit, summary), source)
        if report is not None:
            from eosparse.report.html import write_label_report

            write_label_report(add_notes(summary, notes), source.frame, report, embed=embed.value)
    print_summary(add_notes(summary, notes), as_json=as_json, top=top, written=files.paths)
