"""Messages about optional packages that are not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def require_bench_extra() -> Iterator[None]:
    """Exit with the name of the extra to install if an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        typer.echo(f"Comparisons need {error.name}: pip install 'eosparse[bench]'.", err=True)
        raise typer.Exit(2) from None
