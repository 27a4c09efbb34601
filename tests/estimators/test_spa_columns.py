"""SPAClassifier chooses columns, units and numbers of boxes from the labels as they are."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from eosparse import SPAClassifier
from eosparse.models import cut_rows


def clusters_in_few_columns(spread, n=200, d=20, flipped=0.2, seed=0):
    """Three clusters on the diagonal of two columns, the middle one class 1; the others are noise.

    Neither column separates the classes by a line, and noise is all that distances over all columns
    see. `spread` multiplies the two columns.
    """
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 3, 2 * n)
    X = rng.uniform(-1, 1, size=(2 * n, d))
    X[:, :2] = spread * (0.7 * (cluster - 1)[:, None] + 0.12 * rng.normal(size=(2 * n, 2)))
    truth = (cluster == 1).astype(int)
    given = truth.copy()
    wrong = rng.choice(n, round(flipped * n), replace=False)
    given[wrong] = 1 - given[wrong]
    return X[:n], given[:n], X[n:], truth[n:]


@pytest.mark.parametrize("spread", [0.5, 5.0])
def test_clusters_in_columns_of_small_and_of_large_spread_are_found(spread):
    X, given, X_test, truth = clusters_in_few_columns(spread)
    spa = SPAClassifier().fit(X, given)
    assert roc_auc_score(truth, spa.predict_proba(X_test)[:, 1]) > 0.97


def test_columns_without_information_get_next_to_no_weight():
    X, given, _, _ = clusters_in_few_columns(1.0, flipped=0.0)
    spa = SPAClassifier().fit(X, given)
    assert set(np.argsort(-spa.feature_weights_)[:2]) == {0, 1}
    assert spa.feature_weights_[:2].sum() > 0.6
    sparse = SPAClassifier(6, epsilon_features=0.1).fit(X, given)
    assert sparse.feature_weights_[2:].max() < 1e-2
    assert sparse.feature_weights_.sum() == pytest.approx(1.0)


def test_coverings_share_one_and_are_described():
    X, given, _, _ = clusters_in_few_columns(1.0)
    spa = SPAClassifier().fit(X, given)
    shares = [covering["share"] for covering in spa.coverings_]
    assert sum(shares) == pytest.approx(1.0)
    assert shares == sorted(shares, reverse=True)
    assert len(spa.box_centers_) == sum(covering["n_boxes"] for covering in spa.coverings_)
    for covering in spa.coverings_:
        assert sum(covering["temperatures"].values()) == pytest.approx(1.0)
    np.testing.assert_allclose(spa._coverings(X).sum(axis=1), 1.0)
    assert (np.diff(spa.objective_history_) <= 1e-12).all()
    assert (np.diff(spa.box_objective_history_) <= 1e-12).all()


def test_the_order_of_rows_and_columns_does_not_matter():
    X, given, X_test, _ = clusters_in_few_columns(1.0, n=100, d=8, flipped=0.1)
    expected = SPAClassifier().fit(X, given).predict_proba(X_test)
    rows, columns = np.random.default_rng(1).permutation(100), np.arange(8)[::-1]
    shuffled = SPAClassifier().fit(X[rows], given[rows]).predict_proba(X_test)
    np.testing.assert_allclose(shuffled, expected, atol=1e-6)
    turned = SPAClassifier().fit(X[:, columns], given).predict_proba(X_test[:, columns])
    # The folds follow the values of the rows, column by column, so other rows are held out.
    np.testing.assert_allclose(turned, expected, atol=0.03)


def test_columns_of_two_values_are_not_what_weights_choose():
    """Two boxes explain any of them without error, so they would get all the weight."""
    X, given, X_test, truth = clusters_in_few_columns(1.0)
    rng = np.random.default_rng(2)
    coins, more = rng.integers(0, 2, (200, 4)), rng.integers(0, 2, (200, 4))
    spa = SPAClassifier(6, epsilon_features=0.1).fit(np.hstack([X, coins]), given)
    assert spa.feature_weights_[-4:].max() == 0.0
    probabilities = spa.predict_proba(np.hstack([X_test, more]))
    assert roc_auc_score(truth, probabilities[:, 1]) > 0.95


def test_stripes_across_the_direction_of_two_columns_are_cut_apart():
    """Each stripe is longer than the distance between them: round boxes start across them."""
    rng = np.random.default_rng(3)
    stripe, length = np.repeat([-1.0, 0.0, 1.0], 60), rng.uniform(-1.2, 1.2, 180)
    thickness = rng.uniform(-0.2, 0.2, 180)
    rows = np.column_stack([stripe + thickness + length, 5 * (stripe + thickness - length)])
    centers = cut_rows(rows, np.ones(180), 3)
    expected = [rows[stripe == k].mean(axis=0) for k in (-1, 0, 1)]
    ascending = centers[np.argsort(centers @ [1.0, 0.2])]
    np.testing.assert_allclose(ascending, expected, atol=1e-9)
    shuffled = rng.permutation(180)
    np.testing.assert_allclose(
        np.sort(cut_rows(rows[shuffled], np.ones(180), 3), axis=0), np.sort(centers, axis=0)
    )


@pytest.mark.parametrize("units", ["own", "equal"])
def test_units_can_be_given(units):
    X, given, _, _ = clusters_in_few_columns(1.0, n=100, d=4)
    spa = SPAClassifier(4, units=units, epsilon_features=None, temperature=1.0).fit(X, given)
    assert [covering["units"] for covering in spa.coverings_] == [units]


def test_columns_of_different_kinds_are_scaled():
    X, given, _, _ = clusters_in_few_columns(1.0, n=100, d=4)
    spa = SPAClassifier(4, epsilon_features=None).fit(X * [1, 1, 1, 1e5], given)
    assert {covering["units"] for covering in spa.coverings_} == {"equal"}
    alike = SPAClassifier(4, epsilon_features=None).fit(X, given)
    assert {covering["units"] for covering in alike.coverings_} == {"own", "equal"}
