"""Limits on what is read into memory, so that a small file cannot fill it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from eosparse.rows.formats import PARQUET, TableError, find_format

MOST_BYTES_IN_MEMORY = 2**30
"""Larger files are streamed: as a data frame they would take several times as much memory."""
# A number takes as much in a data frame.
_BYTES_PER_VALUE = 8


def read_bounded(stream: BinaryIO, name: str) -> bytes:
    """Read all of a stream, unless it is longer than what is read into memory.

    Examples
    --------
    >>> read_bounded(io.BytesIO(b"a,b"), "standard input")
    b'a,b'
    """
    content = stream.read(MOST_BYTES_IN_MEMORY + 1)
    if len(content) > MOST_BYTES_IN_MEMORY:
        raise TableError(
            f"{name} is longer than {_format_limit()}. Write it to a file, which is streamed."
        )
    return content


class BoundedStream(io.RawIOBase):
    """What a compressed file unpacks to, up to the bytes that are read into memory."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name, self._n_left = stream, name, MOST_BYTES_IN_MEMORY

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read some bytes; raise if there are too many."""
        view = memoryview(buffer).cast("B")
        content = self._stream.read(len(view))
        view[: len(content)] = content
        self._n_left -= len(content)
        if self._n_left < 0:
            raise TableError(
                f"{self._name} unpacks to more than {_format_limit()}. If that is no accident, put "
                "it into a folder, and pass the folder: its files are streamed."
            )
        return len(content)


def _format_limit() -> str:
    return f"{MOST_BYTES_IN_MEMORY / 2**30:.3g} GiB"


def are_too_large(paths: Sequence[Path]) -> bool:
    """Whether a table is streamed: a folder, or files that take too much memory as a whole."""
    if any(path.is_dir() for path in paths):
        return True
    sizes = (max(path.stat().st_size, _find_promise(path)) for path in paths if path.is_file())
    return sum(sizes) > MOST_BYTES_IN_MEMORY


def _find_promise(path: Path) -> int:
    """Return the bytes that a Parquet file takes in memory, by its own metadata; 0 for others.

    Few bytes on disk may promise any number of rows. Where the promise is a lie, or larger than
    memory, rows are read page by page.
    """
    if find_format(path) is not PARQUET:
        return 0
    try:
        from pyarrow import parquet

        metadata = parquet.read_metadata(path)
    except (ImportError, ValueError, OSError):  # the reader explains it
        return 0
    groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
    stored = sum(group.total_byte_size for group in groups)
    return int(max(stored, _BYTES_PER_VALUE * metadata.num_rows * metadata.num_columns))
