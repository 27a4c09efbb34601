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
# Seconds of processor time that R may take, if there is a limit.
R_LIMIT: ContextVar[float | None] = ContextVar("R_LIMIT", default=None)
# How a process ends that the system stopped for its processor time.
_OVER_LIMIT = tuple(
    -getattr(signal, name) for name in ("SIGXCPU", "SIGKILL") if hasattr(signal, name)
)


@cache
def missing_in_r(package: str) -> str | None:
    """Say what is missing to use an R package; None if nothing is."""
    if shutil.which("Rscript") is None:
        return "Rscript is not installed"
    command = ["Rscript", "-e", f"quit(status = !requireNamespace('{package}', quietly = TRUE))"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return f"R has no package {package}: install.packages('{package}')"
    return None


def fitted_in_r(
    X: FloatArray, package: str, expression: str, seed: int
) -> tuple[FloatArray, FloatArray, float]:
    """Return location, covariance and R's processor time of an estimator of the table X."""
    n, d = X.shape
    with tempfile.TemporaryDirectory() as folder:
        data, script, answer = (Path(folder) / name for name in ("data", "fit.R", "answer"))
        # A table in R lies column after column.
        np.ascontiguousarray(X.T, dtype=np.float64).tofile(data)
        script.write_text(_SCRIPT % (package, expression))
        command = ["Rscript", str(script), str(data), str(n), str(d), str(answer), str(seed)]
        done = subprocess.run(_limited(command), capture_output=True, text=True, check=False)
        if done.returncode in _OVER_LIMIT:
            raise subprocess.TimeoutExpired(command, R_LIMIT.get() or 0.0)
        if done.returncode != 0:
            raise RuntimeError(f"R says: {_error_of(done.stderr)}")
        seconds, *rest = np.fromfile(answer)
    return np.array(rest[:d]), np.array(rest[d:]).reshape(d, d), float(seconds)


def _limited(command: list[str]) -> list[str]:
    """Bound the processor time: R stops by itself, also when its parent was killed."""
    limit = R_LIMIT.get()
    if limit is None or os.name != "posix":
        return command
    return ["sh", "-c", f'ulimit -t {math.ceil(limit)}; exec "$@"', "sh", *command]


def _error_of(message: str) -> str:
    """Return R's error without what it was called from, which differs from run to run."""
    _, found, rest = message.partition("Error")
    told = re.split("Calls:|Timing stopped", f"{found}{rest}" if found else message)[0]
    return " ".join(told.split())[:150]
