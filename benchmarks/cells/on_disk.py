"""c. Wrong cells of rows on disk: time and memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.bench import ALONE, Bench
from eosparse.comparison.runner import Row
from eosparse.core import visit

_FILES, _ROWS, _COLUMNS = 10, 10**6, 10
_WRONG = 0.001


def run(bench: Bench) -> None:
    n_files = max(1, round(bench.scale * _FILES))
    table = bench.run_units("cells_c_disk", measure, [{"n_files": n_files}], ALONE)
    bench.report("cells_c_disk", "c. Cells of rows on disk", None, table)


def measure(n_files: int) -> list[Row]:
    """Write a folder, and fit its cells in a process whose memory nothing else has touched."""
    with tempfile.TemporaryDirectory(prefix="eosparse-cells-") as name:
        folder = Path(name)
        for i in range(n_files):
            _write(folder / f"part-{i:02}.parquet", seed=83_000 + i)
        code = f"from benchmarks.cells.on_disk import print_measures as p; p({name!r})"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = (line.split("=") for line in done.stdout.splitlines())
    row: Row = {"rows": n_files * _ROWS, "columns": _COLUMNS}
    return [row | {name: float(value) for name, value in found}]


def _write(file: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    loadings = np.random.default_rng(83_000).normal(size=(3, _COLUMNS))
    X = rng.normal(size=(_ROWS, 3)) @ loadings + rng.normal(size=(_ROWS, _COLUMNS))
    X[rng.random(X.shape) < _WRONG] += 20
    names = [f"c{j}" for j in range(_COLUMNS)]
    pq.write_table(pa.Table.from_arrays([pa.array(x) for x in X.T.copy()], names), file)


def print_measures(folder: str) -> None:
    """Print times and peak memory of a fit and of the list of wrong cells."""
    from eosparse import EOSCells, open_rows

    rows, model = open_rows(folder), EOSCells()
    begun = time.perf_counter()
    model.fit(rows)
    print(f"fit, s={time.perf_counter() - begun}")
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as other:
        written = model.write_wrong(rows, Path(other) / "wrong.parquet")
        print(f"list, s={time.perf_counter() - begun}")
        print(f"wrong cells={pq.read_metadata(written).num_rows}")
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    print(f"peak MB={peak}")
    fit = model._fit.fit
    seen = rows.prepare_with(model._fit.view)
    begun = time.perf_counter()
    visit(fit.model, seen, fit.result.theta, fit.result.alpha)
    one_pass = time.perf_counter() - begun
    begun = time.perf_counter()
    for _ in ds.dataset(folder).to_batches():
        pass
    print(f"a pass, s={one_pass}")
    print(f"a bare scan, s={time.perf_counter() - begun}")
