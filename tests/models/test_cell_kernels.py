"""Compiled loops over cells against NumPy's way."""

import numpy as np
import pytest

from eosparse.models import Normal, fused
from eosparse.models.cell_search import choose_cells, measure_cells
from eosparse.models.gaps import spread_of_gaps

pytest.importorskip("numba")


def problem(gaps: float, wrong: float, n_rows=600, n_columns=12):
    """Rows of a correlated law, wrong cells and rows among them, and the costs of cells."""
    rng = np.random.default_rng(7)
    root = rng.normal(size=(n_columns, n_columns)) / n_columns**0.5 + np.eye(n_columns)
    theta = Normal(np.ones(n_columns), root @ root.T)
    X = rng.multivariate_normal(theta.location, theta.covariance, n_rows)
    X[rng.random(X.shape) < wrong] += 7
    X[:20] = 20 * rng.normal(size=(20, n_columns))
    X[rng.random(X.shape) < gaps] = np.nan
    X[30] = np.nan
    costs = 0.5 * (10 - np.log(np.diag(np.linalg.inv(theta.covariance))))
    return theta, X, costs


def both(monkeypatch, function, *arguments):
    results = []
    for most in (0, 2**60):
        monkeypatch.setattr(fused, "_MANY_CELLS", most)
        results.append(function(*arguments))
    return results


@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("wrong", [0.0, 0.05, 0.2])
def test_the_same_cells_are_set_aside(monkeypatch, gaps, wrong):
    theta, X, costs = problem(gaps, wrong)
    compiled, plain = both(monkeypatch, choose_cells, theta, X, costs)
    np.testing.assert_array_equal(compiled.kept, plain.kept)
    assert (~plain.kept & ~np.isnan(X)).sum() >= 20  # there is something to find
    for name in ("filled", "residuals", "variances", "distances", "log_dets"):
        mine, theirs = getattr(compiled, name), getattr(plain, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=name)


def test_given_cells_are_measured_alike(monkeypatch):
    theta, X, _ = problem(0.1, 0.05)
    kept = ~np.isnan(X) & (np.random.default_rng(0).random(X.shape) < 0.8)
    compiled, plain = both(monkeypatch, measure_cells, theta, X, kept)
    for name in ("kept", "filled", "residuals", "variances", "distances", "log_dets"):
        mine, theirs = getattr(compiled, name), getattr(plain, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=name)


def test_spreads_of_gaps_are_alike(monkeypatch):
    theta, X, _ = problem(0.2, 0.0)
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    compiled, plain = both(monkeypatch, spread_of_gaps, theta, np.isnan(X), weights)
    np.testing.assert_allclose(compiled, plain, rtol=1e-10, atol=1e-10)


def test_no_single_change_lowers_the_error(monkeypatch):
    theta, X, costs = problem(0.0, 0.2)
    for cells in both(monkeypatch, choose_cells, theta, X[:30], costs):
        change = np.where(cells.kept, cells.errors - costs, costs - cells.errors)
        assert change.max() <= 1e-9
