"""The ADBench sets: one setting for all, no labels used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import half_interval
from eosparse.comparison.ledger import Grid, Setting
from eosparse.comparison.measures import measures
from eosparse.comparison.peers import EOS, PEERS, Find, eos_with, timed, warm
from eosparse.comparison.store import Row
from eosparse.core import BoolArray, FloatArray

# Real tables are not Gaussian, and many have several groups. A little shrinkage keeps directions of
# almost no variance, which rounding, ties and dependent columns make, from deciding the distance;
# equal weights at the start keep the groups together, where a robust start would choose one.
SHRUNK = "EOS, shrinkage=0.1, uniform start"
SETTING = {"shrinkage": 0.1, "start": "uniform"}
# A table of 1,555 columns is among them, on which several methods need half a minute.
_SECONDS_FOR_WIDE = 60.0


def load(path: Path) -> tuple[FloatArray, BoolArray]:
    """Return standardised rows, constant columns dropped, and which are anomalies."""
    with np.load(path) as stored:
        X, y = stored["X"].astype(np.float64), stored["y"].astype(bool)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def judge_as_given(setting: Setting, method: str, repetition: int) -> Row:
    """Let a method judge a table as it is."""
    with np.load(Path(setting["folder"]) / f"{setting['set']}.npz") as stored:
        return _judged(stored["X"], stored["y"], method, repetition)


def judge(setting: Setting, method: str, repetition: int) -> Row:
    """Let a method judge a set, standardised."""
    folder = DataFolder.given(None).path / "adbench"
    return _judged(*load(folder / f"{setting['set']}.npz"), method, repetition)


def _judged(X: FloatArray, truth: BoolArray, method: str, repetition: int) -> Row:
    # Rows one after the other, as methods are compiled for before the clock starts.
    finding, seconds = timed(_finder(method), np.ascontiguousarray(X), repetition)
    return measures(finding, truth) | {"seconds": seconds}


def _finder(method: str) -> Find:
    return eos_with(**SETTING) if method == SHRUNK else PEERS[method].find


def grid(quick: bool, data: DataFolder) -> Grid:
    """Return all sets, small ones first; the small ones only if quick."""
    folder = data.path / "adbench"
    paths = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_size)
    if quick:
        paths = [path for path in paths if path.stat().st_size < 30_000]
    settings = tuple({"set": path.stem} for path in paths)
    once = (SHRUNK, *(name for name, peer in PEERS.items() if not peer.is_random))
    methods = (EOS, SHRUNK, *(name for name in PEERS if name != EOS))
    limit = None if quick else _SECONDS_FOR_WIDE
    return Grid("adbench", settings, methods, judge, warm, ("set",), 5, once, limit)


def league(rows: pd.DataFrame, published: pd.DataFrame | None) -> pd.DataFrame:
    """Return one line per method: means over sets, in percent, with the published ones.

    Means over different sets cannot be compared: methods that did not finish all come last, and
    ``minus EOS`` is the mean difference to `SHRUNK` on the sets that both finished, with the half
    interval over sets. Ranks are those of AUC-ROC; where a method run here did not finish, it
    shares the last one.
    """
    means = rows.groupby(["set", "method"], sort=False)[["AUC-ROC", "AUC-PR", "seconds"]].mean()
    wide = 100 * means["AUC-ROC"].unstack()
    if published is not None:
        known = published.loc[published.index.isin(wide.index)].add_suffix(" (published)")
        wide = wide.join(known)
    table = pd.DataFrame({"AUC-ROC": wide.mean(), "sets": wide.count()})
    if SHRUNK in wide:
        gaps = wide.sub(wide[SHRUNK], axis=0).drop(columns=SHRUNK)
        table["minus EOS"], table["±"] = gaps.mean(), gaps.apply(half_interval)
    ranks = wide.rank(axis=1, ascending=False, na_option="bottom")
    is_unknown = wide.isna() & wide.columns.str.endswith("(published)")
    table["mean rank"] = ranks.mask(is_unknown).mean()
    table["AUC-PR"] = 100 * means["AUC-PR"].unstack().mean()
    table["seconds"] = means["seconds"].unstack().sum()
    return table.sort_values(["sets", "AUC-ROC"], ascending=False).reset_index(names="method")
