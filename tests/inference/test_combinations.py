"""Impossible combinations of levels: calibration and power."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import poisson

from eosparse.inference import find_combinations

SEEDS = 200


def find(codes, fdr=0.01, **options):
    return find_combinations(np.asarray(codes, dtype=float), np.ones(len(codes)), fdr, **options)


def draw_independent(rng, n_rows=1000):
    """Levels of very different frequency, some of them rare."""
    shares = [[0.5, 0.5], [0.9, 0.09, 0.01], rng.dirichlet(np.full(6, 0.5)), np.full(10, 0.1)]
    return np.column_stack([rng.choice(len(p), n_rows, p=p) for p in shares])


def draw_graded(rng, n_levels, correlation, n_rows=2000, is_even=False):
    """Two ratings that go together, as correlated Gaussians do; rounded, or equally frequent."""
    noise = rng.normal(size=(n_rows, 2))
    first = noise[:, 0]
    second = correlation * first + np.sqrt(1 - correlation**2) * noise[:, 1]
    columns = list(zip((first, second), n_levels, strict=True))
    if is_even:
        cuts = [ndtri(np.arange(1, k) / k) for k in n_levels]
        return np.column_stack(
            [np.searchsorted(c, z) for c, (z, _) in zip(cuts, columns, strict=True)]
        )
    return np.column_stack(
        [np.clip(np.rint((k - 1) * (z / 4 + 0.5)), 0, k - 1) for z, k in columns]
    )


def people(n_men=1000, n_women=1000, n_pregnant=400, n_wrong=1):
    """Men and women, some of them pregnant."""
    is_male = np.repeat([1.0, 0.0], [n_men, n_women])
    is_pregnant = np.zeros(n_men + n_women)
    is_pregnant[:n_wrong] = 1
    is_pregnant[-n_pregnant:] = 1
    return np.column_stack([is_male, is_pregnant])


def test_independent_levels_raise_no_alarm():
    for seed in range(SEEDS):
        codes = draw_independent(np.random.default_rng(seed))
        found = find(codes)
        assert found.cells == ()
        assert not found.is_impossible(draw_independent(np.random.default_rng(seed + 999))).any()


@pytest.mark.parametrize("n_levels", [(2, 2), (2, 5), (3, 3), (3, 5), (5, 5), (10, 10)], ids=str)
@pytest.mark.parametrize("correlation", [0.6, 0.9, 0.97])
@pytest.mark.parametrize("is_even", [True, False])
def test_levels_that_avoid_each_other_by_degrees_raise_no_alarm(n_levels, correlation, is_even):
    alarms = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        n_rows = int(10 ** rng.uniform(2.5, 4))
        found = find(draw_graded(rng, n_levels, correlation, n_rows, is_even))
        alarms += len(found.cells) > 0
        alarms += found.is_impossible(draw_graded(rng, n_levels, correlation, 500, is_even)).any()
    assert alarms == 0


@pytest.mark.parametrize("n_levels", [(3, 3), (4, 6), (5, 5)], ids=str)
@pytest.mark.parametrize("correlation", [0.97, 0.99, 0.999])
def test_a_step_on_a_scale_is_possible_where_another_scale_determines_it(n_levels, correlation):
    for seed in range(5):
        codes = draw_graded(np.random.default_rng(seed), n_levels, correlation, n_rows=10_000)
        assert find(codes).cells == ()


def test_large_graded_tables_raise_no_alarm():
    for seed in range(20):
        codes = draw_graded(np.random.default_rng(seed), (5, 5), 0.9, n_rows=50_000)
        assert find(codes).cells == ()


def test_a_pregnant_man_is_an_alarm():
    codes = people()
    found = find(codes)
    (cell,) = found.cells
    assert cell.columns == (0, 1)
    assert cell.levels == (1.0, 1.0)
    assert (cell.seen, cell.expected) == (1.0, 401 / 2)
    assert cell.p == pytest.approx(poisson.cdf(1, 401 / 20), rel=1e-9)
    assert np.flatnonzero(found.is_impossible(codes)).tolist() == [0]


def test_a_rare_level_is_no_alarm():
    codes = people(n_pregnant=1, n_wrong=1)
    assert find(codes).cells == ()
    codes = np.column_stack([np.arange(2000) % 4, np.arange(2000) == 17])
    assert find(codes).cells == ()


def test_what_never_occurred_is_impossible_in_new_rows():
    found = find(people(n_wrong=0))
    assert found.cells == ()
    new = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [-1.0, 1.0], [1.0, np.nan]])
    assert found.is_impossible(new).tolist() == [True, False, False, False, False]
    few = find(people(100, 100, 40, n_wrong=0))  # expects 20: too few to be sure
    assert not few.is_impossible(new).any()


@pytest.mark.parametrize("is_ordered", [None, [False, False, False, False]])
def test_planted_combinations_are_found(is_ordered):
    found, hits, n_planted = 0, 0, 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        codes = np.column_stack([rng.integers(0, k, 4000) for k in (2, 3, 4, 5)])
        codes = codes[~((codes[:, 1] == 2) & (codes[:, 3] == 0))]  # never together ...
        codes[:2, [1, 3]] = 2, 0  # ... but for two mistakes
        is_impossible = find(codes, is_ordered=is_ordered).is_impossible(codes)
        hits += is_impossible[:2].sum()
        found += is_impossible.sum()
        n_planted += 2
    assert hits >= 0.95 * n_planted
    assert found == hits


def test_towns_have_a_country():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 12, 5000)
    codes = np.column_stack([town, town // 4])
    codes[:3, 1] = (codes[:3, 1] + 1) % 3
    is_impossible = find(codes, is_ordered=[False, False]).is_impossible(codes)
    assert np.flatnonzero(is_impossible).tolist() == [0, 1, 2]


def test_a_level_without_order_is_rare_for_one_of_two_groups():
    """Diagnoses differ between men and women, but one is impossible for men."""
    rng = np.random.default_rng(0)
    shares = np.array([[0.3, 0.1, 0.3, 0.3, 0.0], [0.1, 0.3, 0.2, 0.2, 0.2]])
    sex = np.repeat([0, 1], 2000)
    codes = np.column_stack([sex, [rng.choice(5, p=shares[s]) for s in sex]])
    codes[0, 1] = 4
    found = find(codes, is_ordered=[True, False])
    assert np.flatnonzero(found.is_impossible(codes)).tolist() == [0]


def test_few_columns_have_no_pairs():
    for n_columns in (0, 1):
        found = find(np.zeros((50, n_columns)))
        assert found.cells == ()
        assert not found.is_impossible(np.zeros((3, n_columns))).any()


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_copies_by_mass_and_order_change_nothing(seed, copies):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(people(n_wrong=rng.integers(0, 4)))
    found = pickle.loads(pickle.dumps(find(codes)))
    again = find_combinations(np.tile(codes, (copies, 1)), np.full(copies * 2000, 1 / copies), 0.01)
    assert [cell.levels for cell in again.cells] == [cell.levels for cell in found.cells]
    np.testing.assert_array_equal(again.is_impossible(codes), found.is_impossible(codes))
