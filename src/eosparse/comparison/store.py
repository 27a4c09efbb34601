"""Finished units on disk: each is kept at once, none is lost or run twice."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eosparse.rows.whole_file import write_text

Row = dict[str, Any]


class OtherRunError(RuntimeError):
    """The folder belongs to a run that is still going on, or was made in another way."""


@dataclass(frozen=True)
class Store:
    """A folder with one line of JSON per finished unit, and a description of the run."""

    folder: Path

    @property
    def _units(self) -> Path:
        return self.folder / "units.jsonl"

    @contextmanager
    def opened(
        self, description: Row, *, fresh: bool = False, only: Collection[str] | None = None
    ) -> Iterator[None]:
        """Hold the folder against a second run, after a look at who made it.

        Parameters
        ----------
        description : dict
            What makes units comparable, such as the version of the code; units made in another
            way are not gone on from.
        fresh : bool, default=False
            Forget units of an earlier run.
        only : collection of str, optional
            Grids whose units are forgotten; all if not given.
        """
        from filelock import FileLock, Timeout

        if self.folder.exists() and not self.folder.is_dir():
            raise OtherRunError(f"{self.folder} is a file, not a folder. Use another --out.")
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise OtherRunError(
                f"{self.folder} is in use by another run. Wait for it, or use another --out."
            ) from None
        try:
            if fresh:
                self._forget(only)
            self._check(description)
            self._mend()
            yield
        finally:
            lock.release()

    def _check(self, description: Row) -> None:
        path = self.folder / "made_by.json"
        if not path.exists():
            write_text(path, json.dumps(description, indent=1))
            return
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError:
            raise OtherRunError(f"{path} is damaged. Use --fresh to begin again.") from None
        changed = [name for name in description if description[name] != before.get(name)]
        if changed:
            was = ", ".join(f"{name}={before.get(name)!r}" for name in changed)
            now = ", ".join(f"{name}={description[name]!r}" for name in changed)
            raise OtherRunError(
                f"{self.folder} holds units made with {was}; this run has {now}. Use another "
                "--out, or --fresh to begin again."
            )

    def _mend(self) -> None:
        """Cut off a last line that a killed run did not finish."""
        if not self._units.exists():
            return
        content = self._units.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            os.truncate(self._units, len(whole))

    def kept(self) -> list[Row]:
        """Return all units kept so far."""
        if not self._units.exists():
            return []
        lines = self._units.read_text(encoding="utf-8").splitlines(keepends=True)
        return [self._read(n, line) for n, line in enumerate(lines, 1) if line.endswith("\n")]

    def _read(self, number: int, line: str) -> Row:
        try:
            row: Row = json.loads(line)
        except json.JSONDecodeError:
            raise OtherRunError(
                f"line {number} of {self._units} is damaged. Remove it, and its unit is run again."
            ) from None
        return row

    def keep(self, row: Row) -> None:
        """Append a unit; when this returns it is on disk."""
        with self._units.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _forget(self, grids: Collection[str] | None) -> None:
        """Remove the units of an earlier run, or those of some of its grids."""
        rest = [] if grids is None else [row for row in self.kept() if row["grid"] not in grids]
        if rest:
            write_text(self._units, "".join(json.dumps(row) + "\n" for row in rest))
            return
        for name in ("units.jsonl", "made_by.json"):
            (self.folder / name).unlink(missing_ok=True)
