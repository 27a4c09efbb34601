"""Algorithm 1: descent, statuses, callbacks, and models of one's own."""

from dataclasses import dataclass

import numpy as np
import pytest

from eosparse.core import (
    CollapseError,
    DescentError,
    Moments,
    State,
    Status,
    Strata,
    alpha_path,
    alternate,
    longest_plateau,
    optimal_weights,
    solve_from_prior,
    visit,
    weighted_moments,
)
from eosparse.models import GaussianModel, TableModel
from eosparse.rows import MemoryRows


@dataclass(frozen=True)
class SquaredDistance(TableModel):
    """g = |x - θ|²: with one centre, EOS is Gaussian mean shift."""

    smallest_size: float = 1.0

    def errors(self, block, theta):
        return np.square(block - theta).sum(axis=1)

    def statistics(self, block, weights, theta):  # noqa: ARG002
        return weighted_moments(block, weights, diagonal=True)

    def solve(self, statistics: Moments):
        return statistics.mean


@dataclass(frozen=True)
class Wrong(SquaredDistance):
    """A model whose fit walks away from the minimum."""

    def solve(self, statistics: Moments):
        return statistics.mean + 5.0


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 4))
    X[:40] += 12.0
    return X


def gaussian_start(X, model):
    return solve_from_prior(model, MemoryRows(X))


def test_mean_shift_is_found_by_an_independent_iteration(table):
    alpha = 30.0
    centre = table[100].copy()
    result = alternate(SquaredDistance(), MemoryRows(table), alpha, centre, tol=1e-15)
    for _ in range(5000):
        kernel = np.exp(-np.square(table - centre).sum(axis=1) / (2 * alpha / 2))
        centre = kernel @ table / kernel.sum()
    np.testing.assert_allclose(result.theta, centre, rtol=1e-6)


def test_objective_never_rises_and_ends_converged(table):
    model = GaussianModel(n_features=4)
    result = alternate(model, MemoryRows(table), 0.7, gaussian_start(table, model))
    assert result.status is Status.CONVERGED
    assert (np.diff(result.objective_history) <= 1e-12).all()
    assert result.objective == result.objective_history[-1]
    assert 1 < result.effective_size < len(table)


def test_acceleration_leads_to_the_plain_answer_in_fewer_passes(table):
    model = GaussianModel(n_features=4)
    start = gaussian_start(table, model)
    plain, fast = (
        alternate(model, MemoryRows(table), 0.5, start, tol=0.0, accelerate=accelerate)
        for accelerate in (False, True)
    )
    np.testing.assert_allclose(fast.theta.covariance, plain.theta.covariance, rtol=1e-6, atol=1e-6)
    assert fast.objective == pytest.approx(plain.objective, abs=1e-12)
    assert fast.n_iter < plain.n_iter


@pytest.mark.parametrize("block_numbers", [4 * 256, 4 * 300, 10**6])
def test_blocks_change_nothing(table, block_numbers):
    X = np.tile(table, (3, 1))
    model = GaussianModel(n_features=4)
    start = gaussian_start(X, model)
    whole = visit(model, MemoryRows(X, block_numbers=10**9), start, 0.6)
    parts = visit(model, MemoryRows(X, block_numbers=block_numbers), start, 0.6)
    assert parts.summary.objective == pytest.approx(whole.summary.objective, rel=1e-13)
    np.testing.assert_allclose(parts.statistics.mean, whole.statistics.mean, rtol=1e-11)
    np.testing.assert_allclose(parts.statistics.scatter, whole.statistics.scatter, rtol=1e-11)


def test_blocks_without_prior_mass_are_left_out(table):
    prior = np.ones(len(table))
    prior[:256] = 0.0
    model = GaussianModel(n_features=4)
    start = gaussian_start(table, model)
    rows = MemoryRows(table, prior, block_numbers=4 * 256)
    kept = visit(model, MemoryRows(table[256:]), start, 0.6)
    np.testing.assert_allclose(visit(model, rows, start, 0.6).statistics.mean, kept.statistics.mean)


def test_collapse_is_named_and_gives_no_answer(table):
    model = GaussianModel(n_features=4, smallest_size=10.0)
    result = alternate(model, MemoryRows(table), 0.9 / 4, gaussian_start(table, model))
    assert result.status is Status.COLLAPSED
    with pytest.raises(CollapseError, match="larger alpha"):
        _ = result.theta


def test_max_iter_is_reported(table):
    model = GaussianModel(n_features=4)
    result = alternate(model, MemoryRows(table), 0.6, gaussian_start(table, model), max_iter=2)
    assert result.status is Status.MAX_ITER
    assert result.n_iter == 2


