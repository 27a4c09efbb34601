"""Figures of learning from wrong labels: ``python -m benchmarks.labels [a b d e f g h i j k]``.

Figure c is printed with b.
"""

from __future__ import annotations

from benchmarks.bench import run_command
from benchmarks.labels import (
    accuracy,
    alpha_rules,
    columns,
    cost,
    finding,
    promise,
    regression,
)

FIGURES = {
    "a": accuracy.run_a,
    "b": accuracy.run_b,
    "d": accuracy.run_d,
    "e": finding.run,
    "f": regression.run,
    "g": cost.run,
    "h": alpha_rules.run,
    "i": promise.run,
    "j": promise.run_held_back,
    "k": columns.run,
}

if __name__ == "__main__":
    run_command("labels", __doc__, FIGURES)
