"""The options of a fit, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from eosparse.core import Callback, check_alpha, check_number, check_whole

_STARTS = ("deterministic", "random", "uniform")


@dataclass(frozen=True)
class FitOptions:
    """What the user requested; see `EOSDetector`.

    Creating one checks all values: errors name the parameter and its range.
    """

    alpha: float | Literal["auto"] = "auto"
    efficiency: float | None = None
    perplexity: float | None = None
    start: Any = "deterministic"
    tol: float = 1e-12
    max_iter: int = 1000
    callbacks: tuple[Callback, ...] = ()
    checkpoint: Path | str | None = None
    random_state: np.random.RandomState = field(default_factory=np.random.RandomState, repr=False)

    def __post_init__(self) -> None:
        plain = {
            "alpha": check_alpha(self.alpha),
            "efficiency": check_number("efficiency", self.efficiency, "(0, 1)", words=(None,)),
            "perplexity": check_number("perplexity", self.perplexity, "(1, inf)", words=(None,)),
            "tol": check_number("tol", self.tol, "[0, inf)"),
            "max_iter": check_whole("max_iter", self.max_iter, 1),
        }
        for name, value in plain.items():  # frozen, but what follows is for numbers of Python
            object.__setattr__(self, name, value)
        for callback in self.callbacks:
            if not callable(callback):
                raise ValueError(f"callback={callback!r} must be callable or None.")
        if isinstance(self.start, str) and self.start not in _STARTS:
            raise ValueError(f"start={self.start!r} must be one of {_STARTS} or weights.")
        number = None if self.alpha == "auto" else self.alpha
        names = ("alpha", "efficiency", "perplexity")
        values = (number, self.efficiency, self.perplexity)
        given = [name for name, value in zip(names, values, strict=True) if value is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} both set alpha: pass only one of them.")
        path = self.checkpoint
        if not isinstance(path, (str, Path, type(None))):
            raise ValueError(f"checkpoint={path!r} must be a path or None.")
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r}: there is no folder {Path(path).parent}.")


def combine_options(
    alpha: float | Literal["auto"], efficiency: float, tol: float, max_iter: int
) -> FitOptions:
    """Return the options of an estimator whose efficiency applies to alpha="auto" only."""
    efficiency = check_number("efficiency", efficiency, "(0, 1)")
    applied = efficiency if isinstance(alpha, str) else None
    return FitOptions(alpha, applied, tol=tol, max_iter=max_iter)