def test_a_callback_sees_every_iteration_and_can_stop(table):
    model, seen = GaussianModel(n_features=4), []

    def callback(iteration):
        seen.append(iteration.objective)
        return iteration.number == 3

    result = alternate(
        model, MemoryRows(table), 0.6, gaussian_start(table, model), callback=callback
    )
    assert result.status is Status.INTERRUPTED
    assert tuple(seen) == result.objective_history


def test_an_interrupt_keeps_the_state_reached(table):
    model = GaussianModel(n_features=4)

    def callback(iteration):
        if iteration.number == 2:
            raise KeyboardInterrupt

    result = alternate(
        model, MemoryRows(table), 0.6, gaussian_start(table, model), callback=callback
    )
    assert result.status is Status.INTERRUPTED
    assert np.isfinite(result.theta.location).all()


def test_a_model_that_climbs_is_found_out(table):
    with pytest.raises(DescentError, match="rose"):
        alternate(Wrong(), MemoryRows(table), 50.0, table.mean(axis=0))


def test_a_rise_of_a_proven_model_is_rounding(table):
    """It ends the alternation where it was; on rows that changed since, it is found out."""

    class Proven(Wrong):
        is_proven = True

    result = alternate(Proven(), MemoryRows(table), 50.0, table.mean(axis=0))
    assert result.status is Status.CONVERGED
    assert len(result.objective_history) == 1
    np.testing.assert_array_equal(result.theta, table.mean(axis=0))
    resumed = State(result.theta, objective_history=(result.objective - 1.0,), n_iter=1)
    with pytest.raises(DescentError, match="rose"):
        alternate(Proven(), MemoryRows(table), 50.0, resumed)


def test_random_starts_lie_in_the_hull(table):
    weights = np.random.default_rng(0).uniform(size=len(table))
    theta = solve_from_prior(GaussianModel(n_features=4), MemoryRows(table, weights))
    np.testing.assert_allclose(theta.location, np.average(table, axis=0, weights=weights))


def test_the_last_pass_agrees_with_the_closed_form(table):
    model = GaussianModel(n_features=4)
    result = alternate(model, MemoryRows(table), 0.7, gaussian_start(table, model))
    solution = optimal_weights(model.errors(table, result.theta), 0.7)
    assert solution.objective == pytest.approx(result.objective, rel=1e-12)
    assert solution.kish_size == pytest.approx(result.effective_size, rel=1e-9)


def test_a_path_is_warm_started_and_ends_at_collapse(table):
    model = GaussianModel(n_features=4, smallest_size=10.0)
    alphas = [5.0, 1.0, 0.6, 0.2, 0.1]
    results = alpha_path(model, MemoryRows(table), alphas, gaussian_start(table, model))
    assert [result.alpha for result in results] == alphas[: len(results)]
    assert results[-1].status is Status.COLLAPSED
    assert all(result.status is Status.CONVERGED for result in results[:-1])
    sizes = [result.effective_size for result in results[:-1]]
    assert (np.diff(sizes) < 0).all()


def test_longest_plateau_of_a_constant_is_all_of_it():
    assert longest_plateau([5, 5, 5], 0) == slice(0, 3)
    assert longest_plateau([], 0) == slice(0, 0)


def test_longest_plateau_is_measured_where_its_members_stand():
    levels = [1, 1, 1, 5, 5, 9]
    assert longest_plateau(levels, 0) == slice(0, 3)
    assert longest_plateau(levels, 0, places=[9, 8, 7, 6, 1, 0]) == slice(3, 5)
    assert longest_plateau([1, 2, 3], 0, places=[3, 2, 1]) == slice(0, 1)


def test_sets_of_equal_size_are_no_plateau():
    sets = np.eye(6, dtype=bool)[[0, 1, 2, 3, 3, 3, 4]]
    assert longest_plateau(sets, 1) == slice(3, 6)
    assert longest_plateau(sets, 2) == slice(0, 7)


@dataclass(frozen=True)
class Fragile(SquaredDistance):
    """A model whose fit may have no answer."""

    def solve(self, statistics: Moments):  # noqa: ARG002  # the base class's signature
        raise CollapseError


def test_a_fit_without_an_answer_is_a_collapse(table):
    result = alternate(Fragile(), MemoryRows(table), 50.0, table.mean(axis=0))
    assert result.status is Status.COLLAPSED
    with pytest.raises(CollapseError, match="determine no fit"):
        _ = result.theta


@dataclass(frozen=True)
class Inexact(Wrong):
    """The same, but it says so."""

    is_exact: bool = False


def test_a_model_without_a_promise_ends_before_its_first_bad_step(table):
    start = table.mean(axis=0)
    result = alternate(Inexact(), MemoryRows(table), 50.0, start)
    assert result.status is Status.CONVERGED
    np.testing.assert_array_equal(result.theta, start)


