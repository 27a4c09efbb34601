"""Figures of wrong cells and gaps: ``python -m benchmarks.cells [a b c d] [--scale 0.2]``."""

from __future__ import annotations

from benchmarks.bench import run_command
from benchmarks.cells import gaps, real_bulks, speed, structured

FIGURES = {"a": structured.run, "b": real_bulks.run, "c": speed.run, "d": gaps.run}

if __name__ == "__main__":
    run_command("cells", __doc__, FIGURES)
