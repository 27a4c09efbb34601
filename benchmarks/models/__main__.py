"""Figures of what the closed form does beyond outliers and labels, one file of this folder each.

``python -m benchmarks.models [affinities ...] [--scale 0.1]``
"""

from __future__ import annotations

import argparse
import pkgutil
import time
from importlib import import_module

import benchmarks.models

PARTS = sorted(part.name for part in pkgutil.iter_modules(benchmarks.models.__path__))
PARTS.remove("__main__")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.models", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies sizes or repetitions")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}")
    for name in arguments.parts or PARTS:
        begun = time.perf_counter()
        import_module(f"benchmarks.models.{name}").run(arguments.scale)
        print(f"({name}: {time.perf_counter() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
