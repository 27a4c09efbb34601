import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from eosparse.rows import find_ranges


def find_outside(column, mass=None, *, are_levels=False):
    rows = np.asarray(column, dtype=float)[:, None]
    mass = np.ones(len(rows)) if mass is None else mass
    return find_ranges(rows, mass, (0,), (0,) if are_levels else ()).is_outside(rows)


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "counts": lambda rng, n: rng.poisson(0.3, n).astype(float),
    "0/1": lambda rng, n: (rng.random(n) < 0.3).astype(float),
    "zeros": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, rng.gamma(2, size=n)),
    "two groups": lambda rng, n: rng.choice([-9.0, 9.0], n) + rng.normal(size=n),
}


@pytest.mark.parametrize("law", LAWS)
def test_clean_columns_lie_within_their_range(law):
    rng = np.random.default_rng(0)
    tables = [LAWS[law](rng, n) for n in (100, 300, 3000) for _ in range(20)]
    assert sum(find_outside(column).any() for column in tables) <= 1


@pytest.mark.parametrize("law", [law for law in LAWS if law != "two groups"])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.2])
def test_values_beyond_a_wide_gap_are_outside_however_many(law, share):
    rng = np.random.default_rng(1)
    column = LAWS[law](rng, 500)
    wrong = rng.random(500) < share
    column[wrong] = np.ptp(column) * rng.uniform(5, 7, wrong.sum())
    np.testing.assert_array_equal(find_outside(column), wrong)


@example([0, 0, 0, -1, -1, -1, -2, -2, 3, 3], 0, 1)  # two medians
@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=40),
    st.integers(-100, 100),
    st.integers(1, 4),
)
def test_units_and_copies_do_not_matter(column, shift, copies):
    column = np.array(column, dtype=float)
    outside = find_outside(column)
    np.testing.assert_array_equal(find_outside(-column), outside)
    np.testing.assert_array_equal(find_outside(16.0 * column + shift), outside)
    np.testing.assert_array_equal(find_outside(np.tile(column, copies))[: len(column)], outside)
    mass = np.full(len(column), float(copies))
    np.testing.assert_array_equal(find_outside(column, mass), outside)
    assert outside.mean() <= 0.5


def test_a_row_is_judged_by_its_worst_column():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))
    ranges = find_ranges(rows, np.ones(300), (0, 2))
    new = np.array([[0.0, 0.0, 40.0], [0.0, 0.0, -80.0], [0.0, 99.0, 0.0], [np.nan, 0.0, 0.0]])
    assert ranges.is_outside(new).tolist() == [True, True, False, False]
    assert ranges.take(0).places == (0,)
    assert not ranges.take(0).is_outside(new).any()
    blamed = ranges.blame(np.ones((4, 3)), new)
    assert blamed[0, 2] > 6 > 0 > -6 > blamed[1, 2]
    np.testing.assert_array_equal(blamed[2:], 1.0)


@pytest.mark.parametrize(
    ("levels", "stray"), [([0, 1], 4), ([1, 2], -2), ([1, 2, 3, 4, 5], 99), ([1, 2, 3], 9)]
)
def test_levels_far_from_the_others_are_none(levels, stray):
    column = np.append(np.repeat(levels, 200), [stray])
    assert np.flatnonzero(find_outside(column, are_levels=True)).tolist() == [len(column) - 1]


@pytest.mark.parametrize(("levels", "rare"), [([0, 1], 3), ([1, 2], 4), ([1, 2, 3, 4, 5], 9)])
def test_rare_levels_near_the_others_are_levels(levels, rare):
    column = np.append(np.repeat(levels, 200), [rare])
    assert not find_outside(column, are_levels=True).any()


@pytest.mark.parametrize(
    ("levels", "shares"),
    [
        ([1, 2, 9], [0.55, 0.42, 0.03]),
        ([1, 4, 5], [0.15, 0.25, 0.6]),
        ([1, 10, 100, 1000], [0.5, 0.25, 0.15, 0.1]),
        ([0, 5, 50], [0.8, 0.12, 0.08]),
        ([1, 6, 12, 144], [0.5, 0.3, 0.14, 0.06]),
        ([2019, 2020, 2024], [0.45, 0.45, 0.1]),
    ],
)
def test_levels_that_occur_often_are_levels(levels, shares):
    column = np.repeat(levels, np.round(1000 * np.array(shares)).astype(int))
    assert not find_outside(column, are_levels=True).any()
    sentinel = np.append(column, [99_999] * 30)  # often, but no level
    assert np.flatnonzero(find_outside(sentinel, are_levels=True)).tolist() == list(
        range(len(column), len(sentinel))
    )


@pytest.mark.parametrize(
    ("counts", "beyond"),
    [([0, 1], [7]), ([0, 1], [-5]), ([0, 1, 2, 3], [14, 15]), ([0, 1, 2, 3, 4, 5, 6], [-20])],
)
@pytest.mark.parametrize("n_beyond", [3, 40, 250])
def test_many_rows_beyond_a_gap_are_no_more_counts(counts, beyond, n_beyond):
    column = np.append(np.repeat(counts, 1000 // len(counts)), np.resize(beyond, n_beyond))
    expected = ~np.isin(column, counts)
    np.testing.assert_array_equal(find_outside(column, are_levels=True), expected)


def test_a_long_tail_of_counts_has_no_gap():
    cigarettes = np.repeat([0, 1, 5, 10, 20, 40], [800, 20, 30, 60, 70, 20])
    assert not find_outside(cigarettes, are_levels=True).any()


@pytest.mark.parametrize("n_zeros", range(70, 82))
def test_a_quartile_at_the_edge_of_a_heap_makes_no_range(n_zeros):
    for seed in range(5):
        values = np.random.default_rng(seed).lognormal(3, 0.5, 100 - n_zeros)
        assert not find_outside(np.append(np.zeros(n_zeros), values)).any()


def test_rows_without_weight_tell_nothing():
    column = np.append(np.linspace(0, 1, 50), [40.0])
    mass = np.append(np.ones(50), 0.0)
    assert find_outside(column, mass).tolist() == [False] * 50 + [True]


def test_a_constant_column_has_no_range():
    assert not find_outside(np.full(20, 3.0)).any()


@pytest.mark.parametrize(("n_rows", "n_columns"), [(400, 4), (100, 1000)])
def test_gaps_by_chance_set_few_rows_of_skewed_tables_apart(n_rows, n_columns):
    rng = np.random.default_rng(0)
    X = np.exp(0.7 * rng.normal(size=(n_rows, n_columns)))
    X[0, 0] = 1e4
    ranges = find_ranges(X, np.ones(n_rows), tuple(range(n_columns)))
    outside = ranges.is_outside(X)
    assert outside[0]
    assert outside[1:].mean() <= 0.02
