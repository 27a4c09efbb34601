"""Reads the CSV files of a block, and says with which commits they were made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from benchmarks.commits import REPRODUCED, RESULTS, read_commit


class Source:
    """The CSV files that a block reads.

    Attributes
    ----------
    paths : list of Path
        Files that were read.
    """

    def __init__(self) -> None:
        self.paths: list[Path] = []

    def read(self, name: str) -> pd.DataFrame:
        """Return a table of `benchmarks/results`."""
        return self._read(RESULTS / f"{name}.csv")

    def read_reproduced(self, name: str) -> pd.DataFrame:
        """Return a table of `eosparse reproduce`."""
        return self._read(REPRODUCED / f"{name}.csv")

    def _read(self, path: Path) -> pd.DataFrame:
        table = pd.read_csv(path)
        self.paths.append(path)
        return table

    def format_commits(self) -> str:
        """Return a line with the commits of the files that were read."""
        files: dict[str, list[str]] = {}
        for path in dict.fromkeys(self.paths):
            files.setdefault(read_commit(path), []).append(f"`{path.name}`")
        parts = [f"{_format_commit(commit)}: {', '.join(of)}" for commit, of in files.items()]
        return f"*Made with commit {'; '.join(parts)}.*"


def _format_commit(recorded: str) -> str:
    commit, _, notes = recorded.partition(", ")
    return f"{commit} ({notes})" if notes else commit


# From the files of a block to its Markdown.
Show = Callable[[Source], str]
