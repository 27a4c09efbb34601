"""Three tables from the command line, against a bare read: ``python -m benchmarks.tables``.

Each command runs in a process of its own, as a person would start it, imports included. At full
size the table also goes into docs/tables.md.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.reporting import report
from benchmarks.speed.timing import THREADS
from benchmarks.tables import made

_PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
_BEGIN, _END = "<!-- made by make bench-tables -->\n", "<!-- end -->\n"
_RUNS = 5


@dataclass(frozen=True)
class Brought:
    """A table, the command for it, and how it is read without us."""

    make: Callable[..., np.ndarray]
    n_rows: int
    command: str
    read: str


TABLES = (
    Brought(
        made.clinic_visits,
        5000,
        "detect visits.csv --missing impute --output judged.csv",
        "read_csv('visits.csv', sep=';', decimal=',', encoding='cp1252')",
    ),
    Brought(
        made.machine_readings,
        1_000_000,
        "detect readings.parquet --output judged.parquet",
        "read_parquet('readings.parquet')",
    ),
    Brought(
        made.gene_expression,
        200,
        "detect genes.csv --output judged.csv",
        "read_csv('genes.csv')",
    ),
)
# Runs the rest of its arguments, and says the most memory it had; getrusage counts the parent's.
_MEASURED = """
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.tables", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows")
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory(prefix="eosparse-tables-") as folder:
        table = pd.DataFrame([_row(one, Path(folder), scale) for one in TABLES])
    report("tables", f"Three tables from the command line ({THREADS} cores)", None, table)
    if scale == 1.0:
        _into_page(table)


def _row(one: Brought, folder: Path, scale: float) -> dict[str, object]:
    arguments = shlex.split(one.command)
    source, output = folder / arguments[1], folder / arguments[-1]
    truth = one.make(source, max(100, round(scale * one.n_rows)))
    ours = _median(folder, "from eosparse.cli import main; main()", *arguments, "--force")
    bare = _median(folder, f"import pandas; pandas.{one.read}")
    judged = pd.read_parquet(output) if output.suffix == ".parquet" else _read_as_written(output)
    n_columns = len([name for name in judged if not name.startswith("eos_")])
    flagged = judged["eos_is_outlier"].to_numpy(dtype=bool)
    hits = np.count_nonzero(flagged & truth)
    first = judged.sort_values(["eos_p_value", "eos_weight"]).index[: truth.sum()]
    return {
        "command": f"eosparse {one.command}",
        "rows × columns": f"{len(judged):,} × {n_columns:,}",
        "seconds": ours[0],
        "bare read, s": bare[0],
        "times": ours[0] / bare[0],
        "peak MB": ours[1],
        "bare read, MB": bare[1],
        "planted": int(truth.sum()),
        "flagged": int(flagged.sum()),
        "precision": hits / max(flagged.sum(), 1),
        "recall": hits / truth.sum(),
        "planted among the first": truth[first].mean(),
    }


def _read_as_written(path: Path) -> pd.DataFrame:
    """Read a CSV that the command wrote as it had found the table: with decimal commas, perhaps."""
    is_german = ";" in path.read_text(encoding="cp1252").partition("\n")[0]
    signs = {"sep": ";", "decimal": ","} if is_german else {}
    return pd.read_csv(path, encoding="cp1252", **signs)


def _median(folder: Path, code: str, *arguments: str) -> tuple[float, float]:
    """Return median seconds and megabytes; a first run, which fills caches, does not count."""
    command = [sys.executable, "-c", _MEASURED, code, *arguments]
    runs = []
    for _ in range(1 + _RUNS):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        seconds, kilobytes = done.stderr.splitlines()[-1].split()
        runs.append((float(seconds), float(kilobytes) / 1024))
    spent, peak = np.median(runs[1:], axis=0)
    return float(spent), float(peak)


def _into_page(table: pd.DataFrame) -> None:
    """Replace the table of the page."""
    rows = [[_shown(cell) for cell in line] for line in table.itertuples(index=False)]
    rows = [[f"`{first}`", *rest] for first, *rest in rows]
    lines = [list(table.columns), ["---"] * table.shape[1], *rows]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    before, rest = _PAGE.read_text(encoding="utf-8").split(_BEGIN)
    _, after = rest.split(_END)
    _PAGE.write_text(f"{before}{_BEGIN}\n{text}\n{_END}{after}", encoding="utf-8")


def _shown(cell: object) -> str:
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.0f}" if cell >= 100 else f"{cell:.3g}"


if __name__ == "__main__":
    main()
