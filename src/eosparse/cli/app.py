"""The command and its subcommands; to add one, write its file and list it in `_COMMANDS`."""

from __future__ import annotations

from typing import Annotated

import typer

from eosparse import __version__
from eosparse.cli.cells import cells
from eosparse.cli.compare import compare
from eosparse.cli.demo import demo
from eosparse.cli.detect import detect
from eosparse.cli.faults import FaultGroup
from eosparse.cli.labels import labels
from eosparse.cli.reproduce import reproduce
from eosparse.cli.score import score

_COMMANDS = (detect, cells, labels, score, demo, reproduce, compare)

app = typer.Typer(
    name="eosparse",
    cls=FaultGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"eosparse {__version__}")
        raise typer.Exit


@app.callback()
def describe(
    version: Annotated[  # handled by its callback
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Entropic Outlier Sparsification: find outliers and wrong labels, and learn without them."""


for _command in _COMMANDS:
    app.command()(_command)
