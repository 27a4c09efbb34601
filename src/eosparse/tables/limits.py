"""Limits on what is read into memory, so that a small file cannot fill it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eosparse.rows.formats import PARQUET, find_format

MOST_BYTES_IN_MEMORY = 2**30
"""Larger files are streamed: as a data frame they would take several times as much memory."""
# A number takes as much in a data frame.
_BYTES_PER_VALUE = 8


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
