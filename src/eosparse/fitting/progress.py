"""Progress of a fit: a bar in a terminal, lines elsewhere, with the time left."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np

from eosparse.core import Iteration

# Characters of the bar: the line fits a terminal of 80 columns.
_WIDTH = 20


@dataclass
class Progress:
    """A callback that shows iteration, objective and time left.

    The predicted fall of the objective shrinks about geometrically down to the tolerance, so the
    progress of its logarithm is the progress of the fit.
    """

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    begun: float = float("nan")
    first_fall: float = float("nan")
    last_number: int = 0

    def __call__(self, iteration: Iteration[Any]) -> None:
        """Show a pass."""
        if iteration.number <= self.last_number or np.isnan(self.begun):  # another alternation
            self.begun, self.first_fall = time.monotonic(), iteration.fall
        self.last_number = iteration.number
        done, spent = self._measure_progress(iteration), time.monotonic() - self.begun
        left = "?" if done == 0 else f"{spent * (1 - done) / done:.0f} s"
        bar = ("#" * round(_WIDTH * done)).ljust(_WIDTH, ".")
        text = f"pass {iteration.number}, objective {iteration.objective:.9g}, {left} left"
        if iteration.resume is None:
            text = f"pass {iteration.number}, objective {iteration.objective:.9g}; judging the rows"
        if not self.stream.isatty():
            print(text, file=self.stream, flush=True)
            return
        end = "\n" if iteration.resume is None else "\r"
        print(f"[{bar}] {text}   ", end=end, file=self.stream, flush=True)

    def _measure_progress(self, iteration: Iteration[Any]) -> float:
        """Return the share of the fit that is done; 0 if unknown."""
        if iteration.resume is None:
            return 1.0
        target = max(iteration.target, 1e-16)
        if not np.inf > self.first_fall > iteration.fall > target:
            return 0.0
        return float(np.log(self.first_fall / iteration.fall) / np.log(self.first_fall / target))
