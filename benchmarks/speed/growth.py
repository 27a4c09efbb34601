"""c. How the time of a fit grows with rows and with columns: exponents of a power law.

The exponent in rows is the slope of a least-squares line through log seconds against log rows;
that in columns, of log seconds per row against log columns.
"""

from __future__ import annotations

import numpy as np

from benchmarks.bench import ALONE, Bench
from benchmarks.speed.timing import THREADS, make_table, measure_seconds
from eosparse import EOSDetector
from eosparse.comparison.runner import Row

_ROWS = (10**4, 10**5, 10**6, 10**7)
# Fewer rows of many columns, so that they fit into memory.
_ROWS_OF_COLUMNS = {10: 200_000, 30: 200_000, 100: 200_000, 300: 100_000, 1000: 50_000}

# The largest exponent in columns that we accept: a pass alone has an exponent of 2.
_WANTED = 2.2


def measure(n_rows: int, n_columns: int, along: str) -> list[Row]:
    X = make_table(n_rows, n_columns)
    detector = EOSDetector()
    detector.fit(make_table(10_000, 5))  # loads compiled code
    # A fit with many columns takes many seconds, and varies little.
    runs = [measure_seconds(lambda: detector.fit(X)) for _ in range(1 if n_columns > 100 else 5)]
    return [
        {
            "along": along,
            "rows": n_rows,
            "columns": n_columns,
            "seconds": float(np.median(runs)),
            "passes": detector.n_iter_,
            "threads": THREADS,
        }
    ]


def run(bench: Bench) -> None:
    sizes = [(n, 10, "rows") for n in _ROWS]
    sizes += [(n, d, "columns") for d, n in _ROWS_OF_COLUMNS.items()]
    settings = [
        {"n_rows": max(4 * d, round(bench.scale * n)), "n_columns": d, "along": along}
        for n, d, along in sizes
    ]
    result = bench.run_units("speed_c", measure, settings, ALONE)
    for along in ("rows", "columns"):
        part = result[result["along"] == along]
        # Per row, because tables with many columns have fewer rows.
        time = part["seconds"] if along == "rows" else part["seconds"] / part["rows"]
        slope = np.polyfit(np.log(part[along]), np.log(time), 1)[0]
        result.loc[result["along"] == along, "exponent"] = slope
    result["wanted"] = result["along"].map({"columns": _WANTED})
    bench.report("speed_c", "c. Growth of the time of a fit", None, result)
