"""The Gaussian error: its closed-form fit, invariants and oracles."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.covariance import OAS

from eosparse.core import (
    Status,
    Trail,
    alternate,
    optimal_weights,
    solve_from_prior,
    weighted_moments,
)
from eosparse.models import (
    GaussianModel,
    Normal,
    SingularFitError,
    coupling_for_efficiency,
    largest_stable_coupling,
    largest_uncaptured_coupling,
    oas_shrinkage,
)
from eosparse.models.normal import move_covariance
from eosparse.rows import MemoryRows


def solved(X, alpha, **options):
    model = GaussianModel(n_features=X.shape[1], **options)
    start = solve_from_prior(model, MemoryRows(X))
    return model, alternate(model, MemoryRows(X), alpha, start, tol=0.0).theta


def weights_of(model, X, theta, alpha):
    return optimal_weights(model.errors(X, theta), alpha).weights


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    return rng.normal(size=(500, 3)) @ np.array([[2.0, 0.3, 0], [0, 1, 0.5], [0, 0, 0.2]])


def test_error_is_minus_the_log_density_per_column(table):
    theta = Normal(np.array([0.1, -0.2, 0.3]), np.cov(table, rowvar=False))
    density = multivariate_normal(theta.location, theta.covariance).logpdf(table)
    constant = 3 / 2 * np.log(2 * np.pi)
    np.testing.assert_allclose(
        GaussianModel(n_features=3).errors(table, theta), -(density + constant) / 3, rtol=1e-10
    )


@pytest.mark.parametrize(
    ("structure", "shrinkage"), [("full", 0.0), ("full", 0.3), ("diag", 0.0), ("spherical", 0.0)]
)
def test_solve_minimises_the_weighted_error(table, structure, shrinkage):
    model = GaussianModel(structure, shrinkage, n_features=3, target=0.7)
    rng = np.random.default_rng(2)
    weights = rng.dirichlet(np.ones(len(table)))
    best = model.solve(model.statistics(table, weights))
    value = weights @ model.errors(table, best)
    for _ in range(50):
        location = best.location + 0.05 * rng.normal(size=3)
        if structure == "spherical":
            covariance = best.covariance * np.exp(0.1 * rng.normal())
        elif structure == "diag":
            covariance = best.covariance * np.exp(0.1 * rng.normal(size=3))
        else:
            change = 0.1 * rng.normal(size=(3, 3))
            covariance = (np.eye(3) + change) @ best.covariance @ (np.eye(3) + change).T
        assert weights @ model.errors(table, Normal(location, covariance)) > value


@given(st.integers(0, 2**32 - 1), st.integers(1, 49), st.booleans())
def test_moments_merge_in_any_split(seed, cut, diagonal):
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(50, 3)) + 100, rng.uniform(size=50)
    whole = weighted_moments(X, weights, diagonal=diagonal)
    parts = [
        weighted_moments(X[part], weights[part], diagonal=diagonal)
        for part in (slice(0, cut), slice(cut, 50))
    ]
    for merged in (parts[0] + parts[1], parts[1] + parts[0]):
        assert merged.mass == pytest.approx(whole.mass)
        np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-12)
        np.testing.assert_allclose(merged.scatter, whole.scatter, rtol=1e-9, atol=1e-12)
    scaled = parts[0].scale(3.0)
    tripled = weighted_moments(X[:cut], 3 * weights[:cut], diagonal=diagonal)
    assert scaled.mass == pytest.approx(tripled.mass)
    np.testing.assert_allclose(scaled.scatter, tripled.scatter, atol=1e-12)


@pytest.mark.parametrize("structure", ["full", "diag", "spherical"])
def test_weighted_distances_average_to_the_number_of_columns(table, structure):
    alpha = 0.8
    model, theta = solved(table, alpha, covariance=structure)
    weights = weights_of(model, table, theta, alpha)
    assert weights @ theta.mahalanobis(table) == pytest.approx(3.0, rel=1e-5)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_affine_maps_change_no_weight(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    X[:20] += 4
    matrix = np.linalg.qr(rng.normal(size=(3, 3)))[0] * np.array([0.01, 1.0, 50.0])
    mapped = X @ matrix.T + 1000 * rng.normal(size=3)
    (model, theta), (_, other) = solved(X, 0.9), solved(mapped, 0.9)
    np.testing.assert_allclose(
        weights_of(model, mapped, other, 0.9), weights_of(model, X, theta, 0.9), rtol=1e-4
    )
    np.testing.assert_allclose(
        matrix @ theta.covariance @ matrix.T, other.covariance, rtol=1e-4, atol=1e-8
    )


@pytest.mark.parametrize("structure", ["full", "diag"])
@pytest.mark.parametrize("c", [0.2, 0.5])
def test_correction_makes_the_covariance_consistent(structure, c):
    scale = np.array([1.0, 3.0, 0.2, 1.0])
    X = np.random.default_rng(5).normal(size=(200_000, 4)) * scale
    model, theta = solved(X, 1 / (4 * c), covariance=structure)
    corrected = theta.covariance / (1 - model.coupling(1 / (4 * c)))
    variances = corrected if corrected.ndim == 1 else np.diag(corrected)
    np.testing.assert_allclose(variances, scale**2, rtol=0.03)


def test_effective_sizes_follow_the_formulas():
    X, c = np.random.default_rng(6).normal(size=(100_000, 5)), 0.4
    model, theta = solved(X, 1 / (5 * c))
    solution = optimal_weights(model.errors(X, theta), 1 / (5 * c))
    assert solution.kish_size / len(X) == pytest.approx((1 - c**2) ** 2.5, rel=0.02)
    assert solution.perplexity / len(X) == pytest.approx((np.exp(c) * (1 - c)) ** 2.5, rel=0.02)


def test_efficiency_of_the_location_is_the_wanted_one():
    wanted, d, n = 0.6, 3, 200
    alpha = 1 / (d * coupling_for_efficiency(wanted, d))
    rng = np.random.default_rng(7)
    found, means = [], []
    for _ in range(400):
        X = rng.normal(size=(n, d))
        found.append(solved(X, alpha)[1].location)
        means.append(X.mean(axis=0))
    assert np.var(means) / np.var(found) == pytest.approx(wanted, abs=0.1)


def test_shrinkage_agrees_with_scikit_learn_for_equal_weights():
    X = np.random.default_rng(8).normal(size=(30, 40))
    moments = weighted_moments(X, np.ones(30), diagonal=False)
    shrinkage = oas_shrinkage(moments.scatter, 40, 30)
    assert shrinkage == pytest.approx(OAS().fit(X).shrinkage_, rel=0.05)
    target = np.trace(moments.scatter) / 40
    fit = GaussianModel(n_features=40, shrinkage=shrinkage, target=target).solve(moments)
    np.testing.assert_allclose(
        fit.covariance, (1 - shrinkage) * moments.scatter + shrinkage * target * np.eye(40)
    )
    assert np.isfinite(fit.mahalanobis(X)).all()


def test_badly_conditioned_covariances_keep_their_digits():
    rng = np.random.default_rng(9)
    white = rng.normal(size=(300, 3))
    matrix = np.array([[1.0, 0, 0], [1.0, 1e-5, 0], [1.0, 1e-5, 1e-5]])
    theta = Normal(np.zeros(3), matrix @ matrix.T)
    assert not theta.is_well_conditioned
    np.testing.assert_allclose(
        theta.mahalanobis(white @ matrix.T), np.square(white).sum(axis=1), rtol=1e-4
    )


def test_exact_relations_have_no_covariance():
    X = np.random.default_rng(10).normal(size=(50, 2))
    X = np.column_stack([X, X.sum(axis=1)])
    fit = GaussianModel(n_features=3).solve(weighted_moments(X, np.ones(50), diagonal=False))
    with pytest.raises(SingularFitError):
        _ = fit.factor


def test_exact_relations_are_seen_behind_a_small_pivot():
    """The third column almost follows from the first; the fourth is a sum of all."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 3))
        X[:, 2] = 0.03 * X[:, 0] + 2e-4 * X[:, 2]
        X = np.column_stack([X, X @ rng.normal(size=3)])
        moments = weighted_moments(X, rng.uniform(size=60), diagonal=False)
        with pytest.raises(SingularFitError):
            _ = GaussianModel(n_features=4).solve(moments).factor


