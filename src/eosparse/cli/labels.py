"""``eosparse labels``: which labels are wrong."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from eosparse.cli import table_options as options
from eosparse.cli.printing import tell
from eosparse.cli.progress import Waiting

if TYPE_CHECKING:
    import pandas as pd

    from eosparse.report.labels import Audit
    from eosparse.tables import Column, TableFile


class Task(StrEnum):
    """What the labels are."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


def labels(
    table: options.Source,
    target: Annotated[str, typer.Option(help="Column with the labels.")],
    columns: options.ColumnsOption = None,
    ignore: options.IgnoreOption = None,
    identifier: options.IdOption = None,
    missing: options.MissingOption = options.Missing.error,
    task: Annotated[
        Task, typer.Option(help="Classes or numbers; told from the labels if not said.")
    ] = Task.auto,
    fdr: options.FdrOption = 0.1,
    output: options.OutputOption = None,
    report: options.ReportOption = None,
    embed: options.EmbedOption = options.Embed.flagged,
    as_json: options.JsonOption = False,
    top: options.TopOption = 20,
    force: options.ForceOption = False,
) -> None:
    """Find the labels of a table that are probably wrong, and what they should be.

    Exit codes: 0 done, 2 wrong use or a table that cannot be used, 3 no answer, 130 stopped.
    """
    from eosparse.report.html import write_labels
    from eosparse.report.labels import summarise, with_findings

    chosen = options.Chosen(table, columns, ignore, identifier, target)
    files = options.Files(output, report, force=force)
    with options.told() as notes, Waiting() as waiting:
        files.check_free()
        waiting.says("reading")
        source, found = chosen.opened()
        waiting.says(f"judging the labels of {len(source.frame):,} rows")
        audit, said = audited(source, found, target, missing.value, task, fdr)
        waiting.says("learning with and without the doubtful rows")
        summary = summarise(audit, notes=(*said, *options.taken(notes)))
        files.write(with_findings(audit, summary), source)
        if report is not None:
            write_labels(summary, source.frame, report, embed=embed.value)
    tell(summary, notes, as_json=as_json, top=top, written=files.paths)


def audited(
    source: TableFile,
    columns: list[Column],
    target: str,
    missing: Any,
    task: Task,
    fdr: float,
) -> tuple[Audit, list[str]]:
    """Judge the labels of a table; return also what was assumed."""
    from dataclasses import replace

    from eosparse import find_label_issues
    from eosparse.report.labels import Audit, default_learner
    from eosparse.tables import as_numbers

    has_label = source.frame[target].notna().to_numpy(copy=True)
    said = []
    if not has_label.all():
        said.append(f"{np.count_nonzero(~has_label)} rows without a label were left out.")
    labelled = source.frame[has_label]
    is_regression = _is_regression(labelled[target], task)
    said.append(f"{target} was taken for {'a number to predict' if is_regression else 'classes'}.")
    features = as_numbers(labelled, columns, missing=missing, indicate=True)
    given = _labels(labelled[target], is_regression)[features.is_kept]
    # Rows keep their numbers in the whole table.
    has_label[has_label] = features.is_kept
    features = replace(features, is_kept=has_label)
    learner = default_learner(is_regression)
    issues = find_label_issues(features.values, given, learner, fdr=fdr)
    return Audit(source, columns, features, given, issues, is_regression, fdr), said


def _is_regression(cells: pd.Series[Any], task: Task) -> bool:
    from eosparse.fitting.targets import is_regression_target

    return is_regression_target(cells) if task is Task.auto else task is Task.regression


def _labels(cells: pd.Series[Any], is_regression: bool) -> Any:
    from eosparse.tables import TableError

    if is_regression:
        try:
            return cells.to_numpy(dtype=np.float64)
        except ValueError as error:
            raise TableError(f"column {cells.name!r} is no number to predict: {error}") from None
    return cells.astype(str).to_numpy(dtype=object).astype(str)
