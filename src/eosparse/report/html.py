"""The summary as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def write_detection(summary: Any, frame: Any, numbers: Any, path: Path, *, embed: str) -> None:
    """Write."""
