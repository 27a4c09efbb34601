"""Robust starts: where classical ones are fooled, these are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eosparse import EOSDetector
from eosparse.core import centre_and_spread, weighted_quantiles
from eosparse.datasets import make_contaminated
from eosparse.models import GaussianModel, cluster_starts, coupling_for_efficiency
from eosparse.models.gaussian_search import StartSearch


def search(X, efficiency=0.7):
    n, d = X.shape
    model = GaussianModel(n_features=d, smallest_size=1.5 * (d + 1))
    alpha = model.alpha(coupling_for_efficiency(efficiency, d))
    return StartSearch(model, X, np.ones(n)).best(alpha)


@given(
    arrays(np.float64, st.integers(1, 20), elements=st.floats(-5, 5)),
    st.floats(0.01, 1.0),
    st.data(),
)
def test_weighted_quantiles_equal_those_of_repeated_values(values, level, data):
    counts = data.draw(arrays(np.int64, len(values), elements=st.integers(1, 4)))
    repeated = np.sort(np.repeat(values, counts))
    rank = max(int(np.ceil((level - 1e-12) * len(repeated))) - 1, 0)
    found = weighted_quantiles(values, counts.astype(float), (level,))
    assert found.item() == repeated[rank]


def test_spread_is_the_standard_deviation_of_gaussian_columns():
    X = np.random.default_rng(0).normal(size=(20_000, 2)) * [1.0, 7.0]
    centre, spread = centre_and_spread(X, np.ones(len(X)))
    np.testing.assert_allclose(spread, [1.0, 7.0], rtol=0.03)
    np.testing.assert_allclose(centre, 0.0, atol=0.2)


def test_spread_of_columns_with_many_ties_is_not_zero():
    X = np.zeros((1000, 2))
    X[:30, 0] = 5.0
    _, spread = centre_and_spread(X, np.ones(1000))
    assert spread[0] > 0
    assert spread[1] == 0


@pytest.mark.parametrize("inliers", ["independent", "factor"])
@pytest.mark.parametrize(
    ("n_features", "contamination"), [(2, 0.3), (5, 0.45), (10, 0.4), (30, 0.4)]
)
def test_clustered_outliers_are_left_out(n_features, contamination, inliers):
    X, is_outlier = make_contaminated(
        1000,
        n_features,
        contamination,
        outliers="clustered",
        inliers=inliers,
        random_state=4,
    )
    best = search(X)
    assert best is not None
    assert best.is_majority
    distances = best.result.theta.mahalanobis(X)
    farthest = np.argsort(-distances)[: is_outlier.sum()]
    assert is_outlier[farthest].mean() >= 0.99


def test_a_tight_minority_does_not_win_by_its_determinant():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(600, 4)), 6 + 0.05 * rng.normal(size=(400, 4))])
    best = search(X)
    assert best is not None
    assert np.linalg.norm(best.result.theta.location) < 0.5


def test_none_if_everything_collapses():
    X = np.random.default_rng(2).normal(size=(30, 8))
    assert search(X, efficiency=1e-4) is None


@pytest.mark.parametrize("n_features", [50, 100])
def test_a_cluster_of_two_percent_is_not_hidden(n_features):
    """Its start has the determinant and nearly the location of the one that holds the cluster."""
    X, is_outlier = make_contaminated(
        20 * n_features, n_features, 0.02, outliers="clustered", random_state=202
    )
    detector = EOSDetector(fdr=0.05).fit(X)
    assert detector.is_outlier_[is_outlier].all()


def test_an_end_that_slides_away_slowly_is_not_believed():
    """At the efficient alpha this solution drifts, ever faster, onto the outliers."""
    X, is_outlier = make_contaminated(
        1000, 10, 0.4, outliers="clustered", inliers="autoregressive", random_state=313
    )
    assert EOSDetector().fit(X).is_outlier_[is_outlier].all()


def test_ties_are_not_decided_by_rounding():
    """Rows on a grid, permuted: all distances and boxes are tied many times over."""
    grid = np.array([[x, y] for x in range(6) for y in range(6)]) / 3.0
    rows = np.repeat(grid, np.arange(36) % 3 + 1, axis=0)
    starts = list(cluster_starts(rows, np.ones(len(rows)), 4))
    again = list(cluster_starts(grid, np.arange(36) % 3 + 1.0, 4))
    order = np.random.default_rng(0).permutation(len(rows))
    permuted = list(cluster_starts(rows[order], np.ones(len(rows)), 4))
    for one, two, three in zip(starts, again, permuted, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)
        np.testing.assert_allclose(one, three, atol=1e-12)
