"""What to install when something optional is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def bench_needed() -> Iterator[None]:
    """Name the extra of comparisons if one of its packages is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        typer.echo(f"Comparisons need {error.name}: pip install 'eosparse[bench]'.", err=True)
        raise typer.Exit(2) from None
