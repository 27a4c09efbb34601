"""Fit a detector to the cells of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eosparse.core import Status
from eosparse.rows import Kind
from eosparse.tables.cells import Cells
from eosparse.tables.columns import Column, Role, leave_out

if TYPE_CHECKING:
    from eosparse.estimators import EOSDetector


def suit_model(columns: Sequence[Column], detector: EOSDetector) -> list[Column]:
    """Leave out the columns that the model of a detector cannot take."""
    if detector.model == "gaussian":
        return leave_out(columns, "one Gaussian takes only numbers", Role.CATEGORY, Role.DATE)
    return list(columns)


def fit_cells(detector: EOSDetector, cells: Cells) -> None:
    """Fit a detector; text is a category here whatever it looks like, unless you said otherwise."""
    text = [name for name in cells.names if cells.frame[name].dtype == "category"]
    given = {name: kind for name, kind in (detector.kinds or {}).items() if name in cells.names}
    detector.set_params(kinds=dict.fromkeys(text, Kind.CATEGORY) | given).fit(cells.frame)
    stop_if_interrupted(detector)


def stop_if_interrupted(detector: EOSDetector) -> None:
    """Raise `KeyboardInterrupt` again if a fit ended by it: nobody waits for the result."""
    if detector.status_ is Status.INTERRUPTED:
        raise KeyboardInterrupt
