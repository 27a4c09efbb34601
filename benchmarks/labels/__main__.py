"""Figures of learning from wrong labels: ``python -m benchmarks.labels [a b d e f g h]``.

Figure c is printed with b. Finished units are kept; ``--fresh`` forgets them.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.labels import accuracy, alpha_rules, cost, finding, regression
from benchmarks.reporting import RESULTS

FIGURES = {
    "a": accuracy.run_a,
    "b": accuracy.run_b,
    "d": accuracy.run_d,
    "e": finding.run,
    "f": regression.run,
    "g": cost.run,
    "h": alpha_rules.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.labels", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="a to h (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the repetitions")
    parser.add_argument("--fresh", action="store_true", help="forget units finished before")
    arguments = parser.parse_args()
    if unknown := set(arguments.figures) - set(FIGURES):
        parser.error(f"unknown figures: {', '.join(sorted(unknown))}; choose from a to h")
    for name in arguments.figures or FIGURES:
        if arguments.fresh:
            (RESULTS / f"labels_{name}_units.jsonl").unlink(missing_ok=True)
        begun = time.perf_counter()
        FIGURES[name](arguments.scale)
        print(f"(figure {name}: {time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
