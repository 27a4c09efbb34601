"""Show progress on standard error: a bar or a line in a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import typer

from eosparse.report.controls import show_controls

if TYPE_CHECKING:
    from rich.progress import Progress

    from eosparse.comparison.runner import Standing
    from eosparse.core import Iteration

# Often enough to see that the run goes on, rarely enough for a log file.
_SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def show_progress() -> Iterator[Callable[[Standing], None]]:
    """Yield a function that shows how far a run is."""
    if not sys.stderr.isatty():
        yield _print_now_and_then()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(), TextColumn("{task.fields[text]}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task, start = progress.add_task("", total=1.0, text="starting"), time.monotonic()

        def observe(standing: Standing) -> None:
            spent = time.monotonic() - start
            share = spent / max(spent + standing.seconds_left, 1e-9)
            progress.update(task, completed=share, text=_format_standing(standing))

        yield observe


def _print_now_and_then() -> Callable[[Standing], None]:
    last = time.monotonic()

    def observe(standing: Standing) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            typer.echo(_format_standing(standing), err=True)

    return observe


def _format_standing(standing: Standing) -> str:
    minutes, seconds = divmod(round(standing.seconds_left), 60)
    row = standing.last
    return f"{standing.n_done} units, {minutes}:{seconds:02d} left; {row['grid']}: {row['method']}"


class StatusLine:
    """A line in a terminal with the current step and the time it takes."""

    def __init__(self) -> None:
        self._text = "Starting"
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            text = TextColumn("{task.description}", markup=False)  # a folder may be named "[/b]"
            columns = (SpinnerColumn(), text, TimeElapsedColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.add_task(self._text, total=None)
            self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, text: str) -> None:
        """Show the current step."""
        self._text = text = show_controls(text)
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], description=text)

    def show_iteration(self, iteration: Iteration[Any]) -> None:
        """Show how far a fit is; a callback of estimators."""
        if self._progress is not None:
            text = f"{self._text}: pass {iteration.number}, objective {iteration.objective:.6g}"
            self._progress.update(self._progress.task_ids[0], description=text)
