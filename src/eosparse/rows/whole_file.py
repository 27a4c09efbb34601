"""Write a file completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_when_complete(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, and rename it to `path` once it is written.

    If the block raises, the temporary file is deleted and `path` keeps its previous content. The
    data are flushed to disk before the rename, so a crash cannot leave a half-written file.

    Parameters
    ----------
    path : str or Path
        The file to create or replace.

    Yields
    ------
    Path
        Where to write. Close the file before the block ends.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> with replace_when_complete(target) as partial:
    ...     _ = partial.write_text("done")
    >>> target.read_text()
    'done'
    """
    path = Path(path)
    # The process id keeps two processes that write the same file apart.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        # Windows flushes only files that are open for writing.
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file that is either the old or the new one, never a part.

    Parameters
    ----------
    path : str or Path
        The file to create or replace.
    text : str
        Its new content.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> write_text(target, "done")
    >>> target.read_text()
    'done'
    """
    with replace_when_complete(path) as partial:
        partial.write_text(text, encoding="utf-8")
