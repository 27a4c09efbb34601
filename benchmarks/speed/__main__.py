"""Figures of speed and memory: ``python -m benchmarks.speed [a b c d e f g] [--scale 0.1]``.

Every unit runs alone on the machine, in a process of its own.
"""

from __future__ import annotations

from benchmarks.bench import run_command
from benchmarks.speed import cluster, fits, growth, limits, out_of_core, peers, scoring

FIGURES = {
    "a": fits.run,
    "b": peers.run,
    "c": growth.run,
    "d": out_of_core.run,
    "e": cluster.run,
    "f": scoring.run,
    "g": limits.run,
}

if __name__ == "__main__":
    run_command("speed", __doc__, FIGURES)
