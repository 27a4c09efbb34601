"""The peers DDC and cellMCD, of the Python package robpy, in an environment of their own.

robpy needs an older NumPy than ours. ``EOSPARSE_ROBPY`` names the Python of an environment with
robpy in it; without, these peers are left out. (R's cellWise, which robpy follows, is on CRAN.)
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from eosparse.core import FloatArray

_SCRIPT = """
import sys, time, warnings
import numpy as np, pandas as pd
warnings.simplefilter("ignore")
X, method = np.load(sys.argv[1]), sys.argv[2]
begun, work = time.perf_counter(), time.process_time()
if method == "cellMCD":
    from robpy.covariance.cellmcd import CellMCD
    model = CellMCD()
    model.fit(X.copy())
    found = dict(wrong=model.W == 0, covariance=model.covariance_, expected=model.predictions)
else:
    from robpy.outliers.ddc import DDC
    frame = pd.DataFrame(X)
    model = DDC().fit(frame)
    wrong = np.asarray(model.cellwise_outliers_).astype(bool)
    filled = np.asarray(model.impute(frame, impute_outliers=True), dtype=float)
    found = dict(wrong=wrong, covariance=np.cov(filled.T), expected=filled)
work = time.process_time() - work
np.savez(sys.argv[3], seconds=time.perf_counter() - begun, work=work, **found)
"""


def has_robpy() -> bool:
    """Whether an environment with robpy is named."""
    return bool(os.environ.get("EOSPARSE_ROBPY"))


def keep_peers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a figure with the peers of an earlier run, of the same tables, if there are none."""
    if has_robpy() or not path.exists():
        return table
    before = pd.read_csv(path)
    return pd.concat([table, before[~before["method"].isin(table["method"])]], ignore_index=True)


def run_robpy(X: FloatArray, method: str, limit: float = 1800.0) -> dict[str, np.ndarray] | None:
    """Return wrong cells, covariance, expected values and times; None if the peer fails.

    `seconds` are those of a clock, `work` those of the processor.
    """
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "X.npy", Path(folder) / "found.npz"
        np.save(given, X)
        command = [os.environ["EOSPARSE_ROBPY"], "-c", _SCRIPT, str(given), method, str(found)]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        try:
            subprocess.run(command, check=True, timeout=limit, capture_output=True, env=environment)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        return dict(np.load(found))
