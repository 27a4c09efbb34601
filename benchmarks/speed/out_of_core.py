"""d. Rows in a Parquet folder: memory, and time per pass."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.bench import ALONE, Bench
from benchmarks.speed.timing import THREADS, make_table
from eosparse.comparison.runner import Row

_FILES, _ROWS, _COLUMNS = 26, 10**6, 20  # 4.2 GB of numbers


def run(bench: Bench) -> None:
    n_files = max(1, round(bench.scale * _FILES))
    table = bench.run_units("speed_d", measure, [{"n_files": n_files}], ALONE)
    bench.report("speed_d", "d. Rows on disk", None, table)


def measure(n_files: int) -> list[Row]:
    """Write a folder, fit its rows, and return memory and times."""
    with tempfile.TemporaryDirectory(prefix="eosparse-rows-") as name:
        folder = Path(name)
        _write(folder, n_files)
        size = sum(file.stat().st_size for file in folder.iterdir())
        idle = _run_process("idle", folder)
        fit = _run_process("fit", folder)
    row = {"rows": n_files * _ROWS, "columns": _COLUMNS, "GB on disk": size / 1e9} | fit
    row["MB above idle import"] = fit["peak MB"] - idle["peak MB"]
    row["threads"] = THREADS
    return [row]


def _write(folder: Path, n_files: int) -> None:
    names = [f"c{i}" for i in range(_COLUMNS)]
    for i in range(n_files):
        X = make_table(_ROWS, _COLUMNS, seed=i)
        part = pa.Table.from_arrays([pa.array(column) for column in X.T.copy()], names)
        pq.write_table(part, folder / f"part-{i:02}.parquet")


def _run_process(what: str, folder: Path) -> dict[str, float]:
    """Run `print_measures` in a process whose peak memory nothing else has touched."""
    call = f"print_measures({what!r}, {str(folder)!r})"
    code = f"from benchmarks.speed.disk_process import print_measures; {call}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {
        name: float(value) for name, value in (line.split("=") for line in done.stdout.splitlines())
    }
