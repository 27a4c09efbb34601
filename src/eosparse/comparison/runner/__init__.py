"""The one resumable runner: grids of units, which survive a kill of the process."""

from eosparse.comparison.runner.grid import (
    FAILED,
    OK,
    TOO_SLOW,
    Grid,
    Plan,
    Row,
    Setting,
    Unit,
    Work,
)
from eosparse.comparison.runner.schedule import Schedule
from eosparse.comparison.runner.store import Store, StoreError
from eosparse.comparison.runner.workers import Observer, Standing, Workers, run_grids

__all__ = [
    "FAILED",
    "OK",
    "TOO_SLOW",
    "Grid",
    "Observer",
    "Plan",
    "Row",
    "Schedule",
    "Setting",
    "Standing",
    "Store",
    "StoreError",
    "Unit",
    "Work",
    "Workers",
    "run_grids",
]
