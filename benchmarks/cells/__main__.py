"""Figures of wrong cells and gaps: ``python -m benchmarks.cells [a b c d] [--scale 0.2]``."""

from __future__ import annotations

from benchmarks.bench import Bench, run_command
from benchmarks.cells import gaps, on_disk, real_bulks, speed, structured


def run_times(bench: Bench) -> None:
    speed.run(bench)
    on_disk.run(bench)


FIGURES = {"a": structured.run, "b": real_bulks.run, "c": run_times, "d": gaps.run}

if __name__ == "__main__":
    run_command("cells", __doc__, FIGURES)
