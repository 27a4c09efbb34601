"""What figure d measures, in a process of its own: it imports no more than it needs."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds

from eosparse import EOSDetector, open_rows
from eosparse.core import visit


def print_measures(what: str, folder: str) -> None:
    """Print the peak memory and, of a fit, its times."""

    def find_peak() -> float:
        """Return the peak of resident memory; getrusage would count that of the parent."""
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))

    if what == "fit":
        rows, detector = open_rows(folder), EOSDetector()
        begun = time.perf_counter()
        detector.fit(rows)
        print(f"fit, s={time.perf_counter() - begun}")
        print(f"passes={detector.n_iter_}")
        print(f"peak MB={find_peak()}")
        stored = rows.prepare_with(np.asarray)
        passes, scans = [], []
        for _ in range(3):
            begun = time.perf_counter()
            for _ in ds.dataset(folder).to_batches():
                pass
            scans.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            visit(detector.model_, stored, detector.theta_, detector.alpha_)
            passes.append(time.perf_counter() - begun)
        print(f"a pass, s={np.median(passes)}")
        print(f"a bare scan, s={np.median(scans)}")
        print(f"pass / scan={np.median(np.array(passes) / np.array(scans))}")
    else:
        print(f"peak MB={find_peak()}")
