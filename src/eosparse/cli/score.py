"""``eosparse score``: judge a table by a model made of another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosparse.cli import table_options as options
from eosparse.cli.printing import tell
from eosparse.cli.progress import Waiting

if TYPE_CHECKING:
    from eosparse.tables import Column, TableFile
    from eosparse.tables.models import SavedModel


def score(
    model: Annotated[Path, typer.Argument(help="File that eosparse detect --save-model wrote.")],
    table: options.Source,
    missing: options.MissingOption = options.Missing.error,
    level: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Flag p-values below it, not beyond the model's cut."),
    ] = None,
    output: options.OutputOption = None,
    as_json: options.JsonOption = False,
    top: options.TopOption = 20,
    force: options.ForceOption = False,
) -> None:
    """Judge the rows of a table by a model made of another one.

    Exit codes: 0 done, 2 wrong use or a table that cannot be used, 130 stopped.
    """
    from eosparse.report.detection import judged_by_model
    from eosparse.tables import as_numbers, read_table
    from eosparse.tables.models import load

    files = options.Files(output, force=force)
    with options.told() as notes, Waiting() as waiting:
        files.check_free()
        waiting.says("reading")
        saved, source = load(model), read_table(table)
        columns = matching(saved, source)
        waiting.says(f"judging {len(source.frame):,} rows")
        numbers = as_numbers(source.frame, columns, missing=missing.value, encoding=saved.encoding)
        summary, judged = judged_by_model(source, columns, numbers, saved.detector, level)
        files.write(judged, source)
    tell(summary, notes, as_json=as_json, top=top, written=files.paths)


def matching(saved: SavedModel, table: TableFile) -> list[Column]:
    """Return the model's columns, in the table's order; an error names those that are missing."""
    from eosparse.tables import Column, Role
    from eosparse.tables.models import ModelError

    names = [str(name) for name in table.frame.columns]
    lacking = [c.name for c in saved.columns if c.role.is_used and c.name not in names]
    if lacking:
        shown = ", ".join(repr(name) for name in lacking[:8])
        raise ModelError(f"{table.name} lacks columns that the model was made of: {shown}.")
    known = {column.name: column for column in saved.columns}
    new = Column("", Role.IGNORED, "the model does not know it")
    found = []
    for name in names:
        column = known.get(name, new)
        n_missing = int(table.frame[name].isna().sum())
        found.append(Column(name, column.role, column.why, n_missing))
    # The model's own order is that of its numbers.
    order = {column.name: i for i, column in enumerate(saved.columns)}
    return sorted(found, key=lambda column: order.get(column.name, len(order)))
