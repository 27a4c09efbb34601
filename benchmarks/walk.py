"""The walk of a row: every function of eosparse that one fit, or one command, passes through.

``python -m benchmarks.walk`` counts them for ``EOSDetector().fit(X)`` and ``eosparse detect``, on a
table of 500 rows and 5 columns; ``--list`` names them in the order of their first call. Functions
within functions count with the one around them, and a first run loads what is imported lazily.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas as pd

import eosparse

ROOT = Path(eosparse.__file__).parent
LAYERS = (
    "core",
    "rows",
    "inference",
    "models",
    "fitting",
    "estimators",
    "tables",
    "report",
    "cli",
)


def collect_functions(run: Callable[[], Any]) -> tuple[list[str], Counter[str]]:
    """Return the functions that a run passes through, and the layers entered from one below."""
    seen: dict[CodeType, str] = {}
    upward: Counter[str] = Counter()

    def record(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not (name := name_function(frame.f_code)):
            return
        seen.setdefault(frame.f_code, name)
        caller = frame.f_back
        while caller is not None and not name_function(caller.f_code):
            caller = caller.f_back
        if caller is not None and rank(caller.f_code) < rank(frame.f_code):
            upward[f"{find_layer(caller.f_code)} -> {name}"] += 1

    threading.setprofile(record)
    sys.setprofile(record)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(dict.fromkeys(seen.values())), upward


def name_function(code: CodeType) -> str:
    """Return file and name of a function of eosparse; empty for all other code."""
    is_function = code.co_flags & 1 and not code.co_name.startswith("<")
    if not is_function or "<locals>" in code.co_qualname:
        return ""
    path = Path(code.co_filename)
    return f"{path.relative_to(ROOT)} {code.co_qualname}" if path.is_relative_to(ROOT) else ""


def find_layer(code: CodeType) -> str:
    """Return the folder that a function is in."""
    return Path(code.co_filename).relative_to(ROOT).parts[0]


def rank(code: CodeType) -> int:
    """Return how high the layer of a function is."""
    layer = find_layer(code)
    return LAYERS.index(layer) if layer in LAYERS else len(LAYERS)


def make_walks() -> dict[str, Callable[[], Any]]:
    """Return what to run: a fit, and the command."""
    from eosparse import EOSDetector
    from eosparse.cli import main

    X = np.random.default_rng(0).normal(size=(500, 5))
    X[:10] += 8
    path = Path(tempfile.mkdtemp()) / "table.csv"
    pd.DataFrame(X, columns=list("abcde")).to_csv(path, index=False)

    def run_command() -> None:
        sys.argv = ["eosparse", "detect", str(path)]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main()

    return {"EOSDetector().fit(X)": lambda: EOSDetector().fit(X), "eosparse detect": run_command}


def main() -> None:
    """Print how many functions each walk passes through, by layer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the functions")
    arguments = parser.parse_args()
    for name, run in make_walks().items():
        run()  # loads what is imported lazily
        functions, upward = collect_functions(run)
        folders = Counter(function.split("/")[0] for function in functions)
        parts = ", ".join(
            f"{layer} {folders[layer]}" for layer in reversed(LAYERS) if folders[layer]
        )
        print(f"{name}: {len(functions)} functions ({parts})")
        above = sorted({call for call in upward if not call.startswith(("core ->", "rows ->"))})
        print(f"  layers entered from a lower one, beside the loop's: {', '.join(above) or 'none'}")
        if arguments.list:
            print(*(f"  {function}" for function in functions), sep="\n")


if __name__ == "__main__":
    main()
