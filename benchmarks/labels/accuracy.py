"""a to d. Area under the ROC curve on right labels, learned from wrong ones."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.reporting import Row, report, run_resumable, summarise
from eosparse.comparison import intervals
from eosparse.comparison.classifiers import (
    FAST,
    NOT_ON_MANY_CLASSES,
    NOT_ON_WIDE,
    OURS,
    PLAIN,
    SLOW,
    area,
)
from eosparse.comparison.label_sets import available, split

_KEY = ["data", "noise", "p"]


def unit(data: str, noise: str, p: float, repetition: int, group: str) -> list[Row]:
    methods = {"fast": FAST, "slow": SLOW, "SPA": {k: FAST[k] for k in ("SPA", "EOS+SPA")}}[group]
    table = split(data, noise, p, repetition)
    rows = []
    for name, make in methods.items():
        if table.X.shape[1] > 1000 and name in NOT_ON_WIDE:
            continue
        if table.truth.max() > 4 and name in NOT_ON_MANY_CLASSES:
            continue
        begun = time.perf_counter()
        try:
            value = area(make().fit(table.X, table.given), table.X_test, table.y_test)
        except ValueError as error:
            print(f"{name} failed on {data}, p={p}: {error}")
            value = float("nan")
        seconds = time.perf_counter() - begun
        rows.append(
            {"data": data, "noise": noise, "p": p, "repetition": repetition}
            | {"method": name, "auc": value, "seconds": seconds}
        )
    return rows


def _settings(data: str, noise: str, ps: tuple[float, ...], fast: int, slow: int) -> list[Row]:
    return [
        {"data": data, "noise": noise, "p": p, "repetition": r, "group": group}
        for p in ps
        for group, n in (("fast", fast), ("slow", slow))
        for r in range(n)
    ]


def paired(raw: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Differences between two methods on the same splits."""
    return intervals.paired(raw, _KEY, "auc", one, other)


def run_a(scale: float) -> None:
    """WDBC on the paper's axis, beside the author's curve."""
    settings = [
        {"data": "wdbc", "noise": "paper", "p": p, "repetition": r, "group": "SPA"}
        for p in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
        for r in range(max(3, round(50 * scale)))
    ]
    raw = run_resumable("labels_a", unit, settings)
    table = summarise(raw, [*_KEY, "method"], ["auc"])
    wide = table.pivot_table(index="p", columns="method", values=["auc", "auc ±"])
    wide.columns = [f"{method}{' ±' if '±' in what else ''}" for what, method in wide.columns]
    difference = paired(raw, "EOS+SPA", "SPA").set_index("p")
    wide["EOS+SPA - SPA"], wide["difference ±"] = difference["difference"], difference["±"]
    wide["author's EOS+SPA"] = _authors_curve(wide.index.to_numpy())
    wide["splits"] = difference["splits"]
    report("labels_a", "a. WDBC, paper's axis", raw, wide.reset_index())


def _authors_curve(ps: np.ndarray) -> np.ndarray:
    path = Path(os.environ.get("EOSPARSE_DATA", "")) / "paper_figure_values.csv"
    if not path.exists():
        return np.full(len(ps), np.nan)
    values = pd.read_csv(path)
    mine = values[(values["figure"] == "Fig_G") & (values["algorithm"] == "EOS+SPA")]
    return np.interp(ps, mine["x"], mine["y"])


def run_b(scale: float) -> None:
    """WDBC, exact flips and flips of one class, all methods (figures b and c)."""
    n = max(3, round(50 * scale))
    settings = _settings("wdbc", "exact", (0.0, 0.1, 0.2, 0.3, 0.4, 0.45), n, n)
    settings += _settings("wdbc", "one class", (0.2, 0.4), n, n)
    raw = run_resumable("labels_b", unit, settings)
    _report_areas("labels_b", "b. WDBC", raw)
    gains = pd.concat([paired(raw, ours, plain) for ours, plain in PLAIN.items()])
    report("labels_c", "c. With EOS less without, same splits", None, gains)
    _report_best("labels_b_best", raw)


def run_d(scale: float) -> None:
    """The same on other data."""
    fast, slow = max(2, round(20 * scale)), max(2, round(8 * scale))
    settings = [
        setting
        for data in available()
        if data != "wdbc"
        for setting in _settings(
            data,
            "exact",
            (0.0, 0.2, 0.4),
            *((3, 2) if data in ("pollen2014", "digits") else (fast, slow)),
        )
    ]
    raw = run_resumable("labels_d", unit, settings)
    _report_areas("labels_d", "d. Other data", raw)
    gains = pd.concat([paired(raw, ours, plain) for ours, plain in PLAIN.items()])
    report("labels_d_gains", "d. With EOS less without, same splits", None, gains)


def _report_areas(name: str, title: str, raw: pd.DataFrame) -> None:
    table = summarise(raw, [*_KEY, "method"], ["auc", "seconds"])
    wide = table.pivot_table(index=["data", "noise", "method"], columns="p", values="auc")
    report(name, f"{title}: areas under the curve", raw, table)
    print("\n" + wide.round(4).to_string(), flush=True)


def _report_best(name: str, raw: pd.DataFrame) -> None:
    """Best of ours at each p against every peer."""
    rows = []
    means = raw.groupby([*_KEY, "method"])["auc"].mean()
    for key, mine in raw.groupby(_KEY):
        best = means[key].reindex(OURS).idxmax()
        peers = [m for m in mine["method"].unique() if m not in OURS and m != "SPA"]
        rows += [paired(mine, best, peer) for peer in peers]
    report(name, "b. Best of ours against every peer, same splits", None, pd.concat(rows))
