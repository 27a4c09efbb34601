"""Flagged rows that form groups of their own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from eosparse.inference import Group, find_groups_apart
from eosparse.inference.groups_apart import _find_close


def draw_flagged(seed=0, n_features=3):
    """Two groups as compact as the bulk, and ten rows on their own."""
    rng = np.random.default_rng(seed)
    groups = [rng.normal(place, 1.0, (size, n_features)) for place, size in ((12, 60), (-15, 30))]
    alone = 200.0 * (1 + np.arange(10))[:, None] * np.ones(n_features)
    return np.concatenate([*groups, alone])


@pytest.mark.parametrize("n_features", [1, 3, 10])
def test_groups_are_found_largest_first_and_single_rows_are_not(n_features):
    parts = find_groups_apart(draw_flagged(n_features=n_features), 1000, n_features)
    assert [len(part) for part in parts] == [60, 30]
    assert set(parts[0]) == set(range(60))
    assert set(parts[1]) == set(range(60, 90))


@settings(max_examples=30)
@given(st.integers(0, 1000))
def test_the_order_of_rows_and_columns_does_not_matter(seed):
    rows, rng = draw_flagged(seed), np.random.default_rng(seed)
    order, columns = rng.permutation(len(rows)), rng.permutation(3)
    before = {frozenset(part) for part in find_groups_apart(rows, 1000, 3)}
    after = find_groups_apart(rows[order][:, columns], 1000, 3)
    assert {frozenset(order[part]) for part in after} == before


def test_a_group_has_five_rows_and_one_per_cent():
    four, six = np.full((4, 2), 9.0), np.full((6, 2), 9.0)
    assert find_groups_apart(four, 100, 2) == []
    assert [len(part) for part in find_groups_apart(six, 600, 2)] == [6]
    assert find_groups_apart(six, 601, 2) == []


def test_groups_are_apart_by_the_distance_of_two_good_rows():
    """√(2D): in four columns, rows 2.8 apart are linked."""
    line = np.zeros((8, 4))
    for gap, expected in ((2.82, [8]), (2.84, [])):
        line[:, 0] = gap * np.arange(8)
        assert [len(part) for part in find_groups_apart(line, 100, 4)] == expected


def test_many_and_enormous_rows_are_no_trouble():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(20, 1, (4000, 2)), np.full((3, 2), 1e300)])
    parts = find_groups_apart(rows, 20_000, 2)
    assert len(parts) == 1
    assert (parts[0] < 4000).all()
    assert find_groups_apart(np.empty((0, 2)), 100, 2) == []


def test_a_group_says_where_it_is():
    group = Group(1200, 0.04, np.zeros(2), ("height", "age"))
    assert str(group) == "1,200 rows (4.0%) sit apart as a group, by 'height' and 'age'"


def test_a_group_of_good_rows_does_not_sit_apart():
    group = Group(1200, 0.4, np.zeros(2), ("height",), is_outlier=False)
    assert str(group) == "1,200 rows (40.0%) form a group of good rows, by 'height'"


def test_products_of_many_columns_link_the_same_rows_as_a_tree():
    rng = np.random.default_rng(0)
    copies = np.repeat(rng.normal(5e3, 1, (5, 40)), 4, axis=0)
    far = np.minimum(rng.normal(1e6, 0.5, (60, 40)), 1e6)
    rows, reach = np.concatenate([rng.normal(size=(100, 40)), far, copies]), np.sqrt(80)
    linked = cKDTree(rows).query_pairs(reach)
    assert {(int(i), int(j)) for i, j in _find_close(rows, reach)} == linked
