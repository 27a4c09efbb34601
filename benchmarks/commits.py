"""Which code made the results: `commits.json` beside them has the commit of every CSV file.

A commit may be followed by notes: ``with changes`` if files of the code differed from it, ``scale
0.1`` after a shortened run, and ``recorded from history`` if the file is older than this record;
it then is the commit that last changed the file.
"""

from __future__ import annotations

import json
from pathlib import Path

from eosparse.comparison.machine import find_commit
from eosparse.rows.whole_file import write_text

RESULTS = Path(__file__).parent / "results"
# Written by `eosparse reproduce`, which stores the commit of all its tables in run.json.
REPRODUCED = Path(__file__).parents[1] / "docs" / "results"


def record_commit(folder: Path, name: str, scale: float) -> None:
    """Record that the present code has written a file.

    Parameters
    ----------
    folder : Path
        Of the results.
    name : str
        Of the file.
    scale : float
        Of the run; 1 is the full length.
    """
    note = "" if scale == 1 else f", scale {scale:g}"
    commits = _read(folder / "commits.json") | {name: find_commit() + note}
    text = json.dumps(dict(sorted(commits.items())), indent=1)
    write_text(folder / "commits.json", text + "\n")


def read_commit(path: Path) -> str:
    """Return the commit that made a CSV file, and its notes; ``"unknown"`` without a record."""
    if path.parent == REPRODUCED:
        return _read(REPRODUCED / "run.json").get("commit", "unknown")
    return _read(path.parent / "commits.json").get(path.name, "unknown")


def _read(path: Path) -> dict[str, str]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
