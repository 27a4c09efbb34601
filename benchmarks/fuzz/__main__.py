"""Fit random parts of real tables, and check what every fit promises.

``python -m benchmarks.fuzz --fits 10000 --seed 0`` reads ``<EOSPARSE_DATA>/tables/*.csv.gz``, and
prints a line for each broken promise and a table of counts. ``--only 1234`` repeats one fit, and
``--gaps`` fits tables with missing values.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

import numpy as np
import pandas as pd

from benchmarks.fuzz.promises import ESTIMATORS, MIXED, RELATIONS, WITH_GAPS, check_promises
from benchmarks.fuzz.subtables import Table, draw_subtable, punch_gaps, read_tables
from eosparse.comparison.data_folder import DataFolder

# Fits after which progress is told.
_REPORTED = 250
# A fit and its twin take a tenth of a second; one that takes this long has lost its way.
_MOST_SECONDS = 60


@contextmanager
def limit_time(seconds: int) -> Iterator[None]:
    """Raise a `TimeoutError` after some seconds."""

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001  # of signal
        raise TimeoutError(f"no answer in {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def run_fit(
    tables: dict[str, Table],
    seed: int,
    number: int,
    *,
    verbose: bool = False,
    with_gaps: bool = False,
) -> tuple[str, str, str]:
    """Run one fit; return the estimator, the outcome in a word, and what went wrong."""
    rng = np.random.default_rng([seed, number])
    names = WITH_GAPS if with_gaps else list(ESTIMATORS)
    name = names[number % len(names)]
    relation = str(rng.choice(list(RELATIONS)))
    table = draw_subtable(tables, rng, with_labels=name in MIXED)
    numbers = punch_gaps(table.numbers, rng) if with_gaps else table.numbers
    shape = "x".join(map(str, numbers.shape))
    try:
        with limit_time(_MOST_SECONDS):
            has_answer = check_promises(name, relation, numbers, rng, table.labels)
    except Exception as error:  # whatever reaches a user
        if verbose:
            raise
        kind = type(error).__name__.replace("BrokenPromiseError", relation)
        return name, kind, f"[{shape}: {table.name}] {error}"
    return name, "answered" if has_answer else "refused", ""


def main() -> int:
    """Run the fits, print what was broken, and count."""
    parser = argparse.ArgumentParser(prog="benchmarks.fuzz", description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000, help="number of fits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="number of a single fit to repeat")
    parser.add_argument("--estimator", choices=list(ESTIMATORS), help="skip all others")
    parser.add_argument("--gaps", action="store_true", help="take cells out of the tables")
    parser.add_argument("--data", help="folder with tables/*.csv.gz (default: EOSPARSE_DATA)")
    arguments = parser.parse_args()
    folder = DataFolder.locate(arguments.data).path / "tables"
    if not (tables := read_tables(folder)):
        parser.error(f"no table in {folder}: name the folder above with --data or EOSPARSE_DATA.")
    run = partial(run_fit, tables, arguments.seed, with_gaps=arguments.gaps)
    names = WITH_GAPS if arguments.gaps else tuple(ESTIMATORS)
    if arguments.only is not None:
        print(*run(arguments.only, verbose=True))
        return 0
    gaps = "--gaps " if arguments.gaps else ""
    counts: Counter[tuple[str, str]] = Counter()
    begun = time.perf_counter()
    for number in range(arguments.fits):
        if arguments.estimator not in (None, names[number % len(names)]):
            continue
        if number and number % _REPORTED == 0:
            seconds = time.perf_counter() - begun
            print(f"{number} fits in {seconds:.0f} s", file=sys.stderr, flush=True)
        name, outcome, reason = run(number)
        counts[name, outcome] += 1
        if reason:
            print(f"{gaps}--seed {arguments.seed} --only {number} {name}: {outcome}: {reason}",
                  flush=True)  # fmt: skip
    table = pd.Series(counts).unstack(fill_value=0).reindex(list(ESTIMATORS)).dropna()
    print(f"\n{table.astype(int).to_string()}\n{time.perf_counter() - begun:.0f} s")
    return int(bool(set(table) - {"answered", "refused"}))


if __name__ == "__main__":
    sys.exit(main())