def test_the_stability_floor_rises_with_parameters_and_falls_with_rows():
    assert largest_stable_coupling(10, 100) > largest_stable_coupling(50, 100)
    assert largest_stable_coupling(10, 100) < largest_stable_coupling(10, 1000) < 0.5


def test_no_row_holds_the_covariance_to_itself_below_the_bound():
    """Clean rows at alphas on both sides of the bound, which predicts the collapse."""
    X = np.random.default_rng(0).standard_normal((6000, 150))
    bound = largest_uncaptured_coupling(150, 6000, safety=1.0)
    model, results = GaussianModel(n_features=150, smallest_size=300.0), {}
    for part in (0.8, 1.1):
        start = Normal(np.zeros(150), np.eye(150) * (1 - part * bound))
        results[part] = alternate(model, MemoryRows(X), model.alpha(part * bound), start)
    assert results[0.8].effective_size > 3000
    assert results[1.1].status is Status.COLLAPSED


@pytest.mark.parametrize("structure", ["full", "diag"])
def test_foresight_moves_the_inverse_covariance_and_knows_the_divergence(structure):
    rng = np.random.default_rng(0)
    one, other = (np.cov(rng.standard_normal((4, 60)) * [[1], [9], [1], [0.1]]) for _ in "ab")
    before = Normal(np.zeros(4), one if structure == "full" else np.diag(one))
    after = Normal(np.full(4, 0.01), other if structure == "full" else np.diag(other))
    model, c = GaussianModel(structure, n_features=4), 0.3
    foresight = model.foresee(before, after, model.alpha(c), Trail(None, 60.0))

    if structure == "diag":
        one, other = np.diag(np.diag(one)), np.diag(np.diag(other))
    inverse, wanted = np.linalg.inv(one), np.linalg.inv(other)
    expected = np.linalg.inv(inverse + (wanted - inverse) / (1 - c))
    found = foresight.further.covariance
    assert found == pytest.approx(expected if structure == "full" else np.diag(expected))
    assert foresight.further.location == pytest.approx(np.full(4, 0.01) / (1 - c))
    gap = after.location - before.location
    divergence = np.trace(inverse @ other) - 4 - np.linalg.slogdet(inverse @ other)[1]
    assert foresight.fall == pytest.approx((gap @ inverse @ gap + divergence) / (8 * (1 - c)))


