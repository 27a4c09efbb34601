"""Write a file completely or not at all.

A temporary file is written beside the target and renamed to it. Its name cannot be guessed and it
is created by us alone, so that no link that waits there is followed, and two runs that write the
same target leave the complete file of one of them. A target that is a link is replaced itself: the
file that it points to stays as it is.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Bytes of the name of a file that its temporary file shares; file systems allow 255 in all.
_LONGEST_TAIL = 150
# Windows has no such flag, and no links that anybody may make.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)

_Identity = tuple[int, int, int]  # device, number, and whether it is a file or a link


# What this process was about to rename, by target: an interruption may come at any moment.
_renamed: dict[Path, _Identity] = {}


def list_written() -> dict[Path, _Identity]:
    """Return the files that this process has written and that are still there, complete.

    Returns
    -------
    dict of Path to tuple
        By file: its device, number and type, which differ from those of other versions of it.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> write_text(target, "done")
    >>> target in list_written()
    True
    """
    return {path: known for path, known in _renamed.items() if _identify(path) == known}


@contextmanager
def replace_when_complete(path: str | Path, *, may_be_empty: bool = False) -> Iterator[Path]:
    """Yield a temporary path next to `path`, and rename it to `path` once it is written.

    If the block raises, the temporary file is deleted and `path` keeps its previous content. The
    data are flushed to disk before the rename, so a crash cannot leave a half-written file. The new
    file has the permissions of the one that it replaces, or else the usual ones.

    Parameters
    ----------
    path : str or Path
        The file to create or replace. If it is a link, the link is replaced.
    may_be_empty : bool, default=False
        Whether a block that writes nothing is no mistake.

    Yields
    ------
    Path
        Where to write: an empty file whose name ends as that of `path` does. Write to it in place,
        and close it before the block ends.

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
    _check_kind(path)
    partial = _name_partial(path)
    created = _create(partial, path)
    try:
        yield partial
        if not (may_be_empty or partial.stat().st_size):
            raise OSError(f"nothing was written to {path}.")
        _finish(partial, path, created)
        _renamed[path] = created
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def check_target(path: str | Path) -> None:
    """Raise an `OSError` if a file cannot be written, by creating and deleting one beside it.

    Examples
    --------
    >>> import tempfile
    >>> check_target(Path(tempfile.mkdtemp()) / "notes.txt")
    """
    path = Path(path)
    _check_kind(path)
    partial = _name_partial(path)
    _create(partial, path)
    partial.unlink()


def _check_kind(path: Path) -> None:
    """Refuse to replace a folder or a device, also one that a link points to."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Name a file in it.")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no regular file, and would be replaced by one. Name another.")


def _name_partial(path: Path) -> Path:
    """Return a name that nobody can guess, and that ends as the target does."""
    tail = path.name.encode("utf-8", "surrogateescape")[-_LONGEST_TAIL:].decode("utf-8", "ignore")
    return path.with_name(f".partial-{secrets.token_hex(8)}-{tail}")


def _create(partial: Path, path: Path) -> _Identity:
    """Create an empty file that did not exist; nobody else reads what replaces a private file."""
    mode = 0o666 if _read_mode(path) is None else 0o600
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, mode)
    try:
        found = os.fstat(handle)
    finally:
        os.close(handle)
    return _list_identity(found)


def _finish(partial: Path, path: Path, created: _Identity) -> None:
    """Flush a file, and give it the permissions of the one that it replaces."""
    if _identify(partial) != created:
        raise OSError(f"{partial} was replaced while it was written. {path} was left as it is.")
    mode = _read_mode(path)
    if mode is not None:
        partial.chmod(mode)
    # Windows flushes only files that are open for writing.
    handle = os.open(partial, os.O_RDWR | _NO_LINKS)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read_mode(path: Path) -> int | None:
    """Return the permissions of a regular file; None where there is none."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return None
    return stat.S_IMODE(mode) & 0o777 if stat.S_ISREG(mode) else None


def _identify(path: Path) -> _Identity | None:
    """Return what renaming a file keeps; None where there is none."""
    try:
        return _list_identity(path.lstat())
    except OSError:
        return None


def _list_identity(found: os.stat_result) -> _Identity:
    return found.st_dev, found.st_ino, stat.S_IFMT(found.st_mode)


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
    with replace_when_complete(path, may_be_empty=True) as partial:
        partial.write_text(text, encoding="utf-8")
