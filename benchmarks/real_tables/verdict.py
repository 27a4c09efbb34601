"""What our detector says about a table, in the same words for all figures.

`EOSDetector` is fitted to the table as it is. Where it refuses text, it gets the columns of
numbers, and the verdict says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.real_tables.spoil import list_numbers
from eosparse import EOSDetector
from eosparse.core import BoolArray, FloatArray

OURS, GAUSSIAN = "eosparse", "eosparse, one Gaussian"
# What a detector was given.
TABLE, NUMBERS = "table", "numbers"
YES, NO, UNKNOWN = "yes", "no", "not said"


@dataclass(frozen=True)
class Verdict:
    """What a detector says about a table.

    Attributes
    ----------
    scores : array of shape (n_rows,)
        Higher is more outlying.
    flagged : array of bool of shape (n_rows,)
        Rows that are called outliers.
    rung : str
        The model it has settled for.
    promise : {"yes", "no", "not said"}
        Whether it claims its false-discovery rate.
    sentence : str
        Why, in its own words.
    given : {"table", "numbers"}
        What it was fitted to.
    """

    scores: FloatArray
    flagged: BoolArray
    rung: str
    promise: str
    sentence: str
    given: str


def judge_frame(frame: pd.DataFrame, **options: Any) -> Verdict:
    """Fit the detector to a table as people have it, or else to its numbers."""
    try:
        return judge_table(frame, given=TABLE, **options)
    except (TypeError, ValueError):
        numbers = frame[list_numbers(frame)]
        if numbers.shape[1] == frame.shape[1]:
            raise
        return judge_table(numbers, **options)


def judge_table(X: FloatArray | pd.DataFrame, *, given: str = NUMBERS, **options: Any) -> Verdict:
    """Fit the detector, and read what it says about the rows that it was fitted to."""
    detector = EOSDetector(**options).fit(X)
    # An overflown score means that its row is as outlying as can be.
    scores = -np.clip(np.asarray(detector.score_samples(X)), -1e300, 1e300)
    promise = getattr(detector, "promise_", None)
    return Verdict(
        scores,
        np.asarray(detector.is_outlier_),
        rung=str(getattr(detector, "rung_", UNKNOWN)),
        promise=UNKNOWN if promise is None else (YES if promise else NO),
        sentence="" if promise is None else str(getattr(promise, "sentence", promise)),
        given=given,
    )
