"""d. A Parquet folder larger than what we allow ourselves to use: memory and time per pass."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.reporting import report
from benchmarks.speed.timing import THREADS, table

_FILES, _ROWS, _COLUMNS = 26, 10**6, 20  # 4.2 GB of numbers


def run() -> None:
    folder = Path(tempfile.mkdtemp(prefix="eosparse-rows-"))
    try:
        _write(folder)
        size = sum(file.stat().st_size for file in folder.iterdir())
        idle = _measured("idle", folder)
        fit = _measured("fit", folder)
    finally:
        shutil.rmtree(folder)
    row = {"rows": _FILES * _ROWS, "columns": _COLUMNS, "GB on disk": size / 1e9} | fit
    row["MB above idle import"] = fit["peak MB"] - idle["peak MB"]
    row["threads"] = THREADS
    report("speed_d", "d. Rows on disk", None, pd.DataFrame([row]))


def _write(folder: Path) -> None:
    names = [f"c{i}" for i in range(_COLUMNS)]
    for i in range(_FILES):
        X = table(_ROWS, _COLUMNS, seed=i)
        part = pa.Table.from_arrays([pa.array(column) for column in X.T.copy()], names)
        pq.write_table(part, folder / f"part-{i:02}.parquet")
        print(f"written: {i + 1} of {_FILES}", end="\r", file=sys.stderr)


def _measured(what: str, folder: Path) -> dict[str, float]:
    """Run in a process of its own, whose peak memory nothing else has touched."""
    code = f"from benchmarks.speed.out_of_core import measure; measure({what!r}, {str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {
        name: float(value) for name, value in (line.split("=") for line in done.stdout.splitlines())
    }


def measure(what: str, folder: str) -> None:
    import time

    from eosparse.models.raw_gaussian import RawGaussian

    from eosparse import EOSDetector, open_rows
    from eosparse.core import visit

    def peak() -> float:
        """Most resident memory of this process; getrusage would count its parent's."""
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))

    if what == "fit":
        rows, detector = open_rows(folder), EOSDetector()
        begun = time.perf_counter()
        detector.fit(rows)
        print(f"fit, s={time.perf_counter() - begun}")
        print(f"passes={detector.n_iter_}")
        print(f"peak MB={peak()}")
        fit = detector._fit_
        model, raw = RawGaussian(fit.model, fit.coordinates), rows.prepared(np.asarray)
        passes, scans = [], []
        for _ in range(3):
            begun = time.perf_counter()
            for _ in ds.dataset(folder).to_batches():
                pass
            scans.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            visit(model, raw, fit.theta, fit.result.alpha)
            passes.append(time.perf_counter() - begun)
        print(f"a pass, s={np.median(passes)}")
        print(f"a bare scan, s={np.median(scans)}")
        print(f"pass / scan={np.median(np.array(passes) / np.array(scans))}")
    else:
        print(f"peak MB={peak()}")
