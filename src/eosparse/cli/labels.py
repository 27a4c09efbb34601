"""``eosparse labels``: which labels are wrong."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from eosparse.cli import table_options as options
from eosparse.cli.printing import print_labels
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
    columns: options.Columns = None,
    ignore: options.Ignore = None,
    identifier: options.Identifier = None,
    missing: options.MissingOption = options.Missing.error,
    task: Annotated[
        Task, typer.Option(help="Classes or numbers; told from the labels if not said.")
    ] = Task.auto,
    fdr: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of right labels among those flagged.")
    ] = 0.1,
    output: options.Output = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report.")] = None,
    embed: Annotated[
        options.Embed, typer.Option(help="Rows whose cells the report holds.")
    ] = options.Embed.flagged,
    as_json: options.AsJson = False,
    top: options.Top = 20,
    force: options.Force = False,
) -> None:
    """Find the labels of a table that are probably wrong, and what they should be.

    Exit codes: 0 done, 2 wrong use or a table that cannot be used, 3 no answer, 130 stopped.
    """
    from eosparse.report.labels import summarise, with_findings
    from eosparse.tables import write_table

    with options.told() as notes, Waiting() as waiting:
        options.check_all_free([output, report], force=force)
        waiting.says("reading")
        source, found = options.opened(table, columns, ignore, identifier, target)
        waiting.says("judging the labels")
        audit, said = audited(source, found, target, missing.value, task, fdr)
        waiting.says("summarising")
        summary = summarise(audit, notes=(*said, *options.taken(notes)))
        if output is not None:
            write_table(
                with_findings(audit, summary), output, separator=source.separator, force=force
            )
        if report is not None:
            from eosparse.report.html import write_labels

            write_labels(summary, audit.table.frame, report, embed=embed.value)
    summary["notes"] += notes
    if as_json:
        typer.echo(json.dumps(summary, ensure_ascii=False, indent=1))
        return
    print_labels(summary, top, [path for path in (output, report) if path is not None])


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
    """Tell a target of a regression: numbers with decimals, or many different ones."""
    from pandas.api import types

    if task is not Task.auto:
        return task is Task.regression
    if types.is_bool_dtype(cells) or not types.is_numeric_dtype(cells):
        return False
    distinct = cells.nunique()
    has_decimals = bool((cells % 1 != 0).any())
    return distinct > 20 and (has_decimals or distinct > 0.05 * len(cells))


def _labels(cells: pd.Series[Any], is_regression: bool) -> Any:
    from eosparse.tables import TableError

    if is_regression:
        try:
            return cells.to_numpy(dtype=np.float64)
        except ValueError as error:
            raise TableError(f"column {cells.name!r} is no number to predict: {error}") from None
    return cells.astype(str).to_numpy(dtype=object).astype(str)
