"""May a rate be promised: the check of the tail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosparse.inference import Promise, TailCheck, have_joint_tails

P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60).map(np.array)


def check(p):
    return TailCheck.of(p, np.ones(len(p)))


@given(P_VALUES, P_VALUES)
def test_disjoint_rows_add_up(first, second):
    both = check(np.append(first, second))
    added = check(first) + check(second)
    for name in ("body", "tail", "far", "logs"):
        assert getattr(added, name) == pytest.approx(getattr(both, name))
    assert both.total == len(first) + len(second)


@given(P_VALUES, st.integers(1, 4))
def test_mass_counts_rows(p, times):
    weighted = TailCheck.of(p, np.full(len(p), float(times)))
    assert weighted.excess == pytest.approx(check(np.tile(p, times)).excess)


@pytest.mark.parametrize("n_rows", [100, 500, 3000, 20_000])
def test_uniform_p_values_pass(n_rows):
    passed = [
        check(np.random.default_rng([seed, n_rows]).random(n_rows)).passes for seed in range(300)
    ]
    assert np.mean(passed) >= 0.99


def test_heavy_tails_fail_more_surely_the_more_rows_there_are():
    power = [
        np.mean(
            [
                not check(np.random.default_rng([seed, n_rows]).random(n_rows) ** 1.3).passes
                for seed in range(100)
            ]
        )
        for n_rows in (100, 500, 2000, 10_000)
    ]
    assert (np.diff(power) >= 0).all()
    assert power[-1] == 1.0
    assert power[0] < 0.5


def test_light_tails_break_no_promise():
    for seed in range(50):
        assert check(np.random.default_rng(seed).random(2000) ** 0.7).passes


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_outliers_do_not_move_it(share):
    rng = np.random.default_rng(0)
    good = rng.random(4000)
    spoilt = np.append(good, np.full(round(4000 * share / (1 - share)), 1e-9))
    assert check(spoilt).excess == check(good).excess
    assert check(spoilt).passes
    assert check(spoilt).believed == pytest.approx(1 - share, abs=0.001)


def test_more_than_half_of_the_rows_must_belong():
    spoilt = check(np.append(np.random.default_rng(0).random(1000), np.zeros(1001)))
    assert not spoilt.passes
    assert "of the rows belong" in spoilt.why_not
    heavy = check(np.random.default_rng(0).random(5000) ** 2)
    assert not heavy.passes
    assert heavy.why_not == "too many rows lie far out for it"


def test_its_moments_are_those_of_uniform_p_values():
    """With so many rows, the excess is that of the law: none."""
    p = (np.arange(2_000_000) + 0.5) / 2_000_000
    assert abs(check(p).excess) < 0.01


def test_a_promise_is_true_or_false_and_says_why():
    assert Promise(True, "so")
    assert not Promise(False, "so")
    assert (str(Promise(True, "so")), str(Promise(False, "so"))) == ("yes: so", "no: so")


@pytest.mark.parametrize(("n_rows", "n_columns"), [(100, 2), (300, 3), (300, 20), (2000, 5)])
def test_gaussian_rows_have_no_joint_tails(n_rows, n_columns):
    found = [
        have_joint_tails(
            np.random.default_rng(seed).normal(size=(n_rows, n_columns)), np.ones(n_rows)
        )
        for seed in range(200)
    ]
    assert np.mean(found) <= 0.03


@pytest.mark.parametrize(("n_rows", "n_columns"), [(300, 10), (1000, 3)])
def test_elliptical_rows_have_joint_tails(n_rows, n_columns):
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(n_rows, n_columns)) / np.sqrt(rng.chisquare(5, (n_rows, 1)) / 3)
        near = (rows**2).sum(axis=1) < 6 * n_columns  # others would be flagged
        found.append(have_joint_tails(rows[near], np.ones(near.sum())))
    assert np.mean(found) >= 0.9


def test_joint_tails_of_copies_are_those_of_rows_with_mass():
    rng = np.random.default_rng(3)
    rows, mass = rng.standard_t(4, (90, 3)), rng.integers(1, 6, 90)
    for scale in np.linspace(1.0, 1.6, 13):
        far = np.where(np.abs(rows[:, :1]) > 1, scale * rows, rows)
        copies = np.repeat(far, mass, axis=0)
        assert have_joint_tails(far, mass) == have_joint_tails(copies, np.ones(len(copies)))
