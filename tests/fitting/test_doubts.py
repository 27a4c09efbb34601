"""Reasons not to promise a rate: rows count by their prior weights."""

import numpy as np
import pytest

from eosparse.fitting.doubts import _doubt_counts
from eosparse.rows import ColumnKind, Kind

COLUMNS = (ColumnKind("counts", Kind.NUMBER, "numbers"),)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_rows_that_count_several_times_are_that_many_rows(times):
    values = np.tile(np.arange(10.0), 8)[:, None]
    weighted = _doubt_counts(values, np.full(80, float(times)), COLUMNS)
    repeated = _doubt_counts(np.repeat(values, times, axis=0), np.ones(80 * times), COLUMNS)
    assert weighted == repeated
    assert (weighted is None) == (times == 1)


def test_a_column_of_many_values_is_not_doubted():
    assert _doubt_counts(np.arange(200.0)[:, None], np.ones(200), COLUMNS) is None
