"""All commands in one place; each has a file of its own."""

from __future__ import annotations

import typer

from eosparse.cli.compare import compare
from eosparse.cli.demo import demo
from eosparse.cli.detect import detect
from eosparse.cli.labels import labels
from eosparse.cli.reproduce import reproduce
from eosparse.cli.score import score

app = typer.Typer(
    name="eosparse",
    help="Entropic Outlier Sparsification: find the rows that are wrong, and learn without them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(detect)
app.command()(labels)
app.command()(score)
app.command()(demo)
app.command()(reproduce)
app.command()(compare)
