"""e. The development half of the ADBench sets, one setting for all."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from benchmarks.bench import Bench
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.panels.adbench import SHRUNK, make_grid, rank_methods
from eosparse.comparison.peers.eos import EOS
from eosparse.comparison.runner import OK, Grid
from eosparse.comparison.tables import make_frame

_MCD = "FastMCD (scikit-learn)"
_METHODS = (SHRUNK, EOS, "isolation forest", _MCD)
# Stops what would never end; no unit comes near an hour.
_LIMIT = 3600.0
# The set with the most columns, on which FastMCD takes more than ten minutes.
_WIDEST = "17_InternetAds"


def _make_grids(is_quick: bool, data: DataFolder) -> list[Grid]:
    grid = replace(make_grid(is_quick, data), name="detector_e", methods=_METHODS[:-1])
    grid = replace(grid, limit=_LIMIT, repetitions=1)
    settings = tuple(setting for setting in grid.settings if setting["set"] != _WIDEST)
    return [grid, replace(grid, name="detector_e_mcd", methods=(_MCD,), settings=settings)]


def run(bench: Bench) -> None:
    data = DataFolder.locate(None)
    if (missing := data.explain_missing(["adbench", "adbench_published.csv"])) is not None:
        print(f"\n## e. Not run: {missing}")
        return
    grids = _make_grids(bench.scale < 1, data)
    units = bench.run_grids(grids)
    raw = pd.concat([make_frame(units, grid.name) for grid in grids], ignore_index=True)
    raw = raw.drop(columns="repetition")
    good = raw[raw["status"] == OK]
    print("\nfailed:", raw.loc[raw["status"] != OK, ["set", "method"]].to_numpy().tolist())
    published = pd.read_csv(data.path / "adbench_published.csv", index_col=0)
    wide = 100 * good.pivot_table(index="set", columns="method", values="AUC-ROC")[list(_METHODS)]
    best = published.mean().nlargest(4).index
    wide = wide.join(published.loc[:, best].add_suffix(" (published)"))
    bench.report("detector_e", "e. AUC-ROC on the ADBench sets", raw, wide.reset_index())
    bench.report("detector_e_means", "e. Means over the sets", None, rank_methods(good, published))
