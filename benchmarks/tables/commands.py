"""Three tables from the command line, against a bare read.

Each command runs in a process of its own, as a person would start it, imports included.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.bench import ALONE, Bench
from benchmarks.speed.timing import THREADS
from benchmarks.tables import makers
from eosparse.comparison.runner import Row

_RUNS = 5


@dataclass(frozen=True)
class Example:
    """A table, the command for it, and how pandas reads it."""

    make: Callable[..., np.ndarray]
    n_rows: int
    command: str
    read: str


EXAMPLES = (
    Example(
        makers.make_clinic_visits,
        5000,
        "detect visits.csv --output judged.csv",
        "read_csv('visits.csv', sep=';', decimal=',', encoding='cp1252')",
    ),
    Example(
        makers.make_machine_readings,
        1_000_000,
        "detect readings.parquet --output judged.parquet",
        "read_parquet('readings.parquet')",
    ),
    Example(
        makers.make_gene_expression,
        200,
        "detect genes.csv --output judged.csv",
        "read_csv('genes.csv')",
    ),
)
# Runs code, and prints its seconds and its peak memory; getrusage would count that of the parent.
_SCRIPT = """
import sys, time
begun = time.perf_counter()
code = sys.argv.pop(1)
try:
    exec(code)
except SystemExit as end:
    assert not end.code, end.code
spent = time.perf_counter() - begun
lines = open("/proc/self/status").read().splitlines()
peak = next(line.split()[1] for line in lines if line.startswith("VmHWM"))
print(spent, peak, file=sys.stderr)
"""


def run(bench: Bench) -> None:
    settings = [
        {"number": number, "n_rows": max(100, round(bench.scale * example.n_rows))}
        for number, example in enumerate(EXAMPLES)
    ]
    table = bench.run_units("tables", measure, settings, ALONE)
    title = f"Three tables from the command line ({THREADS} cores)"
    bench.report("tables", title, None, table)


def measure(number: int, n_rows: int) -> list[Row]:
    """Make a table, and measure its command and a bare read."""
    with tempfile.TemporaryDirectory(prefix="eosparse-tables-") as folder:
        return [_measure_example(EXAMPLES[number], Path(folder), n_rows)]


def _measure_example(example: Example, folder: Path, n_rows: int) -> Row:
    arguments = shlex.split(example.command)
    source, output = folder / arguments[1], folder / arguments[-1]
    truth = example.make(source, n_rows)
    ours = _measure_process(folder, "from eosparse.cli import main; main()", *arguments, "--force")
    bare = _measure_process(folder, f"import pandas; pandas.{example.read}")
    judged = pd.read_parquet(output) if output.suffix == ".parquet" else _read_csv(output)
    n_columns = len([name for name in judged if not name.startswith("eos_")])
    flagged = judged["eos_is_outlier"].to_numpy(dtype=bool)
    hits = np.count_nonzero(flagged & truth)
    first = judged.sort_values(["eos_p_value", "eos_weight"]).index[: truth.sum()]
    return {
        "command": f"eosparse {example.command}",
        "rows × columns": f"{len(judged):,} × {n_columns:,}",
        "seconds": ours[0],
        "bare read, s": bare[0],
        "times": ours[0] / bare[0],
        "peak MB": ours[1],
        "bare read, MB": bare[1],
        "planted": int(truth.sum()),
        "flagged": int(flagged.sum()),
        "precision": float(hits / max(flagged.sum(), 1)),
        "recall": float(hits / truth.sum()),
        "planted among the first": float(truth[first].mean()),
    }


def _read_csv(path: Path) -> pd.DataFrame:
    """Read a CSV file, which has decimal commas if the table that the command read had them."""
    is_german = ";" in path.read_text(encoding="cp1252").partition("\n")[0]
    signs = {"sep": ";", "decimal": ","} if is_german else {}
    return pd.read_csv(path, encoding="cp1252", **signs)


def _measure_process(folder: Path, code: str, *arguments: str) -> tuple[float, float]:
    """Return median seconds and megabytes; the first run, which fills caches, does not count."""
    command = [sys.executable, "-c", _SCRIPT, code, *arguments]
    runs = []
    for _ in range(1 + _RUNS):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        seconds, kilobytes = done.stderr.splitlines()[-1].split()
        runs.append((float(seconds), float(kilobytes) / 1024))
    spent, peak = np.median(runs[1:], axis=0)
    return float(spent), float(peak)
