"""Where a climb of the ladder ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eosparse.fitting.judge import Judge
from eosparse.fitting.white_sample import WhiteSample
from eosparse.inference import Group, Promise, TailCheck
from eosparse.models import Fit
from eosparse.rows import ColumnKind, Table


@dataclass(frozen=True)
class Climb:
    """A fit of the rung that was taken, and what can be said about it.

    Attributes
    ----------
    fit : Fit
        The fit.
    judge : Judge
        Its law and cut-off.
    distances : Table
        Distance of each row.
    rung : str or None
        Name of the rung; None for a model that was asked for.
    reason : str
        Why this rung, in a sentence.
    promise : Promise
        Whether a false-discovery rate can be promised.
    columns : tuple of ColumnKind
        What the columns hold.
    check : TailCheck
        How well the rows follow the law.
    groups : tuple of Group
        Groups of rows that sit apart.
    misfits : dict
        How far each bent column is from the law that it is bent to, among rows that belong.
    rows : WhiteSample or None
        The sample as the fit whitens it.
    """

    fit: Fit[Any]
    judge: Judge
    distances: Table
    rung: str | None
    reason: str
    promise: Promise
    columns: tuple[ColumnKind, ...]
    check: TailCheck
    groups: tuple[Group, ...] = ()
    misfits: Mapping[str, float] = field(default_factory=dict)
    rows: WhiteSample | None = None
