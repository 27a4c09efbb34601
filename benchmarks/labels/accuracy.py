"""a to d. Area under the ROC curve on right labels, learned from wrong ones."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

from benchmarks.bench import Bench, count_repetitions
from eosparse.comparison.data_folder import DataFolder
from eosparse.comparison.intervals import compare_pairs, summarise
from eosparse.comparison.label_sets import list_available, split_set
from eosparse.comparison.peers import PEERS, Task, list_peers
from eosparse.comparison.peers.classifiers import PLAIN, score_auc
from eosparse.comparison.runner import Row

_KEY = ["data", "noise", "p"]
# These take seconds per fit or more, and are repeated less often.
SLOW = (
    "forest", "EOS(forest)", "boosting", "EOS(boosting)", "MLP, decay by CV",
    "CleanLearning, C by CV",
)  # fmt: skip
_GROUPS = {
    "fast": tuple(name for name in list_peers(Task.CLASSIFY) if name not in SLOW),
    "slow": SLOW,
    "SPA": ("SPA", "EOS+SPA"),
}
OURS = tuple(PLAIN)
# Beyond this many columns the following take minutes per fit.
_WIDE = 1000
NOT_ON_WIDE = (
    "boosting", "EOS(boosting)", "MLP, decay by CV", "CleanLearning, C by CV",
    "SVM, C by CV", "LDA", "LogReg, C by CV",
)  # fmt: skip
# With this many classes the following are slow: boosting fits one tree per class and round.
_MANY_CLASSES = 5
NOT_ON_MANY_CLASSES = ("boosting", "EOS(boosting)", "CleanLearning, C by CV")


def measure(data: str, noise: str, p: float, repetition: int, group: str) -> list[Row]:
    table = split_set(data, noise, p, repetition)
    rows = []
    for name in _GROUPS[group]:
        if table.X.shape[1] > _WIDE and name in NOT_ON_WIDE:
            continue
        if table.truth.max() >= _MANY_CLASSES and name in NOT_ON_MANY_CLASSES:
            continue
        begun = time.perf_counter()
        try:
            model = PEERS[name].run().fit(table.X, table.given)
            value = score_auc(model, table.X_test, table.y_test)
        except ValueError as error:
            print(f"{name} failed on {data}, p={p}: {error}")
            value = float("nan")
        seconds = time.perf_counter() - begun
        rows.append(
            {"data": data, "noise": noise, "p": p, "repetition": repetition}
            | {"method": name, "auc": value, "seconds": seconds}
        )
    return rows


def _make_settings(
    data: str, noise: str, ps: tuple[float, ...], repetitions: dict[str, int]
) -> list[Row]:
    return [
        {"data": data, "noise": noise, "p": p, "repetition": r, "group": group}
        for p in ps
        for group, count in repetitions.items()
        for r in range(count)
    ]


def compare_auc(raw: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Return differences between two methods on the same splits."""
    return compare_pairs(raw, _KEY, "auc", one, other)


def run_a(bench: Bench) -> None:
    """WDBC on the paper's axis, beside the author's curve."""
    repetitions = {"SPA": count_repetitions(bench.scale, 50, least=3)}
    settings = _make_settings("wdbc", "paper", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6), repetitions)
    raw = bench.run_units("labels_a", measure, settings)
    table = summarise(raw, [*_KEY, "method"], ["auc"])
    wide = table.pivot_table(index="p", columns="method", values=["auc", "auc ±"])
    wide.columns = [f"{method}{' ±' if '±' in what else ''}" for what, method in wide.columns]
    difference = compare_auc(raw, "EOS+SPA", "SPA").set_index("p")
    wide["EOS+SPA - SPA"], wide["difference ±"] = difference["difference"], difference["±"]
    wide["author's EOS+SPA"] = _read_author_curve(wide.index.to_numpy())
    wide["splits"] = difference["splits"]
    bench.report("labels_a", "a. WDBC, paper's axis", raw, wide.reset_index())


def _read_author_curve(ps: np.ndarray) -> np.ndarray:
    data = DataFolder.locate(None)
    if not data.has("paper_figure_values.csv"):
        return np.full(len(ps), np.nan)
    values = pd.read_csv(data.path / "paper_figure_values.csv")
    mine = values[(values["figure"] == "Fig_G") & (values["algorithm"] == "EOS+SPA")]
    return np.interp(ps, mine["x"], mine["y"])


def run_b(bench: Bench) -> None:
    """WDBC, exact flips and flips of one class, all methods (figures b and c)."""
    n = count_repetitions(bench.scale, 50, least=3)
    repetitions = {"fast": n, "slow": n}
    settings = _make_settings("wdbc", "exact", (0.0, 0.1, 0.2, 0.3, 0.4, 0.45), repetitions)
    settings += _make_settings("wdbc", "one class", (0.2, 0.4), repetitions)
    raw = bench.run_units("labels_b", measure, settings)
    _report_areas(bench, "labels_b", "b. WDBC", raw)
    gains = pd.concat([compare_auc(raw, ours, plain) for ours, plain in PLAIN.items()])
    bench.report("labels_c", "c. With EOS minus without, same splits", None, gains)
    _report_best(bench, "labels_b_best", raw)


def run_d(bench: Bench) -> None:
    """The same on other data."""
    usual = {"fast": count_repetitions(bench.scale, 20), "slow": count_repetitions(bench.scale, 8)}
    # Thousands of columns, or ten classes.
    heavy = {"fast": 3, "slow": 2}
    settings = [
        setting
        for data in list_available()
        if data != "wdbc"
        for setting in _make_settings(
            data, "exact", (0.0, 0.2, 0.4), heavy if data in ("pollen2014", "digits") else usual
        )
    ]
    raw = bench.run_units("labels_d", measure, settings)
    _report_areas(bench, "labels_d", "d. Other data", raw)
    gains = pd.concat([compare_auc(raw, ours, plain) for ours, plain in PLAIN.items()])
    bench.report("labels_d_gains", "d. With EOS minus without, same splits", None, gains)


def _report_areas(bench: Bench, name: str, title: str, raw: pd.DataFrame) -> None:
    table = summarise(raw, [*_KEY, "method"], ["auc", "seconds"])
    wide = table.pivot_table(index=["data", "noise", "method"], columns="p", values="auc")
    bench.report(name, f"{title}: areas under the curve", raw, table)
    print("\n" + wide.round(4).to_string(), flush=True)


def _report_best(bench: Bench, name: str, raw: pd.DataFrame) -> None:
    """Report the best of ours at each p against every peer."""
    rows = []
    means = raw.groupby([*_KEY, "method"])["auc"].mean()
    for key, mine in raw.groupby(_KEY):
        best = means[key].reindex(OURS).idxmax()
        peers = [m for m in mine["method"].unique() if m not in OURS and m != "SPA"]
        rows += [compare_auc(mine, best, peer) for peer in peers]
    bench.report(name, "b. Best of ours against every peer, same splits", None, pd.concat(rows))