def test_crowded_rows_need_fewer_passes_for_the_same_answer():
    X = np.random.default_rng(0).standard_normal((600, 60))
    model = GaussianModel(n_features=60)
    crowded = GaussianModel(n_features=60, crowding=60 * 61 / 2 / len(X))
    start = solve_from_prior(model, MemoryRows(X))
    alpha = model.alpha(0.03)
    plain, aimed = (alternate(m, MemoryRows(X), alpha, start) for m in (model, crowded))
    assert aimed.n_iter < plain.n_iter
    assert aimed.objective == pytest.approx(plain.objective, abs=1e-11)


def test_straight_steps_with_inertia_leave_less_of_both_ends_of_the_spectrum():
    X = np.random.default_rng(0).standard_normal((2000, 100))
    model = GaussianModel(n_features=100, crowding=100 * 101 / 2 / len(X))
    start, alpha = solve_from_prior(model, MemoryRows(X)), model.alpha(0.06)

    class Forgetful(GaussianModel):
        def foresee(self, before, after, alpha, trail):
            return super().foresee(before, after, alpha, replace(trail, earlier=None))

    forgetful = Forgetful(n_features=100, crowding=model.crowding)
    kept, lost = (alternate(m, MemoryRows(X), alpha, start) for m in (model, forgetful))
    assert kept.n_iter < lost.n_iter
    assert kept.objective == pytest.approx(lost.objective, abs=1e-11)


@pytest.mark.parametrize("variance", [1e-150, 1e-300])
def test_a_step_to_a_collapsed_covariance_has_no_end(variance):
    move = move_covariance(Normal(np.zeros(2), np.eye(2)), np.diag([1.0, variance]), 2.0)
    assert move.further is None
    assert move.divergence > 100.0
