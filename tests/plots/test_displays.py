"""Outlier maps and tolerance ellipses: tests of their data."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import chi2

from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.plots import OutlierMapDisplay, ToleranceEllipseDisplay
from eosparse.plots.tolerance_ellipse import compute_ellipse


@pytest.fixture
def fitted():
    X, _ = make_contaminated(300, 3, 0.1, random_state=0)
    return EOSDetector().fit(X), X


def test_outlier_map_shows_every_row_and_the_cut(fitted):
    detector, X = fitted
    ax = Figure().subplots()
    display = OutlierMapDisplay.from_estimator(detector, X, ax=ax)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 300
    np.testing.assert_array_equal(display.distances > display.cut, detector.is_outlier_)
    assert display.ax_ is ax


def test_ellipses_have_the_distance_of_their_level(fitted):
    detector, X = fitted
    ax = Figure().subplots()
    display = ToleranceEllipseDisplay.from_estimator(detector, X, (0, 2), ax=ax)
    pair = [0, 2]
    centred = display.robust - detector.location_[pair]
    inverse = np.linalg.inv(detector.covariance_[np.ix_(pair, pair)])
    distances = np.einsum("ij,jk,ik->i", centred, inverse, centred)
    np.testing.assert_allclose(distances, chi2.ppf(0.99, 2))
    assert ax.get_xlabel() == "x0"
    assert ax.get_ylabel() == "x2"


def test_an_ellipse_contains_its_share_of_rows():
    X = np.random.default_rng(0).multivariate_normal([1, 2], [[2, 1], [1, 3]], size=50_000)
    outline = compute_ellipse(X.mean(axis=0), np.cov(X, rowvar=False), 0.5)
    centred = outline - X.mean(axis=0)
    radius = centred @ np.linalg.inv(np.cov(X, rowvar=False)) * centred
    rows = X - X.mean(axis=0)
    inside = (rows @ np.linalg.inv(np.cov(X, rowvar=False)) * rows).sum(axis=1)
    assert (inside <= radius.sum(axis=1)[0]).mean() == pytest.approx(0.5, abs=0.01)
