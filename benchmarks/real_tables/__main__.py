"""Figures of real tables: ``python -m benchmarks.real_tables [a b c d e] [--quick]``."""

from __future__ import annotations

from benchmarks.bench import run_command
from benchmarks.real_tables import adbench, as_they_are, gaussian_tables, planted, synthetic

FIGURES = {
    "a": synthetic.run,
    "b": as_they_are.run,
    "c": planted.run,
    "d": adbench.run,
    "e": gaussian_tables.run,
}

if __name__ == "__main__":
    run_command("real_tables", __doc__, FIGURES)
