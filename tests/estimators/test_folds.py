"""Folds depend on what the rows are."""

import numpy as np

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
