"""Memory and time of `eosparse detect` on large files, against a bare scan by pyarrow.

``python -m benchmarks.streaming --rows 2e6 8e6 --formats csv parquet`` writes tables of ten columns
to a temporary folder, which is deleted, and prints a row for each. *Scan* is one pass of pyarrow's
own scanner, *pass* one of a fit, *survey* the first pass, which sees every cell, and *judge* the
last one; all are also given in scans. *Peak* is the resident memory of the whole command.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

_COLUMNS, _PART = 10, 500_000


def write_table(path: Path, n_rows: int) -> None:
    """Write a table of normal numbers, a hundredth of them outliers, part by part."""
    writer = None
    for start in range(0, n_rows, _PART):
        size = min(_PART, n_rows - start)
        X = np.random.default_rng(start).normal(size=(size, _COLUMNS)).round(6)
        X[: size // 100] += 6
        part = pa.table({f"c{i}": X[:, i] for i in range(_COLUMNS)})
        if writer is None:
            is_text = path.suffix == ".csv"
            make = pyarrow.csv.CSVWriter if is_text else pyarrow.parquet.ParquetWriter
            writer = make(str(path), part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


def measure_passes(folder: Path) -> dict[str, float]:
    """Return the seconds of a bare scan, of the first and the last pass, and of one of a fit."""
    from eosparse import EOSDetector
    from eosparse.tables import recognise_columns
    from eosparse.tables.stream_judging import Verdict, judge_streamed
    from eosparse.tables.streaming import StreamedTable, fit_streamed
    from eosparse.tables.survey import survey_table

    kind = next(folder.iterdir()).suffix[1:]
    times = {}
    begun = time.perf_counter()
    for _ in pyarrow.dataset.dataset(folder, format=kind).to_batches():
        pass
    times["scan, s"], begun = time.perf_counter() - begun, time.perf_counter()
    survey = survey_table(str(folder))
    times["survey, s"] = time.perf_counter() - begun
    table = StreamedTable.prepare(survey, recognise_columns(survey.sample), "keep")
    begun = time.perf_counter()
    table.rows.fold(lambda block, _: block.sum(axis=0))
    times["pass, s"] = time.perf_counter() - begun
    detector = EOSDetector()
    fit_streamed(detector, table)
    begun = time.perf_counter()
    judge_streamed(table, Verdict(detector))
    times["judge, s"] = time.perf_counter() - begun
    return times


def measure_command(folder: Path) -> dict[str, float]:
    """Return the seconds and the peak memory of the whole command."""
    code = (
        "import resource, subprocess, sys;"
        f"call = [sys.executable, '-m', 'eosparse', 'detect', {str(folder)!r}, '--top', '0'];"
        "subprocess.run(call, check=True, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {"command, s": time.perf_counter() - begun, "peak, MB": float(done.stdout)}


def main() -> None:
    """Measure tables of several sizes and formats."""
    parser = argparse.ArgumentParser(prog="benchmarks.streaming", description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[2e6, 8e6])
    parser.add_argument("--formats", nargs="+", default=["csv", "parquet"])
    arguments = parser.parse_args()
    found = []
    for kind in arguments.formats:
        for n_rows in map(int, arguments.rows):
            with tempfile.TemporaryDirectory(prefix="eosparse-rows-") as name:
                path = Path(name) / f"rows.{kind}"
                write_table(path, n_rows)
                row = {"format": kind, "rows": n_rows, "GB": path.stat().st_size / 1e9}
                row |= measure_command(path.parent) | measure_passes(path.parent)
            for what in ("survey", "pass", "judge"):
                row[f"{what} / scan"] = row[f"{what}, s"] / row["scan, s"]
            found.append(row)
    print(pd.DataFrame(found).T.to_string(float_format=lambda value: f"{value:.3g}"))


if __name__ == "__main__":
    main()
