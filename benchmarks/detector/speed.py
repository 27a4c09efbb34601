"""f. Time of robust covariances at 20,000 rows, 20 columns, 20 % outliers, one thread."""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks.bench import ALONE_ON_ONE_THREAD, Bench
from benchmarks.speed.timing import measure_seconds, time_estimate
from eosparse.comparison.peers import PEERS, explain_missing
from eosparse.comparison.peers.eos import EOS
from eosparse.comparison.runner import Row
from eosparse.datasets import make_contaminated

_REFERENCE = "np.cov"
_ESTIMATORS = (
    EOS, "FastMCD (scikit-learn)", "DetMCD (statsmodels)", "OGK (statsmodels)", "FastMCD (R)",
    "DetMCD (R)", "OGK (R)", "comedian (R)",
)  # fmt: skip
_RUNS, _RUNS_SLOW = 15, 3


def measure(estimator: str, runs: int) -> list[Row]:
    X, _ = make_contaminated(20_000, 20, 0.2, random_state=0)
    if estimator == _REFERENCE:
        times = [measure_seconds(lambda: np.cov(X, rowvar=False)) for _ in range(runs)]
        return [{"estimator": estimator, "seconds": statistics.median(times)}]
    estimates, times = zip(*(time_estimate(PEERS[estimator], X) for _ in range(runs)), strict=True)
    error = np.linalg.norm(estimates[-1].covariance - np.eye(20)) / np.linalg.norm(np.eye(20))
    name = "eosparse" if estimator == EOS else estimator
    return [{"estimator": name, "seconds": statistics.median(times), "error of Σ": error}]


def run(bench: Bench) -> None:
    missing = {name: why for name in _ESTIMATORS if (why := explain_missing(name)) is not None}
    # What takes milliseconds runs more often.
    runs = {_REFERENCE: _RUNS, EOS: _RUNS} | {
        name: max(1, round(_RUNS_SLOW * bench.scale)) for name in _ESTIMATORS if name != EOS
    }
    settings = [
        {"estimator": name, "runs": count} for name, count in runs.items() if name not in missing
    ]
    measured = bench.run_units("detector_f", measure, settings, ALONE_ON_ONE_THREAD)
    seconds = measured.set_index("estimator")["seconds"]
    table = measured[measured["estimator"] != _REFERENCE].copy()
    table["times np.cov"] = table["seconds"] / seconds[_REFERENCE]
    table["times eosparse"] = table["seconds"] / seconds["eosparse"]
    title = "f. Seconds at 20,000 × 20, 20 % outliers, one thread"
    bench.report("detector_f", title, None, table)
    for name, why in missing.items():
        print(f"not run: {name} ({why})")
