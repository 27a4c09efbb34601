"""What all benchmark packages share: their command, the resumable runner, and reports.

A figure is a function of a `Bench`. It runs its units, each of which is stored as soon as it is
done, and reports a table. When all requested figures are done, their units are deleted: the same
command resumes an interrupted run, and measures again after a finished one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pandas as pd

from benchmarks.commits import RESULTS, record_commit
from benchmarks.pages.write import write_pages
from eosparse.comparison.machine import compute_fingerprint
from eosparse.comparison.runner import (
    FAILED,
    OK,
    Grid,
    Plan,
    Row,
    Standing,
    Store,
    StoreError,
    Workers,
    run_grids,
)
from eosparse.rows.whole_file import replace_when_complete

# Alone on the machine, in a new process each: for units whose seconds or memory count.
ALONE = Workers(count=1, threads=None, units_each=1)
ALONE_ON_ONE_THREAD = Workers(count=1, threads=1, units_each=1)


@dataclass(frozen=True)
class Bench:
    """A run of a benchmark package.

    Attributes
    ----------
    folder : Path
        Where results are written.
    store : Store
        Keeps finished units.
    scale : float
        Multiplies repetitions or rows, to shorten a run.
    n_workers : int
        Units that run side by side, unless their time counts.
    """

    folder: Path
    store: Store
    scale: float
    n_workers: int
    _grids: set[str] = field(default_factory=set)

    def run_units(
        self,
        name: str,
        work: Callable[..., list[Row]],
        settings: Iterable[Row],
        workers: Workers | None = None,
    ) -> pd.DataFrame:
        """Run one unit per setting, and return all their rows in the order of the settings.

        Parameters
        ----------
        name : str
            Of the figure.
        work : callable
            From a setting, as keywords, to rows; a function that other processes can import.
        settings : iterable of dict
            One per unit. The repetition, if there are several, is part of it.
        workers : Workers, optional
            Side by side on all cores by default; see `ALONE`.
        """
        grid = Grid(name, tuple(settings), (name,), partial(_run_unit, work))
        units = self.run_grids([grid], workers)
        if failed := [unit for unit in units if unit["status"] != OK]:
            first = failed[0]
            raise SystemExit(
                f"{name}: {len(failed)} of {len(units)} units failed, the first with "
                f"{first['reason']} at {first['setting']}. Run the same command to try them again."
            )
        return pd.DataFrame([row for unit in units for row in unit["rows"]])

    def run_grids(self, grids: list[Grid], workers: Workers | None = None) -> list[Row]:
        """Run grids once, and return their units in the order of grids, settings and methods."""
        self._grids.update(grid.name for grid in grids)
        observe = partial(_show_progress, grids[0].name)
        run_grids(grids, Plan(), self.store, workers or Workers(self.n_workers), observe)
        print(file=sys.stderr)
        stored = {_identify(unit): unit for unit in self.store.read_units()}
        order = (
            _identify({"grid": grid.name, "setting": setting, "method": method})
            for grid in grids
            for setting in grid.settings
            for method in grid.methods
        )
        return [stored[key] for key in order if key in stored]

    def report(self, name: str, title: str, raw: pd.DataFrame | None, table: pd.DataFrame) -> None:
        """Print a table, and write it, the rows behind it and the commit of the code."""
        if raw is not None:
            self._write(f"{name}_raw.csv", raw, "%.6g")
        self._write(f"{name}.csv", table, "%.4g")
        print(f"\n## {title}\n")
        print(table.to_string(index=False, float_format=lambda value: f"{value:.4g}"), flush=True)

    def _write(self, name: str, table: pd.DataFrame, float_format: str) -> None:
        with replace_when_complete(self.folder / name) as partial_path:
            table.to_csv(partial_path, index=False, float_format=float_format)
        record_commit(self.folder, name, self.scale)

    def finish(self) -> None:
        """Delete the units of the figures that have run."""
        self.store.forget(lambda unit: unit["grid"] in self._grids)


def _run_unit(work: Callable[..., list[Row]], setting: Row, method: str, repetition: int) -> Row:  # noqa: ARG001
    return {"rows": work(**setting)}


def _identify(unit: Row) -> tuple[str, str, str]:
    return unit["grid"], json.dumps(unit["setting"], sort_keys=True), unit["method"]


def _show_progress(name: str, standing: Standing) -> None:
    left = f"{standing.seconds_left:.0f} s left"
    print(f"\r{name}: {standing.n_done} units, {left}   ", end="", file=sys.stderr, flush=True)


Figure = Callable[[Bench], None]


def run_command(package: str, description: str | None, figures: Mapping[str, Figure]) -> None:
    """Run the command of a package: the requested figures, or all.

    Parameters
    ----------
    package : str
        Name of the package, such as ``"detector"``.
    description : str
        For ``--help``.
    figures : mapping
        The function of every figure.
    """
    arguments = _parse_arguments(package, description, figures)
    store = Store(arguments.out / ".units" / package)
    bench = Bench(arguments.out, store, arguments.scale, arguments.workers)
    try:
        # Failed units run again: what made them fail may have been mended.
        with store.open(
            compute_fingerprint(Path(__file__).parent),
            fresh=arguments.fresh,
            forget=lambda unit: unit["status"] == FAILED,
        ):
            for name in arguments.figures or figures:
                begun = time.perf_counter()
                figures[name](bench)
                print(f"({name}: {time.perf_counter() - begun:.0f} s)", flush=True)
            bench.finish()
        if arguments.out == RESULTS:
            write_pages()
    except StoreError as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        print("\nStopped. Run the same command to resume.", file=sys.stderr)
        raise SystemExit(130) from None  # as shells report Ctrl-C


def _parse_arguments(
    package: str, description: str | None, figures: Mapping[str, Figure]
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"benchmarks.{package}", description=description)
    names = ", ".join(figures)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"{names} (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies repetitions or rows")
    parser.add_argument(
        "--quick", action="store_const", dest="scale", const=0.2, help="the same as --scale 0.2"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for results")
    parser.add_argument("--fresh", action="store_true", help="discard units of an interrupted run")
    arguments = parser.parse_args()
    if unknown := set(arguments.figures) - set(figures):
        parser.error(f"unknown figures: {', '.join(sorted(unknown))}; choose from {names}")
    return arguments


def spread_methods(table: pd.DataFrame, by: list[str], of: str) -> pd.DataFrame:
    """Turn a summary with one line per method into one with a column per method: mean ± half."""
    cells = [
        f"{mean:.3g} ± {half:.2g}" for mean, half in zip(table[of], table[f"{of} ±"], strict=True)
    ]
    wide = table.assign(cell=cells).pivot_table(
        index=by, columns="method", values="cell", aggfunc="first", sort=False
    )
    wide["repetitions"] = table.groupby(by, sort=False)["repetitions"].first()
    return wide.reset_index()


def count_repetitions(scale: float, full: float, least: int = 2) -> int:
    """Return how often to repeat a setting in a run of some scale."""
    return max(least, round(scale * full))
