"""Figures of speed and memory: ``python -m benchmarks.speed [a b c d e f g]``."""

from __future__ import annotations

import argparse
import time

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


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.speed", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="a to g (default: all)")
    arguments = parser.parse_args()
    if unknown := set(arguments.figures) - set(FIGURES):
        parser.error(f"unknown figures: {', '.join(sorted(unknown))}; choose from a to g")
    for name in arguments.figures or FIGURES:
        begun = time.perf_counter()
        FIGURES[name]()
        print(f"(figure {name}: {time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
