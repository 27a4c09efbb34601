"""Estimators of R's robust packages, where Rscript and the package are installed."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextvars import ContextVar
from functools import cache
from pathlib import Path

import numpy as np

from eosparse.comparison.peers.outcomes import Estimate
from eosparse.core import FloatArray

_SCRIPT = """
suppressPackageStartupMessages(library(%s))
arguments <- commandArgs(TRUE)
n <- as.integer(arguments[2]); d <- as.integer(arguments[3])
X <- matrix(readBin(arguments[1], "double", n * d), n, d)
set.seed(as.integer(arguments[5]))
clock <- system.time(fit <- %s)
seconds <- clock[["user.self"]] + clock[["sys.self"]]
writeBin(c(seconds, as.double(fit$center), as.double(fit$cov)), arguments[4])
"""
# Seconds of processor time that R may take; None for no limit.
R_LIMIT: ContextVar[float | None] = ContextVar("R_LIMIT", default=None)
# Exit codes of a process that the system stopped because of its processor time.
_OVER_LIMIT = tuple(
    -getattr(signal, name) for name in ("SIGXCPU", "SIGKILL") if hasattr(signal, name)
)


@cache
def explain_missing_in_r(package: str) -> str | None:
    """Return what is missing to use an R package; None if nothing is.

    Examples
    --------
    >>> explain_missing_in_r("no.such.package") is None
    False
    """
    if shutil.which("Rscript") is None:
        return "Rscript is not installed"
    command = ["Rscript", "-e", f"quit(status = !requireNamespace('{package}', quietly = TRUE))"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return f"R has no package {package}: install.packages('{package}')"
    return None


def fit_in_r(X: FloatArray, package: str, expression: str, seed: int) -> Estimate:
    """Estimate location and covariance of a table in R.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The table, which is ``X`` in R too.
    package : str
        The R package to load.
    expression : str
        R code that returns a list with ``center`` and ``cov``.
    seed : int
        The seed of R's random numbers.

    Returns
    -------
    Estimate
        With the processor time that R measured.
    """
    n, d = X.shape
    with tempfile.TemporaryDirectory() as folder:
        data, script, answer = (Path(folder) / name for name in ("data", "fit.R", "answer"))
        # R stores a table column by column.
        np.ascontiguousarray(X.T, dtype=np.float64).tofile(data)
        script.write_text(_SCRIPT % (package, expression))
        command = ["Rscript", str(script), str(data), str(n), str(d), str(answer), str(seed)]
        done = subprocess.run(_limit_time(command), capture_output=True, text=True, check=False)
        if done.returncode in _OVER_LIMIT:
            raise subprocess.TimeoutExpired(command, R_LIMIT.get() or 0.0)
        if done.returncode != 0:
            raise RuntimeError(f"R failed: {_extract_error(done.stderr)}")
        seconds, *rest = np.fromfile(answer)
    return Estimate(np.array(rest[:d]), np.array(rest[d:]).reshape(d, d), float(seconds))


def _limit_time(command: list[str]) -> list[str]:
    """Limit the processor time: R then stops by itself, even if its parent was killed."""
    limit = R_LIMIT.get()
    if limit is None or os.name != "posix":
        return command
    return ["sh", "-c", f'ulimit -t {math.ceil(limit)}; exec "$@"', "sh", *command]


def _extract_error(message: str) -> str:
    """Return R's error without its calls, which differ from run to run."""
    _, found, rest = message.partition("Error")
    message = re.split("Calls:|Timing stopped", f"{found}{rest}" if found else message)[0]
    return " ".join(message.split())[:150]
