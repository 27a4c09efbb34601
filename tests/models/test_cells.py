"""Wrong cells: the search against brute force, the objective, and what must not change anything."""

from dataclasses import replace
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import multivariate_normal

from eosparse.core import alternate
from eosparse.models import CellModel, Normal, choose_cells, find_rivals, measure_cells
from eosparse.models.base import Request
from eosparse.rows import MemoryRows, take_sample


def draw_law(rng, size):
    mixing = rng.normal(size=(size, size))
    return Normal(rng.normal(size=size), mixing @ mixing.T + 0.3 * np.eye(size))


def error_of_row(theta, row, kept, costs):
    """Minus the log-density of the kept cells, and the costs of the others."""
    there = ~np.isnan(row)
    kept = kept & there
    error = costs[there & ~kept].sum()
    if kept.any():
        part = theta.covariance[np.ix_(kept, kept)]
        density = multivariate_normal(theta.location[kept], part).logpdf(row[kept])
        error -= density + 0.5 * kept.sum() * np.log(2 * np.pi)
    return error


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_each_cell_is_compared_with_its_conditional_law(seed, size):
    rng = np.random.default_rng(seed)
    theta, rows = draw_law(rng, size), rng.normal(size=(8, size))
    kept = rng.random(rows.shape) < 0.7
    rows[(rng.random(rows.shape) < 0.2) & ~kept] = np.nan
    cells = measure_cells(theta, rows, kept)
    for i, j in product(range(8), range(size)):
        others = kept[i].copy()
        others[j] = False
        centred = (rows[i] - theta.location)[others]
        link = np.linalg.solve(
            theta.covariance[np.ix_(others, others)], theta.covariance[others, j]
        )
        variance = theta.covariance[j, j] - theta.covariance[j, others] @ link
        assert cells.variances[i, j] == pytest.approx(variance, rel=1e-6)
        if not np.isnan(rows[i, j]):
            residual = rows[i, j] - theta.location[j] - link @ centred
            assert cells.residuals[i, j] == pytest.approx(residual, rel=1e-6, abs=1e-8)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_no_single_cell_lowers_the_error_and_few_rows_have_a_better_choice(seed):
    rng = np.random.default_rng(seed)
    theta, rows = draw_law(rng, 4), rng.normal(size=(20, 4))
    rows[rng.random(rows.shape) < 0.2] += 6
    rows[0, 1] = np.nan
    costs = np.full(4, 3.0)
    kept = choose_cells(theta, rows, costs).kept
    n_best = 0
    for row, own in zip(rows, kept, strict=True):
        found = error_of_row(theta, row, own, costs)
        for j in np.flatnonzero(~np.isnan(row)):
            other = own.copy()
            other[j] = not own[j]
            assert found <= error_of_row(theta, row, other, costs) + 1e-8
        every = (np.array(mask) for mask in product([False, True], repeat=4))
        n_best += found <= min(error_of_row(theta, row, mask, costs) for mask in every) + 1e-8
    assert n_best >= 15


def test_rivals_are_the_odds_of_the_next_best_explanation():
    rng = np.random.default_rng(0)
    theta, costs = draw_law(rng, 4), np.full(4, 3.0)
    rows = rng.normal(size=(200, 4))
    rows[rng.random(rows.shape) < 0.2] += 8
    cells = choose_cells(theta, rows, costs)
    chances = find_rivals(theta, rows, cells, costs)
    assert (chances[cells.kept] == 0).all()
    for i, j in np.argwhere(~cells.kept):
        own = error_of_row(theta, rows[i], cells.kept[i], costs)
        back = cells.kept[i].copy()
        back[j] = True
        others = [back.copy() for k in np.flatnonzero(back) if k != j]
        for mask, k in zip(others, [k for k in np.flatnonzero(back) if k != j], strict=True):
            mask[k] = False
        best = min(error_of_row(theta, rows[i], mask, costs) for mask in [back, *others])
        assert chances[i, j] == pytest.approx(1 / (1 + np.exp(best - own)), rel=1e-6, abs=1e-12)


def test_the_objective_never_rises_and_blocks_merge():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(5), 0.7 + 0.3 * np.eye(5), 600)
    X[rng.random(X.shape) < 0.05] += 9
    X[rng.random(X.shape) < 0.05] = np.nan
    sample = take_sample(MemoryRows(np.where(np.isnan(X), 0.0, X)), 600)
    model = CellModel().complete(sample)
    start = model.start_from(MemoryRows(X))
    result = alternate(model, MemoryRows(X), 2.0, start, max_iter=50)
    assert (np.diff(result.objective_history) <= 1e-12).all()
    halves = [model.visit(part, None, start, 2.0) for part in (X[:250], X[250:])]
    whole, merged = model.visit(X, None, start, 2.0), halves[0] + halves[1]
    np.testing.assert_allclose(merged.summary.objective, whole.summary.objective, rtol=1e-12)
    np.testing.assert_allclose(
        model.solve(merged.statistics).covariance, model.solve(whole.statistics).covariance
    )


def test_the_start_with_the_lower_objective_is_taken():
    rng = np.random.default_rng(3)
    X = rng.multivariate_normal(np.zeros(8), 0.9 + 0.1 * np.eye(8), 300)
    X[rng.random(X.shape) < 0.2] += 1.5
    sample = take_sample(MemoryRows(X), 300)
    model = CellModel().complete(sample)
    request = Request("auto", None, searches=True, is_alpha_open=True)
    attempt = next(model.propose(sample, request))
    alone = next(model.propose(sample, replace(request, searches=False)))
    found, other = (
        alternate(model, MemoryRows(X), one.alpha, one.theta, max_iter=40).objective
        for one in (attempt, alone)
    )
    assert found <= other + 1e-6
