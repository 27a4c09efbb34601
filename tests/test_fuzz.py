"""Every fit keeps its promises on tables with ties, heaps, copies and enormous cells.

The tables of the fuzz (`python -m benchmarks.fuzz`) are real; these are made to look like them.
"""

import numpy as np
import pandas as pd
import pytest
from benchmarks.fuzz.__main__ import run_fit
from benchmarks.fuzz.promises import ESTIMATORS, MIXED, RELATIONS, WITH_GAPS, check_promises
from benchmarks.fuzz.subtables import TWISTS, punch_gaps, read_tables, twist

from eosparse.comparison.data_folder import DataFolder

# Many fits of the same lines: counting these takes as long as the fits.
pytestmark = pytest.mark.no_cover
NAMES = [name for name in ESTIMATORS if name not in MIXED]
N_OF_REAL_TABLES = 24


def look_alike(rng, n_rows):
    """Counts, prices, ages, shares and codes, some of which depend on each other."""
    size = rng.normal(size=n_rows)
    columns = [
        np.round(40 + 12 * rng.normal(size=n_rows)),
        np.round(np.exp(6 + size + 0.3 * rng.normal(size=n_rows)), 2),
        rng.poisson(2.0, n_rows),
        np.round(rng.beta(2, 5, n_rows), 3),
        rng.integers(1, 5, n_rows),
        3.5 * size + rng.standard_t(4, n_rows),
    ]
    chosen = rng.choice(len(columns), int(rng.integers(2, len(columns) + 1)), replace=False)
    return np.column_stack([columns[i] for i in chosen]).astype(np.float64)


@pytest.mark.parametrize("kind", TWISTS)
@pytest.mark.parametrize("name", NAMES)
def test_twisted_tables(name, kind):
    place = [NAMES.index(name), list(TWISTS).index(kind)]
    rng = np.random.default_rng(place)
    table = twist(look_alike(rng, int(rng.integers(20, 120))), [kind], rng)
    check_promises(name, list(RELATIONS)[sum(place) % len(RELATIONS)], table, rng)


@pytest.mark.parametrize("kind", TWISTS)
def test_twisted_frames(kind):
    place = list(TWISTS).index(kind)
    rng = np.random.default_rng(place)
    table = twist(look_alike(rng, int(rng.integers(20, 120))), [kind], rng)
    labels = pd.DataFrame({"town": rng.choice(["Rome", "Oslo", "Lima"], len(table))})
    check_promises(MIXED[place % 4], list(RELATIONS)[place // 2], table, rng, labels)


@pytest.mark.parametrize("name", WITH_GAPS)
def test_tables_with_gaps(name):
    place = WITH_GAPS.index(name)
    rng = np.random.default_rng(place)
    table = punch_gaps(look_alike(rng, 60), rng)
    check_promises(name, list(RELATIONS)[place % len(RELATIONS)], table, rng)


def test_parts_of_real_tables():
    tables = read_tables(DataFolder.locate(None).path / "tables")
    if not tables:
        pytest.skip("EOSPARSE_DATA names no folder with tables/*.csv.gz")
    outcomes = [run_fit(tables, 0, number) for number in range(N_OF_REAL_TABLES)]
    assert {outcome for _, outcome, _ in outcomes} <= {"answered", "refused"}
