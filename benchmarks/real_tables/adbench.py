"""d. The development half of the ADBench sets: the default, one Gaussian, and peers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks.bench import Bench
from benchmarks.real_tables.verdict import GAUSSIAN, OURS, judge_table
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import compute_half_interval
from eosparse.comparison.measures import measure_detection
from eosparse.comparison.panels.adbench import judge_set, load_set, make_grid, rank_methods
from eosparse.comparison.peers import Detection
from eosparse.comparison.runner import OK, Grid, Row, Setting
from eosparse.comparison.tables import make_frame

_OPTIONS = {OURS: {}, GAUSSIAN: {"model": "gaussian"}}
_MCD = "FastMCD (scikit-learn)"
_PEERS = ("isolation forest", "ECOD", _MCD)
# The set with the most columns, on which FastMCD takes more than ten minutes.
_WIDEST = "17_InternetAds"
# Stops what would never end; no unit comes near an hour.
_LIMIT = 3600.0


def judge(setting: Setting, method: str, repetition: int) -> Row:
    """Let a method judge a set, standardised."""
    if method not in _OPTIONS:
        return judge_set(setting, method, repetition)
    X, truth = load_set(DataFolder.locate(None).path / "adbench" / f"{setting['set']}.npz")
    verdict = judge_table(np.ascontiguousarray(X), **_OPTIONS[method])
    said = {"rung": verdict.rung, "promise": verdict.promise}
    return measure_detection(Detection(verdict.scores, verdict.flagged), truth) | said


def _make_grids(is_quick: bool, data: DataFolder) -> list[Grid]:
    grid = replace(make_grid(is_quick, data), work=judge, limit=_LIMIT, repetitions=1)
    grid = replace(grid, name="real_tables_d", methods=(*_OPTIONS, *_PEERS[:-1]))
    settings = tuple(setting for setting in grid.settings if setting["set"] != _WIDEST)
    return [grid, replace(grid, name="real_tables_d_mcd", methods=(_MCD,), settings=settings)]


def run(bench: Bench) -> None:
    data = DataFolder.locate(None)
    if (missing := data.explain_missing(["adbench", "adbench_published.csv"])) is not None:
        print(f"\n## d. Not run: {missing}")
        return
    grids = _make_grids(bench.scale < 1, data)
    units = bench.run_grids(grids)
    raw = pd.concat([make_frame(units, grid.name) for grid in grids], ignore_index=True)
    raw = raw.drop(columns=["repetition", "seconds"]).rename(columns={"took": "seconds"})
    print("\nfailed:", raw.loc[raw["status"] != OK, ["set", "method"]].to_numpy().tolist())
    good = raw[raw["status"] == OK]
    published = pd.read_csv(data.path / "adbench_published.csv", index_col=0)
    bench.report("real_tables_d", "d. ADBench: means over the sets", raw, _rank(good, published))


def _rank(good: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return means and ranks, and what the default gains over each method run here."""
    table = rank_methods(good, published)[["method", "AUC-ROC", "AUC-PR", "mean rank", "sets"]]
    for name in ("AUC-ROC", "AUC-PR"):
        wide = 100 * good.pivot_table(index="set", columns="method", values=name)
        gaps = wide.rsub(wide[OURS], axis=0).drop(columns=OURS)
        table[f"gain in {name}"] = table["method"].map(gaps.mean())
        table[f"gain in {name} ±"] = table["method"].map(gaps.apply(compute_half_interval))
    return table
