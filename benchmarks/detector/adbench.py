"""e. The development half of the ADBench sets, one setting for all."""

from __future__ import annotations

import pandas as pd

from benchmarks.reporting import Row, report, run_units
from eosparse.comparison.adbench import SHRUNK, grid, judge, league
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.ledger import OK
from eosparse.comparison.peers import EOS, warm
from eosparse.comparison.units import attempt

_METHODS = (SHRUNK, EOS, "isolation forest", "FastMCD (scikit-learn)")
_LIMIT = 3600.0
# Beyond that FastMCD takes more than ten minutes.
_MOST_COLUMNS_MCD = "17_InternetAds"


def unit(set: str, method: str) -> list[Row]:
    row = attempt(warm, judge, {"set": set}, method, 0, _LIMIT)
    return [{"set": set, "method": method} | row]


def run(scale: float) -> None:
    data = DataFolder.given(None)
    if (missing := data.missing(["adbench", "adbench_published.csv"])) is not None:
        print(f"\n## e. not run: {missing}")
        return
    settings = [
        setting | {"method": method}
        for setting in grid(scale < 1, data).settings
        for method in _METHODS
        if not (method.startswith("FastMCD") and setting["set"] == _MOST_COLUMNS_MCD)
    ]
    raw = run_units(unit, settings)
    good = raw[raw["status"] == OK]
    print("\nfailed:", raw.loc[raw["status"] != OK, ["set", "method"]].to_numpy().tolist())
    published = pd.read_csv(data.path / "adbench_published.csv", index_col=0)
    wide = 100 * good.pivot_table(index="set", columns="method", values="AUC-ROC")[list(_METHODS)]
    best = published.mean().nlargest(4).index
    wide = wide.join(published.loc[:, best].add_suffix(" (published)"))
    report("detector_e", "e. AUC-ROC on the ADBench sets", raw, wide.reset_index())
    report("detector_e_means", "e. Means over the sets", None, league(good, published))
