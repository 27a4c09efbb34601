"""Effects of levels on numbers."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosparse.rows import LevelEffects, learn_effects, learn_view, recognise_kinds
from eosparse.rows.levels import UNSEEN


def two_factors(n_rows=4000, seed=0):
    """Numbers with the effects of two columns of levels, which depend on each other."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n_rows)
    second = (first + rng.integers(0, 3, n_rows)) % 4 + 10
    rows, columns = np.array([-5.0, 0.0, 5.0]), np.array([-8.0, -2.0, 2.0, 8.0])
    z = rng.normal(size=(n_rows, 2))
    z[:, 0] += rows[first] + columns[second - 10]
    return z, np.column_stack([first, second]).astype(float)


def test_levels_are_brought_to_one_median():
    z, codes = two_factors()
    left = learn_effects(z, codes[:, :1], np.ones(len(z))).subtract(z, codes[:, :1])
    for level in range(3):
        np.testing.assert_allclose(
            np.median(left[codes[:, 0] == level, 0]), np.median(z[:, 0]), atol=1e-12
        )
    np.testing.assert_array_equal(left[:, 1], z[:, 1])  # levels tell nothing about it


def test_two_sweeps_undo_two_factors():
    z, codes = two_factors()
    left = learn_effects(z, codes, np.ones(len(z))).subtract(z, codes)
    assert left[:, 0].std() < 1.3 < 5 < z[:, 0].std()
    assert left[:, 1].std() == pytest.approx(1.0, abs=0.05)


def test_wrong_rows_hardly_move_an_effect():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, (3000, 1)).astype(float)
    z = rng.normal(size=(3000, 1)) + 5 * codes
    z[::5] = 1e9
    steps = learn_effects(z, codes, np.ones(3000)).steps[0]
    np.testing.assert_allclose(np.diff(steps.ravel()), 5.0, atol=0.3)


def test_rare_and_unknown_levels_have_no_effect():
    z = np.arange(30.0)[:, None]
    codes = np.repeat([2.0, 5.0], [21, 9])[:, None]
    effects = learn_effects(z, codes, np.ones(30))
    assert effects.levels[0].tolist() == [2.0]
    new = np.array([[5.0], [-1.0], [2.5], [9.0], [np.nan]])
    assert effects.subtract(np.ones((5, 1)), new).ravel().tolist() == [1.0] * 5


def test_numbers_without_levels_stay():
    z = np.arange(6.0).reshape(3, 2)
    effects = learn_effects(z, np.empty((3, 0)), np.ones(3))
    assert effects.subtract(z, np.empty((3, 0))).tolist() == z.tolist()


def test_single_precision_is_left_as_it_was():
    z = np.ones((20, 1), dtype=np.float32)
    codes = np.zeros((20, 1), dtype=np.float32)
    assert learn_effects(z, codes, np.ones(20)).subtract(z, codes).dtype == np.float64
    assert (z == 1).all()


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_blocks_copies_and_order_do_not_matter(seed, copies):
    rng = np.random.default_rng(seed)
    z, codes = two_factors(200, seed)
    effects = pickle.loads(pickle.dumps(learn_effects(z, codes, np.ones(200))))
    whole = effects.subtract(z, codes)
    halves = [effects.subtract(z[part], codes[part]) for part in (slice(77), slice(77, None))]
    np.testing.assert_array_equal(np.vstack(halves), whole)
    order = rng.permutation(200)
    moved = learn_effects(z[order], codes[order], np.ones(200))
    np.testing.assert_array_equal(moved.subtract(z, codes), whole)
    # Copies carry no evidence: they count once.
    mass = np.full(copies * 200, 1 / copies)
    again = learn_effects(np.tile(z, (copies, 1)), np.tile(codes, (copies, 1)), mass)
    np.testing.assert_allclose(again.subtract(z, codes), whole, atol=1e-12)


