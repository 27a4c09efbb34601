"""e. Finding the wrong labels: average precision of rankings, and their times."""

from __future__ import annotations

from benchmarks.bench import Bench, count_repetitions
from eosparse.comparison.intervals import summarise
from eosparse.comparison.label_sets import list_available
from eosparse.comparison.panels.labels import RANKINGS, find_wrong_labels
from eosparse.comparison.runner import Row

_DATA = ("wdbc", "heart_failure", "neurons", "wine", "digits")


def measure(data: str, p: float, learner: str, repetition: int) -> list[Row]:
    setting = {"data": data, "p": p, "learner": learner}
    return [
        setting | {"method": name} | find_wrong_labels(setting, name, repetition)
        for name in RANKINGS
    ]


def run(bench: Bench) -> None:
    settings = [
        {"data": data, "p": p, "learner": learner, "repetition": r}
        for data in list_available()
        if data in _DATA
        for p in (0.05, 0.2, 0.4)
        for learner in ("LogReg", "forest")
        # Ten classes take longer.
        for r in range(count_repetitions(bench.scale, 12 if data != "digits" else 3))
    ]
    raw = bench.run_units("labels_e", measure, settings)
    table = summarise(raw, ["data", "learner", "p", "method"], ["average precision", "seconds"])
    bench.report("labels_e", "e. Finding the wrong labels", raw, table)
