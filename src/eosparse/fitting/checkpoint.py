"""Checkpoints: a fit that is killed resumes where it stopped."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eosparse.core import (
    LARGEST_SQUARED,
    Callback,
    DescentError,
    FloatArray,
    Iteration,
    State,
    WeightSummary,
)
from eosparse.rows.sealed_file import from_npy, read_sealed, to_npy, write_sealed

_PROBLEM = "problem"


@dataclass
class Checkpoint:
    """States of the alternations of one problem, in one file that is always complete.

    Attributes
    ----------
    path : Path
        The file.
    problem : str
        Fingerprint of a sample of the rows and of the options; the file of another problem is
        refused.
    n_attempts : int
        Alternations begun so far: where one collapses, another follows.
    """

    path: Path
    problem: str
    n_attempts: int = 0

    def begin_attempt(self, alpha: float) -> str:
        """Return the name of the next alternation, the same in every run of a problem."""
        self.n_attempts += 1
        return f"{self.n_attempts} {alpha:.9g}"

    def load(
        self, attempt: str, template: Any, find_errors: Callable[[Any], Any] | None = None
    ) -> State[Any] | None:
        """Return the state that an alternation had reached, if any; θ is like the template.

        `find_errors` tries a θ on some rows, so that one that does not fit them is refused.
        """
        saved = self._read()
        if f"{attempt}/n_iter" not in saved:
            return None
        parts = {
            name.removeprefix(f"{attempt}/"): value
            for name, value in saved.items()
            if name.startswith(f"{attempt}/")
        }
        try:
            state = _restore(template, parts)
            _check_state(state, template)
            if find_errors is not None and not np.isfinite(find_errors(state.reached)).all():
                raise ValueError("an error is not finite")
        except Exception as error:  # numbers that fit together nowhere fail in any way
            raise ValueError(
                f"checkpoint={str(self.path)!r} holds numbers that do not fit together. Pass "
                "another file, or remove it."
            ) from error
        return state

    def save_to(self, attempt: str) -> Callback:
        """Return a callback that saves the state of an alternation after each pass."""

        def save(iteration: Iteration[Any]) -> None:
            state = iteration.resume
            if state is None or state.summary is None:
                return
            parts = pack(state.theta, "theta") | pack(state.reached, "reached")
            parts["summary"] = np.array(dataclasses.astuple(state.summary))
            if state.plain is not None:
                parts |= pack(state.plain, "plain")
            parts["history"] = np.array(state.objective_history)
            parts["n_iter"] = np.array(state.n_iter)
            others = {k: v for k, v in self._read().items() if not k.startswith(f"{attempt}/")}
            self._write(others | {f"{attempt}/{name}": value for name, value in parts.items()})

        return save

    @contextmanager
    def name_changed_rows(self) -> Iterator[None]:
        """Explain why a resumed fit does not descend: rows outside the sample have changed."""
        try:
            yield
        except DescentError as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} was made from rows that have changed since. "
                "Remove it and fit again."
            ) from error

    def _read(self) -> dict[str, FloatArray]:
        if not self.path.exists():
            return {}
        try:
            parts = read_sealed(self.path)
            problem = parts.pop(_PROBLEM).decode()
            saved = {name: from_npy(data) for name, data in parts.items()}
        except (ValueError, KeyError) as error:  # SealError among them
            raise ValueError(
                f"checkpoint={str(self.path)!r} is not an eosparse checkpoint, or was damaged. "
                "Pass another file, or remove it."
            ) from error
        if problem != self.problem:
            raise ValueError(
                f"checkpoint={str(self.path)!r} belongs to a fit of other rows or with other "
                "parameters. Pass another file, or remove it."
            )
        return saved

    def _write(self, parts: dict[str, FloatArray]) -> None:
        data = {name: to_npy(np.asarray(part)) for name, part in parts.items()}
        write_sealed(self.path, {_PROBLEM: self.problem.encode(), **data}, compress=False)


def _restore(template: Any, parts: dict[str, FloatArray]) -> State[Any]:
    has_plain = any(name.startswith("plain") for name in parts)
    return State(
        unpack(template, parts, "theta"),
        unpack(template, parts, "plain") if has_plain else None,
        tuple(parts["history"].tolist()),
        int(parts["n_iter"]),
        unpack(template, parts, "reached"),
        WeightSummary(*parts["summary"].tolist()),
    )


def _check_state(state: State[Any], template: Any) -> None:
    """Raise unless the numbers of a state can be those of an alternation."""
    history, summary = state.objective_history, state.summary
    assert summary is not None
    counts = np.array([summary.mass, summary.squares, summary.objective, *history])
    is_sum = np.isfinite(counts).all() and min(summary.mass, summary.squares) > 0
    if not (is_sum and state.n_iter >= len(history) > 0 and history[-1] == summary.objective):
        raise ValueError("the summary is not that of the last pass")
    if sorted(history, reverse=True) != list(history):
        raise ValueError("the objective rose")
    reached = pack(state.reached, "")
    for theta in (state.theta, state.plain):
        found = reached if theta is None else pack(theta, "")
        if [part.shape for part in found.values()] != [part.shape for part in reached.values()]:
            raise ValueError("θ changed its size")
        if _is_moderate(template) and not _is_moderate(theta):
            raise ValueError("θ is not finite, or too large")


def _is_moderate(theta: Any) -> bool:
    """Whether the squares of all numbers fit a float."""
    parts = () if theta is None else pack(theta, "").values()
    return all((np.abs(part) <= LARGEST_SQUARED).all() for part in parts)


def pack(theta: Any, name: str) -> dict[str, FloatArray]:
    """Return the arrays of a θ: a number, an array, or a dataclass, tuple or list of these.

    Examples
    --------
    >>> pack((np.zeros(2), 3.0), "theta")
    {'theta.0': array([0., 0.]), 'theta.1': array(3.)}
    """
    parts: dict[str, FloatArray] = {}
    for key, part in _split(theta):
        parts |= pack(part, f"{name}.{key}")
    if not parts:
        parts[name] = np.asarray(theta)
        if parts[name].dtype.kind not in "fiub":
            raise TypeError(
                f"checkpoint: theta is a {type(theta).__name__}; only numbers, arrays, and "
                "dataclasses, tuples or lists of these can be saved."
            )
    return parts


def unpack(template: Any, parts: dict[str, FloatArray], name: str) -> Any:
    """Return a θ that is built like a template, from packed arrays."""
    inner = [(key, unpack(part, parts, f"{name}.{key}")) for key, part in _split(template)]
    if isinstance(template, (tuple, list)):
        kept = [part for _, part in inner]
        return type(template)(*kept) if hasattr(template, "_fields") else type(template)(kept)
    if inner:
        return type(template)(**dict(inner))
    saved = parts[name]
    return saved if isinstance(template, np.ndarray) else saved.item()


def _split(theta: Any) -> list[tuple[str, Any]]:
    if dataclasses.is_dataclass(theta):
        return [(field.name, getattr(theta, field.name)) for field in dataclasses.fields(theta)]
    if isinstance(theta, (tuple, list)):
        return [(str(i), part) for i, part in enumerate(theta)]
    return []


def fingerprint(*parts: FloatArray | str) -> str:
    """Return a short digest of some arrays and texts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part.tobytes())
    return digest.hexdigest()[:32]
