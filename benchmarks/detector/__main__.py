"""Figures of the detector: ``python -m benchmarks.detector [a b c d e f] [--scale 0.1]``."""

from __future__ import annotations

import argparse
import time

from benchmarks.detector import adbench, breakdown, calibration, discoveries, paper_points, speed

FIGURES = {
    "a": calibration.run,
    "b": discoveries.run,
    "c": breakdown.run,
    "d": paper_points.run,
    "e": adbench.run,
    "f": speed.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.detector", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="a to f (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the repetitions")
    arguments = parser.parse_args()
    if unknown := set(arguments.figures) - set(FIGURES):
        parser.error(f"unknown figures: {', '.join(sorted(unknown))}; choose from a to f")
    for name in arguments.figures or FIGURES:
        begun = time.perf_counter()
        FIGURES[name](arguments.scale)
        print(f"(figure {name}: {time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
