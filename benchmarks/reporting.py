"""Units of a benchmark run in parallel, kept as CSV, and printed with 95 % intervals."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from eosparse.comparison.intervals import half_interval, summarise

Row = dict[str, Any]
__all__ = [
    "RESULTS",
    "Row",
    "half_interval",
    "report",
    "run_resumable",
    "run_units",
    "side_by_side",
    "summarise",
]
RESULTS = Path(__file__).parent / "results"


def run_units(unit: Callable[..., list[Row]], settings: Iterable[Row]) -> pd.DataFrame:
    """Run one unit per setting on both cores, one BLAS thread each."""

    def one(setting: Row) -> list[Row]:
        with threadpool_limits(1):
            return unit(**setting)

    parts = Parallel(n_jobs=2)(delayed(one)(setting) for setting in settings)
    return pd.DataFrame([row for part in parts for row in part])


def run_resumable(name: str, unit: Callable[..., list[Row]], settings: list[Row]) -> pd.DataFrame:
    """Run the units that are not yet kept under this name; each is kept as soon as it is done."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}_units.jsonl"
    wanted = {_key(setting): setting for setting in settings}
    kept = _kept(path)
    todo = [setting for key, setting in wanted.items() if key not in kept]

    def one(setting: Row) -> tuple[Row, list[Row]]:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return setting, unit(**setting)

    finished = Parallel(n_jobs=2, return_as="generator_unordered")(
        delayed(one)(setting) for setting in todo
    )
    begun = time.perf_counter()
    with path.open("a") as file:
        for count, (setting, rows) in enumerate(finished, 1):
            kept[_key(setting)] = rows
            file.write(json.dumps({"setting": setting, "rows": rows}) + "\n")
            file.flush()
            _show_progress(name, count, len(todo), time.perf_counter() - begun)
    return pd.DataFrame([row for key in wanted for row in kept[key]])


def _show_progress(name: str, count: int, total: int, seconds: float) -> None:
    left = seconds / count * (total - count)
    end = "\n" if count == total else "\r"
    print(f"{name}: {count} of {total}, {left:.0f} s left   ", end=end, file=sys.stderr, flush=True)


def _key(setting: Row) -> str:
    return json.dumps(setting, sort_keys=True)


def _kept(path: Path) -> dict[str, list[Row]]:
    """Units kept by an earlier run; a last line that was cut off is run again."""
    kept: dict[str, list[Row]] = {}
    lines = path.read_text().splitlines() if path.exists() else []
    for line in lines:
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        kept[_key(entry["setting"])] = entry["rows"]
    path.write_text("".join(line + "\n" for line in lines if line.endswith("}")))
    return kept


def side_by_side(table: pd.DataFrame, by: list[str], of: str) -> pd.DataFrame:
    """Turn a summary with one line per method into one with a column per method: mean ± half."""
    cells = [
        f"{mean:.3g} ± {half:.2g}" for mean, half in zip(table[of], table[f"{of} ±"], strict=True)
    ]
    wide = table.assign(cell=cells).pivot_table(
        index=by, columns="method", values="cell", aggfunc="first", sort=False
    )
    wide["repetitions"] = table.groupby(by, sort=False)["repetitions"].first()
    return wide.reset_index()


def report(name: str, title: str, raw: pd.DataFrame | None, table: pd.DataFrame) -> None:
    """Print a table, and keep it and the rows behind it as CSV."""
    RESULTS.mkdir(exist_ok=True)
    if raw is not None:
        raw.to_csv(RESULTS / f"{name}_raw.csv", index=False, float_format="%.6g")
    table.to_csv(RESULTS / f"{name}.csv", index=False, float_format="%.4g")
    print(f"\n## {title}\n")
    print(table.to_string(index=False, float_format=lambda value: f"{value:.4g}"), flush=True)
