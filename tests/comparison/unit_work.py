"""Work for units that other processes can import, and a run of it that can be killed."""

import os
import sys
import time
from pathlib import Path

from eosparse.comparison.runner import Grid, Plan, Store, Workers, run_grids


def note(setting, method, repetition):
    """Leave a trace of every start: a unit that runs twice leaves two."""
    with Path(setting["trace"]).open("a") as file:
        file.write(f"{setting['x']} {method} {repetition}\n")
    if method == "slow":
        time.sleep(60)
    if method == "busy":
        sum(range(10**12))  # never returns to the interpreter, like compiled code
    if method == "broken":
        raise ValueError("does not\nwork")
    if method == "dies":
        os._exit(3)
    time.sleep(setting.get("seconds", 0.0))
    return {"value": setting["x"] + repetition, "seconds": 0.1}


def square(x, folder):
    """Leave a trace, and fail for 1 while there is a file ``fail``."""
    with (Path(folder) / "trace").open("a") as file:
        file.write(f"{x}\n")
    if x == 1 and (Path(folder) / "fail").exists():
        raise ValueError("one")
    return [{"x": x, "square": x * x}]


def grid(folder, methods=("good",), *, n_settings=2, seconds=0.0, **options):
    settings = tuple(
        {"x": x, "trace": str(Path(folder) / "trace"), "seconds": seconds}
        for x in range(n_settings)
    )
    return Grid("g", settings, methods, note, **options)


def main(folder):
    store = Store(Path(folder))
    with store.open({"version": 1}):
        plan = Plan(repetitions=10, least=10, budget=100.0, limit=30.0)
        run_grids([grid(folder, n_settings=3, seconds=0.15)], plan, store, Workers(2))


if __name__ == "__main__":
    main(sys.argv[1])
