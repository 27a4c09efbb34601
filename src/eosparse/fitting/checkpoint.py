"""A fit that is killed goes on where it stood: its state is written after every pass."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eosparse.core import Callback, DescentError, FloatArray, Iteration, State
from eosparse.models import Normal


@dataclass
class Checkpoint:
    """States of the alternations of one problem, in one file that is always whole.

    Attributes
    ----------
    path : Path
        The file.
    problem : str
        Fingerprint of a sample of the rows and of the options; a file of another problem is
        refused.
    n_attempts : int
        Alternations begun so far: where one collapses, another follows.
    """

    path: Path
    problem: str
    n_attempts: int = 0

    def next_attempt(self, alpha: float) -> str:
        """Return the name of the next alternation, the same in every run of a problem."""
        self.n_attempts += 1
        return f"{self.n_attempts} {alpha:.9g}"

    def resumed(self, attempt: str) -> State[Normal] | None:
        """Return the state that an alternation had reached, if any."""
        saved = self._read()
        if f"{attempt}/n_iter" not in saved:
            return None
        parts = {name: saved.get(f"{attempt}/{name}") for name in _PARTS}
        plain = None
        if parts["plain_location"] is not None:
            plain = _normal(parts["plain_location"], parts["plain_covariance"])
        return State(
            _normal(parts["location"], parts["covariance"]),
            plain,
            tuple(np.asarray(parts["history"]).tolist()),
            int(np.asarray(parts["n_iter"])),
        )

    def saving(self, attempt: str) -> Callback:
        """Return a callback that saves the state of an alternation after each pass."""

        def save(iteration: Iteration[Normal]) -> None:
            if iteration.resume is not None:
                others = {
                    name: value
                    for name, value in self._read().items()
                    if not name.startswith(f"{attempt}/")
                }
                own = _parts(iteration.resume)
                self._write(others | {f"{attempt}/{name}": value for name, value in own.items()})

        return save

    def _read(self) -> dict[str, FloatArray]:
        if not self.path.exists():
            return {}
        try:
            with np.load(self.path, allow_pickle=False) as file:
                saved = dict(file)
            problem = str(saved.pop("problem"))
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is not a checkpoint of eosparse: {error}. Name "
                "another file, or remove it."
            ) from error
        if problem != self.problem:
            raise ValueError(
                f"checkpoint={str(self.path)!r} belongs to a fit of other rows or with other "
                "parameters. Name another file, or remove it."
            )
        return saved

    def _write(self, parts: dict[str, FloatArray]) -> None:
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        try:
            with partial.open("wb") as file:
                np.savez(file, problem=np.array(self.problem), **parts)  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path)
        finally:
            partial.unlink(missing_ok=True)


_PARTS = ("location", "covariance", "plain_location", "plain_covariance", "history", "n_iter")


def fingerprint(*parts: FloatArray | str) -> str:
    """Return a short name of some arrays and texts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part.tobytes())
    return digest.hexdigest()[:32]


def _parts(state: State[Normal]) -> dict[str, FloatArray]:
    parts = {
        "location": state.theta.location,
        "covariance": state.theta.covariance,
        "history": np.array(state.objective_history),
        "n_iter": np.array(state.n_iter),
    }
    if state.plain is not None:
        parts["plain_location"] = state.plain.location
        parts["plain_covariance"] = state.plain.covariance
    return parts


@contextmanager
def changed_rows_named(checkpoint: Checkpoint | None) -> Iterator[None]:
    """Where a resumed fit does not descend, rows outside the sample have changed since."""
    try:
        yield
    except DescentError as error:
        if checkpoint is None:
            raise
        raise ValueError(
            f"checkpoint={str(checkpoint.path)!r} was made from rows that have changed since. "
            "Remove it, and fit again."
        ) from error


def _normal(location: FloatArray | None, covariance: FloatArray | None) -> Normal:
    return Normal(np.asarray(location), np.asarray(covariance))