def test_strata_keep_their_shares(table):
    """At the shares that a single simplex would give, the constraint changes nothing."""
    model, theta = GaussianModel(n_features=4), gaussian_start(table, GaussianModel(n_features=4))
    whole = visit(model, MemoryRows(table), theta, 0.7)
    weights = optimal_weights(model.errors(table, theta), 0.7).weights
    parts = (MemoryRows(table[:100]), MemoryRows(table[100:]))
    shares = (weights[:100].sum(), weights[100:].sum())
    split = visit(model, Strata(parts, shares), theta, 0.7)
    assert split.summary.objective == pytest.approx(whole.summary.objective, rel=1e-10)
    np.testing.assert_allclose(split.statistics.mean, whole.statistics.mean, rtol=1e-10)
    np.testing.assert_allclose(split.statistics.scatter, whole.statistics.scatter, rtol=1e-8)
    fixed = alternate(model, Strata(parts, (0.5, 0.5)), 0.7, theta)
    assert (np.diff(fixed.objective_history) <= 1e-12).all()
    assert fixed.status is Status.CONVERGED


def test_strata_keep_their_shares_without_weighting(table):
    """At an infinite alpha the fit is the mean of the groups' means, by their shares."""
    parts = (MemoryRows(table[:100]), MemoryRows(table[100:]))
    result = alternate(SquaredDistance(), Strata(parts, (0.5, 0.5)), np.inf, table[0])
    wanted = (table[:100].mean(axis=0) + table[100:].mean(axis=0)) / 2
    np.testing.assert_allclose(result.theta, wanted)
    assert result.effective_size == pytest.approx(1 / (0.25 / 100 + 0.25 / 300))


def test_an_infinite_alpha_is_ordinary_learning(table):
    model = GaussianModel(n_features=4)
    result = alternate(model, MemoryRows(table), np.inf, gaussian_start(table[:50], model))
    np.testing.assert_allclose(result.theta.location, table.mean(axis=0))
    np.testing.assert_allclose(result.theta.covariance, np.cov(table.T, bias=True))


@pytest.mark.parametrize("stop", [1, 2, 5])
@pytest.mark.parametrize("model", [GaussianModel(n_features=4), SquaredDistance()], ids=type)
def test_a_resumed_alternation_has_the_same_history(table, model, stop):
    alpha = 0.7 if isinstance(model, GaussianModel) else 60.0
    rows, start, states = MemoryRows(table), solve_from_prior(model, MemoryRows(table)), []

    def interrupt(iteration):
        states.append(iteration.resume)
        return len(states) == stop

    part = alternate(model, rows, alpha, start, callback=interrupt)
    assert part.status is Status.INTERRUPTED
    assert states[-1].objective_history == part.objective_history
    whole, resumed = (alternate(model, rows, alpha, place) for place in (start, states[-1]))
    assert resumed.objective_history == whole.objective_history
    assert (resumed.status, resumed.n_iter) == (whole.status, whole.n_iter)
    np.testing.assert_array_equal(
        model.errors(table, resumed.theta), model.errors(table, whole.theta)
    )


def test_there_is_nothing_to_resume_after_the_end(table):
    model, states = GaussianModel(n_features=4), []
    alternate(
        model,
        MemoryRows(table),
        0.7,
        gaussian_start(table, model),
        callback=lambda iteration: states.append(iteration.resume),
    )
    assert states[-1] is None
    assert all(state.status is None for state in states[:-1])


def test_a_model_must_define_its_error_and_fit():
    class NoFit(TableModel):
        def errors(self, block, theta):
            return np.abs(block - theta).sum(axis=1)

    with pytest.raises(TypeError, match=r"abstract.*solve.*statistics"):
        NoFit()


def test_a_model_may_visit_rows_in_its_own_way(table):
    """Errors and statistics from one look at the rows; the loop asks for nothing else."""

    class Once(SquaredDistance):
        def visit(self, block, prior, theta, alpha):
            seen.append(len(block))
            return super().visit(block, prior, theta, alpha)

    seen = []
    rows = MemoryRows(table, block_numbers=4 * 256)
    ours = alternate(Once(), rows, 50.0, table[0])
    theirs = alternate(SquaredDistance(), rows, 50.0, table[0])
    assert ours.objective_history == theirs.objective_history
    assert sum(seen) == ours.n_iter * len(table)


def test_a_step_that_nobody_visits_is_not_taken(table):
    calls = []

    class Counting(SquaredDistance):
        def solve(self, statistics):
            calls.append(1)
            return super().solve(statistics)

    result = alternate(Counting(), MemoryRows(table), 50.0, table[0], max_iter=3)
    assert result.status is Status.MAX_ITER
    assert len(calls) == 2
