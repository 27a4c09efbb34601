"""c. How the time of a fit grows with rows and with columns: exponents of a power law."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.reporting import report
from benchmarks.speed.timing import THREADS, seconds, table
from eosparse import EOSDetector


def run() -> None:
    rows = [_timed(n, 10, "rows") for n in (10**4, 10**5, 10**6, 10**7)]
    sizes = {10: 200_000, 30: 200_000, 100: 200_000, 300: 100_000, 1000: 50_000}
    rows += [_timed(n, d, "columns") for d, n in sizes.items()]
    result = pd.DataFrame(rows)
    for what, size in (("rows", "rows"), ("columns", "columns")):
        part = result[result["along"] == what]
        # Per row: tables with many columns have fewer rows, to fit into memory.
        time = part["seconds"] if what == "rows" else part["seconds"] / part["rows"]
        slope = np.polyfit(np.log(part[size]), np.log(time), 1)[0]
        result.loc[result["along"] == what, "exponent"] = slope
    report("speed_c", "c. Growth of the time of a fit", None, result)


def _timed(n_rows: int, n_columns: int, along: str) -> dict[str, object]:
    X = table(n_rows, n_columns)
    detector = EOSDetector()
    detector.fit(table(10_000, 5))  # compiled code is loaded once
    runs = [seconds(lambda: detector.fit(X)) for _ in range(1 if n_columns > 100 else 5)]
    return {
        "along": along,
        "rows": n_rows,
        "columns": n_columns,
        "seconds": float(np.median(runs)),
        "passes": detector.n_iter_,
        "threads": THREADS,
    }
