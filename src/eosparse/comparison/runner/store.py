"""Finished units on disk: each is written at once, none is lost or run twice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eosparse.comparison.runner.grid import Row
from eosparse.rows.whole_file import write_text


class StoreError(RuntimeError):
    """The folder is in use by another run, belongs to a different one, or is damaged."""


@dataclass(frozen=True)
class Store:
    """A folder with one line of JSON per finished unit, and a description of the run.

    Attributes
    ----------
    folder : Path
        Created when the store is opened.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> with store.open({"version": 1}):
    ...     store.append({"grid": "g", "status": "ok"})
    >>> store.read_units()
    [{'grid': 'g', 'status': 'ok'}]
    """

    folder: Path

    @property
    def _units(self) -> Path:
        return self.folder / "units.jsonl"

    @property
    def _description(self) -> Path:
        return self.folder / "made_by.json"

    @contextmanager
    def open(
        self,
        description: Row,
        *,
        fresh: bool = False,
        forget: Callable[[Row], bool] | None = None,
    ) -> Iterator[None]:
        """Lock the folder against a second run, and check that its units can be continued.

        Parameters
        ----------
        description : dict
            What makes units comparable, such as the version of the code. A folder with units of
            another description is refused.
        fresh : bool, default=False
            Remove all units of an earlier run.
        forget : callable, optional
            Whether to remove a unit of an earlier run.
        """
        from filelock import FileLock, Timeout

        if self.folder.exists() and not self.folder.is_dir():
            raise StoreError(f"{self.folder} is a file, not a folder. Use another folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise StoreError(
                f"{self.folder} is in use by another run. Wait for it, or use another folder."
            ) from None
        try:
            if fresh:
                self.clear()
            elif forget is not None:
                self.forget(forget)
            self._check(description)
            self._drop_unfinished_line()
            yield
        finally:
            lock.release()

    def read_units(self) -> list[Row]:
        """Return all units stored so far."""
        if not self._units.exists():
            return []
        lines = self._units.read_text(encoding="utf-8").splitlines(keepends=True)
        return [self._parse(n, line) for n, line in enumerate(lines, 1) if line.endswith("\n")]

    def append(self, row: Row) -> None:
        """Add a unit; when this returns it is on disk."""
        with self._units.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def clear(self) -> None:
        """Remove all units and the description."""
        self._units.unlink(missing_ok=True)
        self._description.unlink(missing_ok=True)

    def _check(self, description: Row) -> None:
        if not self._description.exists():
            write_text(self._description, json.dumps(description, indent=1))
            return
        try:
            before = json.loads(self._description.read_text(encoding="utf-8"))
        except json.JSONDecodeError:
            raise StoreError(
                f"{self._description} is damaged. Use --fresh to start again."
            ) from None
        changed = [name for name in description if description[name] != before.get(name)]
        if changed:
            was = ", ".join(f"{name}={before.get(name)!r}" for name in changed)
            now = ", ".join(f"{name}={description[name]!r}" for name in changed)
            raise StoreError(
                f"{self.folder} holds units made with {was}; this run has {now}. Use --fresh to "
                "start again, or another folder."
            )

    def _drop_unfinished_line(self) -> None:
        """Cut off a last line that a killed run did not finish."""
        if not self._units.exists():
            return
        content = self._units.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            os.truncate(self._units, len(whole))

    def _parse(self, number: int, line: str) -> Row:
        try:
            row: Row = json.loads(line)
        except json.JSONDecodeError:
            raise StoreError(
                f"Line {number} of {self._units} is damaged. Delete it, and its unit runs again."
            ) from None
        return row

    def forget(self, is_old: Callable[[Row], bool]) -> None:
        """Remove some units; without any left, remove the description as well."""
        rest = [row for row in self.read_units() if not is_old(row)]
        if rest:
            write_text(self._units, "".join(json.dumps(row) + "\n" for row in rest))
        else:
            self.clear()
