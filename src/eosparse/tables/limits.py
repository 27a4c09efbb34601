"""Limits on what is read into memory, so that a small file cannot fill it."""

from __future__ import annotations

from pathlib import Path

MOST_BYTES_IN_MEMORY = 2**30
"""Larger files are streamed: as a data frame they would take several times as much memory."""


def is_too_large(path: Path) -> bool:
    """Whether a file is streamed, because it takes too much memory as a whole."""
    return path.stat().st_size > MOST_BYTES_IN_MEMORY
