"""Fuzz all that reads files, for ten minutes, with a bound on memory.

``python -m benchmarks.fuzz.hostile --seconds 600 --seed 0`` prints a line for each broken promise,
and how many cases were read, refused, silently wrong or ended in a traceback.
"""

from __future__ import annotations

import argparse
import resource
import sys

import pandas as pd

from benchmarks.fuzz.files import fuzz_files
from benchmarks.fuzz.models import fuzz_models

# What may be attacked; each takes a seed and a number of seconds.
FUZZERS = {"files": fuzz_files, "models": fuzz_models}
# The address space of the process, in bytes: most of it is libraries and the stacks of threads.
_MOST_MEMORY = 6 * 2**30
_FINE = {"read", "refused", "loaded", "same"}


def main() -> int:
    """Run the fuzzers one after the other, print what was broken, and count."""
    parser = argparse.ArgumentParser(prog="benchmarks.fuzz.hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    is_broken = False
    for name, fuzz in FUZZERS.items():
        found = fuzz(arguments.seed, arguments.seconds / len(FUZZERS))
        print(*found.broken, sep="\n")
        table = pd.Series(found.counts).unstack(fill_value=0).astype(int)
        print(f"\n{name}: {found.counts.total():,} cases\n{table.to_string()}")
        print(f"in all: {table.sum().to_dict()}")
        is_broken |= bool(found.broken) or not set(table.columns) <= _FINE
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")
    return int(is_broken)


if __name__ == "__main__":
    sys.exit(main())
