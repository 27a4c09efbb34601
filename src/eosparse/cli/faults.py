"""What the command says when something goes wrong: a sentence, and an exit code.

0    success
1    an error that nobody foresaw; please report it
2    usage error, or a table or file that cannot be used
3    no result: the weights collapsed
4    the machine ran out of memory or of disk space
130  interrupted
141  whoever reads the output stopped reading
"""

from __future__ import annotations

import csv
import errno
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from eosparse.report.controls import show_controls

UNFORESEEN, USAGE_ERROR, NO_RESULT, NO_ROOM, INTERRUPTED, NO_READER = 1, 2, 3, 4, 130, 141
# Set it to see where an unforeseen error comes from.
TRACEBACK = "EOSPARSE_TRACEBACK"

# Exits, and errors that Typer explains itself; newer versions have a Click of their own.
_USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
_OF_TYPER: tuple[type[Exception], ...] = (typer.Exit, typer.Abort, _USAGE)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_WORDS = {
    errno.EACCES: "you lack the permission",
    errno.EPERM: "you lack the permission",
    errno.EROFS: "the file system is read-only",
    errno.EISDIR: "it is a folder",
    errno.ENOENT: "it does not exist",
    errno.ENOTDIR: "a part of its path is a file",
    errno.ENAMETOOLONG: "its name is too long",
}


class FaultGroup(TyperGroup):
    """A group of commands in which no error reaches the user as a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with handle_faults():
            return super().invoke(ctx)


@contextmanager
def handle_errors() -> Iterator[list[str]]:
    """Turn errors into a message and an exit code; yield a list that collects warnings."""
    notes: list[str] = []
    with handle_faults(), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.showwarning = lambda message, *_: notes.append(str(message))
        yield notes


@contextmanager
def handle_faults() -> Iterator[None]:
    """Turn errors into a message, which names the files that were written, and an exit code."""
    before = _find_written()
    try:
        yield
    except BrokenPipeError:
        _close_output()
        raise typer.Exit(NO_READER) from None
    except KeyboardInterrupt:
        said = _name_written(before) or "Nothing was written."
        _print_error(f"Interrupted. {said}")
        raise typer.Exit(INTERRUPTED) from None
    except _OF_TYPER:
        raise
    except Exception as error:
        message, code = describe_fault(error)
        _print_error(f"{message} {_name_written(before)}".rstrip())
        raise typer.Exit(code) from None


def _find_written() -> dict[Path, Any]:
    """Return the files that this process has written; it takes long to import what writes them."""
    writer = sys.modules.get("eosparse.rows.whole_file")
    return {} if writer is None else writer.list_written()


def _name_written(before: dict[Path, Any]) -> str:
    """Name the files that were written since, as far as they are complete."""
    paths = [str(path) for path, file in _find_written().items() if before.get(path) != file]
    return f"Already written, and complete: {', '.join(paths)}." if paths else ""


def describe_fault(error: Exception) -> tuple[str, int]:
    """Return what to say about an error, and the exit code."""
    from eosparse.core import CollapseError

    if isinstance(error, CollapseError):
        return f"No result: {error}", NO_RESULT
    if isinstance(error, MemoryError):
        said = "There is not enough memory. Use fewer columns (--columns), or convert the table"
        return f"Error: {said} to Parquet and cut it into files of a folder, which is streamed.", 4
    if isinstance(error, UnicodeError):
        return f"Error: text cannot be decoded: {error}. Convert the file to UTF-8.", USAGE_ERROR
    if isinstance(error, OSError):
        return _describe_os_error(error)
    if isinstance(error, csv.Error):
        return f"Error: the table is not readable as CSV: {error}.", USAGE_ERROR
    if isinstance(error, RecursionError):
        return "Error: the file is nested too deeply.", USAGE_ERROR
    if isinstance(error, ImportError):
        remedy = "" if "pip install" in str(error) else " pip install 'eosparse[cli]'."
        return f"Error: {error}.{remedy}".replace("..", "."), USAGE_ERROR
    if isinstance(error, (ValueError, NotImplementedError)):  # TableError among them
        return f"Error: {error}", USAGE_ERROR
    return _describe_unforeseen(error), UNFORESEEN


def _describe_os_error(error: OSError) -> tuple[str, int]:
    """Name the file and what is wrong with it; messages of our own have no number."""
    name = error.filename
    if error.errno in _FULL:
        where = "" if name is None else f" for {os.fsdecode(name)}"
        return f"Error: there is no space left on the disk{where}. Free some.", NO_ROOM
    if error.errno == errno.ENOMEM:
        return "Error: there is not enough memory.", NO_ROOM
    if name is None or isinstance(name, int):
        return f"Error: {error.strerror or error}", USAGE_ERROR
    words = _WORDS.get(error.errno or 0, error.strerror or str(error))
    return f"Error: {os.fsdecode(name)} cannot be read or written: {words}.", USAGE_ERROR


def _describe_unforeseen(error: Exception) -> str:
    """Name an error that should not occur, and its place, for a report."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}, line {last.lineno}"
    return (
        f"Error: {type(error).__name__} ({error}) in {place}, which is a mistake of eosparse. "
        f"Please report it, with what {TRACEBACK}=1 prints."
    )


def _print_error(message: str) -> None:
    typer.echo(show_controls(message, keep="\n"), err=True)


def _close_output() -> None:
    """Send what Python still has to print where it does no harm."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
