"""The ADBench sets: one setting for all, no labels used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import compute_half_interval
from eosparse.comparison.measures import measure_detection
from eosparse.comparison.panels.contamination import PEER_DETECTORS
from eosparse.comparison.peers import PEERS
from eosparse.comparison.peers.eos import EOS
from eosparse.comparison.peers.timing import time_detection, warm_up
from eosparse.comparison.runner import Grid, Row, Setting
from eosparse.core import BoolArray, FloatArray
from eosparse.models import GaussianModel

# Real tables are not Gaussian, and many have several groups. A little shrinkage keeps directions of
# almost no variance, which rounding, ties and dependent columns cause, from deciding the distance;
# equal weights at the start keep the groups together, where a robust start would choose one.
SHRUNK = "EOS, shrinkage=0.1, uniform start"
SHRUNK_OPTIONS: dict[str, Any] = {"model": GaussianModel(shrinkage=0.1), "start": "uniform"}
METHODS = (EOS, SHRUNK, *PEER_DETECTORS)
# One of the sets has 1,555 columns, on which several methods need half a minute.
_SECONDS_FOR_WIDE = 60.0
# The quick mode takes sets up to this many bytes on disk: a few hundred rows.
_QUICK_SIZE = 30_000
# Methods that depend on a seed run with up to five: sets differ more than seeds do.
_SEEDS = 5


def load_set(path: Path) -> tuple[FloatArray, BoolArray]:
    """Return standardised rows without constant columns, and which of them are anomalies."""
    with np.load(path) as stored:
        X, y = stored["X"].astype(np.float64), stored["y"].astype(bool)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def judge_as_given(setting: Setting, method: str, repetition: int) -> Row:
    """Let a method judge a table as it is."""
    with np.load(Path(setting["folder"]) / f"{setting['set']}.npz") as stored:
        return _judge_rows(stored["X"], stored["y"], method, repetition)


def judge_set(setting: Setting, method: str, repetition: int) -> Row:
    """Let a method judge a set, standardised."""
    folder = DataFolder.locate(None).path / "adbench"
    return _judge_rows(*load_set(folder / f"{setting['set']}.npz"), method, repetition)


def _judge_rows(X: FloatArray, truth: BoolArray, method: str, repetition: int) -> Row:
    name, options = (EOS, SHRUNK_OPTIONS) if method == SHRUNK else (method, {})
    # Contiguous, as in the warm-up: other memory layouts would be compiled while the clock runs.
    detection, seconds = time_detection(name, np.ascontiguousarray(X), repetition, **options)
    return measure_detection(detection, truth) | {"seconds": seconds}


def make_grid(quick: bool, data: DataFolder) -> Grid:
    """Return all sets, small ones first; only the small ones if quick."""
    folder = data.path / "adbench"
    paths = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_size)
    if quick:
        paths = [path for path in paths if path.stat().st_size < _QUICK_SIZE]
    settings = tuple({"set": path.stem} for path in paths)
    once = (SHRUNK, *(name for name in METHODS if name in PEERS and not PEERS[name].is_random))
    limit = None if quick else _SECONDS_FOR_WIDE
    return Grid("adbench", settings, METHODS, judge_set, warm_up, ("set",), _SEEDS, once, limit)


def rank_methods(rows: pd.DataFrame, published: pd.DataFrame | None) -> pd.DataFrame:
    """Return one line per method: means over sets in percent, published ones included.

    Means over different sets cannot be compared. Methods that did not finish all sets come last,
    and ``minus EOS`` is the mean difference to `SHRUNK` over the sets that both finished, with its
    half interval. Ranks are those of AUC-ROC; where a method run here did not finish, it shares
    the last rank.

    Parameters
    ----------
    rows : DataFrame
        One line per unit, with columns set, method, AUC-ROC, AUC-PR and seconds.
    published : DataFrame or None
        Published AUC-ROC in percent: one line per set, one column per method.

    Examples
    --------
    >>> units = {"set": ["s", "s"], "method": [SHRUNK, "LOF"], "AUC-ROC": [0.9, 0.7]}
    >>> rows = pd.DataFrame(units).assign(**{"AUC-PR": 0.5, "seconds": 1.0})
    >>> rank_methods(rows, None).set_index("method")["minus EOS"].round(3).to_dict()["LOF"]
    -20.0
    """
    means = rows.groupby(["set", "method"], sort=False)[["AUC-ROC", "AUC-PR", "seconds"]].mean()
    wide = 100 * means["AUC-ROC"].unstack()
    if published is not None:
        known = published.loc[published.index.isin(wide.index)].add_suffix(" (published)")
        wide = wide.join(known)
    table = pd.DataFrame({"AUC-ROC": wide.mean(), "sets": wide.count()})
    if SHRUNK in wide:
        gaps = wide.sub(wide[SHRUNK], axis=0).drop(columns=SHRUNK)
        table["minus EOS"], table["±"] = gaps.mean(), gaps.apply(compute_half_interval)
    ranks = wide.rank(axis=1, ascending=False, na_option="bottom")
    is_unknown = wide.isna() & wide.columns.str.endswith("(published)")
    table["mean rank"] = ranks.mask(is_unknown).mean()
    table["AUC-PR"] = 100 * means["AUC-PR"].unstack().mean()
    table["seconds"] = means["seconds"].unstack().sum()
    return table.sort_values(["sets", "AUC-ROC"], ascending=False).reset_index(names="method")
