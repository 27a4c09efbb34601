"""The nearest rows of other folds, and what they vote for."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from eosparse.fitting import neighbour_votes
from eosparse.fitting.neighbour_votes import _measure_rows, find_neighbours


def sort_by_row(found):
    """The sets of neighbours, in the order of the rows."""
    return np.sort(found.nearest, axis=1)[np.argsort(found.rows)]


@pytest.mark.parametrize("n_columns", [2, 20])
def test_all_distances_and_a_tree_find_the_same_neighbours(monkeypatch, n_columns):
    rng = np.random.default_rng(0)
    X, folds = 5.0 + rng.normal(size=(200, n_columns)) * 3.0, np.arange(200) % 3
    few = find_neighbours(X, folds, 10)
    monkeypatch.setattr(neighbour_votes, "_FEW_ROWS", 0)
    np.testing.assert_array_equal(sort_by_row(few), sort_by_row(find_neighbours(X, folds, 10)))


def test_neighbours_are_of_other_folds():
    rng = np.random.default_rng(1)
    X, folds = rng.normal(size=(90, 3)), np.arange(90) % 3
    found = find_neighbours(X, folds, 5)
    assert (folds[found.nearest] != folds[found.rows][:, None]).all()


def test_as_many_neighbours_as_there_are_rows():
    found = find_neighbours(np.arange(6.0)[:, None], np.arange(6) % 2, 10)
    assert found.nearest.shape == (6, 3)


def test_columns_are_standardised_as_by_scikit_learn():
    X = np.random.default_rng(2).normal(5.0, [1.0, 1e-3, 1e6], size=(50, 3))
    X[:, 1] = 7.3  # constant
    np.testing.assert_allclose(_measure_rows(X), StandardScaler().fit_transform(X), atol=1e-9)
