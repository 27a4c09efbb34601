"""A bar with the time left; lines, now and then, where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from eosparse.comparison.runner import Standing
    from eosparse.core import Iteration

_SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def shown_progress() -> Iterator[Callable[[Standing], None]]:
    """Yield a function that shows how a run stands."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    columns = (BarColumn(), TextColumn("{task.fields[said]}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task, begun = progress.add_task("", total=1.0, said="starting"), time.monotonic()

        def observe(standing: Standing) -> None:
            spent = time.monotonic() - begun
            part = spent / max(spent + standing.seconds_left, 1e-9)
            progress.update(task, completed=part, said=_said(standing))

        yield observe


def _lines() -> Callable[[Standing], None]:
    last = time.monotonic()

    def observe(standing: Standing) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            typer.echo(_said(standing), err=True)

    return observe


def _said(standing: Standing) -> str:
    minutes, seconds = divmod(round(standing.seconds_left), 60)
    row = standing.last
    return f"{standing.n_done} units, {minutes}:{seconds:02d} left; {row['grid']}: {row['method']}"


class Waiting:
    """A line that says what goes on and for how long, in a terminal, once it takes a second."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._progress = Progress(
            *columns, console=console, transient=True, disable=not console.is_terminal
        )
        self._said = "starting"
        self._task = self._progress.add_task(self._said, total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def says(self, what: str) -> None:
        """Say what goes on now."""
        self._said = what
        self._progress.update(self._task, description=what)

    def passes(self, iteration: Iteration[Any]) -> None:
        """Say how far a fit has come; a callback of estimators."""
        said = f"{self._said}: pass {iteration.number}, objective {iteration.objective:.6g}"
        self._progress.update(self._task, description=said)
