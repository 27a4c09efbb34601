"""Folds depend on what the rows are."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_matrix

from eosparse.fitting.folds import assign_folds, split_by_fold


def test_equal_rows_share_a_fold_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    X, classes = rng.integers(0, 3, (80, 2)).astype(float), rng.integers(0, 2, 80)
    folds = assign_folds(X, classes, np.ones(80), 4, 0)
    for row in range(80):
        same = (X[row] == X).all(axis=1) & (classes == classes[row])
        assert len(set(folds[same])) == 1
    order = rng.permutation(80)
    np.testing.assert_array_equal(
        assign_folds(X[order], classes[order], np.ones(80), 4, 0), folds[order]
    )


def test_every_class_is_spread_over_all_folds():
    rng = np.random.default_rng(1)
    X, classes = rng.normal(size=(100, 3)), np.repeat([0, 1], [90, 10])
    folds = assign_folds(X, classes, np.ones(100), 5, 0)
    for label, count in ((0, 18), (1, 2)):
        assert (np.bincount(folds[classes == label]) == count).all()


def test_rows_without_weight_are_in_no_fold():
    X, prior = np.arange(12.0)[:, None], np.ones(12)
    prior[3] = 0
    folds = assign_folds(X, np.zeros(12, dtype=int), prior, 3, 0)
    assert folds[3] == -1
    assert all(3 not in np.concatenate(pair) for pair in split_by_fold(folds))


def test_texts_have_folds_too():
    words = np.array([["a"], ["b"], ["c"], ["d"]], dtype=object)
    assert len(set(assign_folds(words, np.array([0, 0, 1, 1]), np.ones(4), 2, 0))) == 2


@pytest.mark.parametrize(
    "as_rows",
    [
        csr_matrix,
        csc_matrix,
        lambda X: np.where(X == 2, np.nan, X),
        lambda X: pd.DataFrame(X).assign(site=np.where(X[:, 0] > 0, "north", "south")),
        lambda X: [f"{a} and {b}" for a, b in X],
    ],
    ids=["csr", "csc", "gaps", "categories", "texts"],
)
def test_equal_rows_of_any_kind_share_a_fold(as_rows):
    rng = np.random.default_rng(0)
    X, classes = rng.integers(0, 5, (60, 2)).astype(float), np.zeros(60, dtype=int)
    folds = assign_folds(as_rows(X), classes, np.ones(60), 3, 0)
    for row in range(60):
        assert len(set(folds[(X[row] == X).all(axis=1)])) == 1
    assert len(set(folds)) == 3
    order = rng.permutation(60)
    again = assign_folds(as_rows(X[order]), classes, np.ones(60), 3, 0)
    np.testing.assert_array_equal(again, folds[order])


def test_groups_share_a_fold_and_so_do_equal_rows_of_two_groups():
    X = np.arange(40.0)[:, None]
    X[7] = X[30]  # groups 1 and 6
    groups = np.arange(40) // 5
    folds = assign_folds(X, np.arange(40) % 2, np.ones(40), 3, 0, groups)
    for group in range(8):
        assert len(set(folds[groups == group])) == 1
    assert folds[7] == folds[30]
    assert set(folds) == {0, 1, 2}