def test_weights_count_rows():
    z, codes = two_factors(301)
    mass = np.random.default_rng(1).integers(0, 4, 301).astype(float)
    weighted = learn_effects(z, codes, mass)
    counts = mass.astype(int)
    repeated = learn_effects(
        np.repeat(z, counts, axis=0), np.repeat(codes, counts, axis=0), np.ones(counts.sum())
    )
    for mine, other in zip(weighted.steps, repeated.steps, strict=True):
        np.testing.assert_allclose(mine, other, atol=0.3)  # the lower of two middle values


@given(st.integers(0, 1000))
def test_a_weight_counts_as_copies(seed):
    """Also where the median lies between two rows."""
    rng = np.random.default_rng(seed)
    z, codes, counts = rng.normal(size=(60, 2)), np.repeat([0.0, 1.0], 30), rng.integers(1, 4, 60)
    weighted = learn_effects(z, codes[:, None], counts.astype(float))
    copies = np.repeat(z, counts, axis=0), np.repeat(codes, counts)[:, None]
    repeated = learn_effects(*copies, np.ones(counts.sum()))
    np.testing.assert_allclose(weighted.steps[0], repeated.steps[0], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_levels_that_tell_nothing_have_no_effect_on_a_column_with_two_peaks(seed):
    rng = np.random.default_rng(seed)
    z = np.concatenate([rng.normal(-6, 1, (500, 1)), rng.normal(6, 1, (500, 1))])
    levels = rng.integers(0, 4, (1000, 1)).astype(float)
    effects = learn_effects(z, levels, np.ones(1000))
    np.testing.assert_array_equal(effects.steps[0], 0.0)


def test_the_test_of_medians_keeps_its_level():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 4000))
    steps = learn_effects(z, rng.integers(0, 3, (300, 1)).astype(float), np.ones(300)).steps[0]
    assert (steps != 0).any(axis=0).mean() < 0.003


@pytest.mark.parametrize("code", [UNSEEN, np.nan], ids=["unseen", "missing"])
def test_an_unknown_level_explains_what_some_level_may(code):
    # Levels 0 and 1 shift the first number by -2 and 3, and the second not at all: a further one
    # may shift the first by -7 to 8.
    effects = LevelEffects((np.array([0.0, 1.0]),), (np.array([[-2.0, 0.0], [3.0, 0.0]]),))
    z = np.array([[0.0, 1.0], [-6.9, 1.0], [7.9, -4.0], [-9.0, 1.0], [18.0, 1.0]])
    left = effects.subtract(z, np.full((5, 1), code))
    expected = [[np.nan, 1.0], [np.nan, 1.0], [np.nan, -4.0], [-2.0, 1.0], [10.0, 1.0]]
    np.testing.assert_allclose(left, expected)
    np.testing.assert_array_equal(effects.add_up(np.full((5, 1), code), 2), 0.0)


def test_a_rare_level_has_no_effect():
    effects = LevelEffects((np.array([0.0]),), (np.array([[-2.0]]),))
    assert effects.subtract(np.array([[5.0]]), np.array([[7.0]])).tolist() == [[5.0]]


def test_no_number_is_taken_for_an_unknown_level():
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[:, 0] = np.resize([0.0, 1.0, 2.0, -0.5], 300)
    X[:, 1] += 3 * X[:, 0]
    columns = recognise_kinds(X, np.ones(300), ["code", "size"])
    assert np.isfinite(learn_view(X, np.ones(300), columns)(X)).all()


def test_medians_of_levels_are_not_brought_together():
    # Of either level, the most frequent value is the median; together they are most of the rows.
    z = np.r_[np.repeat([0.0, 1.0, 2.0], [10, 26, 14]), np.repeat([2.0, 3.0, 4.0], [15, 26, 9])]
    codes = np.repeat([0.0, 1.0], 50)[:, None]
    left = learn_effects(z[:, None], codes, np.ones(100)).subtract(z[:, None], codes)
    assert np.unique(left.round(6), return_counts=True)[1].max() < 50


def test_a_value_that_most_rows_share_is_no_effect_of_levels():
    found = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        z = np.where(rng.random(200) < 0.7, 0.0, rng.normal(size=200))
        codes = rng.integers(0, 3, (200, 1)).astype(float)
        found += learn_effects(z[:, None], codes, np.ones(200)).steps[0].any()
    assert found <= 4  # the test has a level of one in a thousand
