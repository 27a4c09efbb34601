"""e. Finding the wrong labels: average precision of rankings, and their times."""

from __future__ import annotations

from benchmarks.reporting import Row, report, run_resumable, summarise
from eosparse.comparison.label_sets import available
from eosparse.comparison.labels import RANKINGS, find_wrong


def unit(data: str, p: float, learner: str, repetition: int) -> list[Row]:
    setting = {"data": data, "p": p, "learner": learner}
    return [setting | {"method": name} | find_wrong(setting, name, repetition) for name in RANKINGS]


def run(scale: float) -> None:
    settings = [
        {"data": data, "p": p, "learner": learner, "repetition": r}
        for data in available()
        if data in ("wdbc", "heart_failure", "neurons", "wine", "digits")
        for p in (0.05, 0.2, 0.4)
        for learner in ("LogReg", "forest")
        for r in range(max(2, round((12 if data != "digits" else 3) * scale)))
    ]
    raw = run_resumable("labels_e", unit, settings)
    by = ["data", "learner", "p", "method"]
    table = summarise(raw, by, ["average precision", "seconds"])
    report("labels_e", "e. Finding the wrong labels", raw, table)
