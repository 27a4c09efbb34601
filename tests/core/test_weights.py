"""The closed form against its definition, a convex solver and its limits."""

import warnings

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eosparse.core import alpha_for_perplexity, optimal_weights
from eosparse.core.weights import mix_summaries

moderate = arrays(np.float64, st.integers(1, 30), elements=st.floats(-50, 50))
alphas = st.floats(1e-2, 1e2)


def objective(weights, errors, alpha, prior=1.0):
    """The functional, term by term, with 0 log 0 = 0."""
    entropy = np.where(weights > 0, weights * np.log(np.maximum(weights, 1e-300) / prior), 0.0)
    return weights @ errors + alpha * entropy.sum()


@given(moderate, alphas)
def test_weights_lie_on_the_simplex(errors, alpha):
    weights = optimal_weights(errors, alpha).weights
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)


@given(moderate, alphas, st.integers(0, 2**32 - 1))
def test_no_feasible_weights_are_better(errors, alpha, seed):
    best = optimal_weights(errors, alpha).objective
    rng = np.random.default_rng(seed)
    for concentration in (0.1, 1.0, 10.0):
        other = rng.dirichlet(np.full(len(errors), concentration))
        assert objective(other, errors, alpha) >= best - 1e-9 * max(1.0, abs(best))


@given(moderate, alphas)
def test_objective_is_the_functional_at_the_weights(errors, alpha):
    solution = optimal_weights(errors, alpha)
    direct = objective(solution.weights, errors, alpha)
    assert solution.objective == pytest.approx(direct, rel=1e-9, abs=1e-9)


@settings(max_examples=10)
@given(arrays(np.float64, 6, elements=st.floats(-3, 3)), st.floats(0.3, 5))
def test_a_convex_solver_agrees(errors, alpha):
    w = cvxpy.Variable(len(errors))
    problem = cvxpy.Problem(
        cvxpy.Minimize(w @ errors - alpha * cvxpy.sum(cvxpy.entr(w))), [cvxpy.sum(w) == 1]
    )
    problem.solve(solver="CLARABEL")
    solution = optimal_weights(errors, alpha)
    assert solution.objective == pytest.approx(problem.value, abs=1e-5)
    np.testing.assert_allclose(solution.weights, w.value, atol=1e-4)


@given(moderate, alphas, st.floats(-1e6, 1e6))
def test_a_shift_of_all_errors_changes_no_weight(errors, alpha, shift):
    # A shift rounds the errors themselves, so the comparison must allow for that rounding.
    before, after = (optimal_weights(e, alpha) for e in (errors, errors + shift))
    slack = 1e-9 + 4 * np.spacing(abs(shift) + 50) / alpha
    np.testing.assert_allclose(after.weights, before.weights, atol=slack)
    assert after.objective == pytest.approx(before.objective + shift, rel=1e-9, abs=1e-6)


@given(moderate)
def test_limits_of_alpha(errors):
    n = len(errors)
    np.testing.assert_allclose(optimal_weights(errors, 1e12).weights, np.full(n, 1 / n), rtol=1e-9)
    distinct = np.arange(n, dtype=float) + errors.min()
    np.testing.assert_allclose(optimal_weights(distinct, 1e-6).weights, np.eye(n)[0], atol=1e-12)


@given(
    arrays(np.float64, st.integers(1, 12), elements=st.floats(-30, 30)),
    alphas,
    st.data(),
)
def test_a_prior_of_k_equals_the_row_k_times(errors, alpha, data):
    counts = data.draw(arrays(np.int64, len(errors), elements=st.integers(0, 4)))
    if counts.sum() == 0:
        counts[0] = 1
    weighted = optimal_weights(errors, alpha, counts)
    repeated = optimal_weights(np.repeat(errors, counts), alpha)
    owner = np.repeat(np.arange(len(errors)), counts)
    collected = np.bincount(owner, repeated.weights, minlength=len(errors))
    np.testing.assert_allclose(weighted.weights, collected, atol=1e-12)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9, abs=1e-9)
    assert weighted.perplexity == pytest.approx(repeated.perplexity, rel=1e-9)
    assert weighted.kish_size == pytest.approx(repeated.kish_size, rel=1e-9)


@given(
    arrays(np.float64, st.integers(2, 30), elements=st.floats(-50, 50)), alphas, st.integers(1, 29)
)
def test_summaries_of_parts_merge_to_that_of_the_whole(errors, alpha, cut):
    cut = min(cut, len(errors) - 1)
    parts = [optimal_weights(part, alpha).summary for part in (errors[:cut], errors[cut:])]
    whole, merged = optimal_weights(errors, alpha).summary, parts[0] + parts[1]
    assert merged.objective == pytest.approx(whole.objective, rel=1e-10, abs=1e-10)
    assert merged.perplexity == pytest.approx(whole.perplexity, rel=1e-9)
    assert merged.kish_size == pytest.approx(whole.kish_size, rel=1e-9)
    assert parts[0].share_beside(parts[1]) == pytest.approx(
        optimal_weights(errors, alpha).weights[:cut].sum(), abs=1e-12
    )


@given(arrays(np.float64, st.integers(3, 30), elements=st.floats(0, 10), unique=True))
def test_effective_sizes_grow_with_alpha(errors):
    solutions = [optimal_weights(errors, alpha) for alpha in np.geomspace(0.05, 50, 8)]
    for size in ("perplexity", "kish_size"):
        values = [getattr(solution, size) for solution in solutions]
        assert (np.diff(values) >= -1e-9).all()


# Gaps below this are not resolved by floats once they are divided by alpha.
resolved = st.floats(0, 10).map(lambda value: value if value > 1e-290 else 0.0)


@given(
    arrays(np.float64, st.integers(3, 40), elements=resolved, unique=True),
    st.floats(0.05, 0.95),
)
def test_alpha_for_perplexity_inverts_perplexity(errors, part):
    wanted = 1 + part * (len(errors) - 1)
    alpha = alpha_for_perplexity(errors, wanted)
    assert optimal_weights(errors, alpha).perplexity == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([1e300, -1e300], [0.0, 1.0]),
        ([-1e300, -1e300], [0.5, 0.5]),
        ([1e300], [1.0]),
        ([7.0, 7.0, 7.0], [1 / 3] * 3),
        ([0.0], [1.0]),
    ],
)
def test_extreme_errors_give_right_answers_without_warnings(errors, expected, alpha):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = optimal_weights(errors, alpha)
    np.testing.assert_allclose(solution.weights, expected, atol=1e-15)
    assert np.isfinite(solution.objective)
    n = len([e for e in expected if e > 0])
    assert solution.perplexity == pytest.approx(n)
    assert solution.kish_size == pytest.approx(n)
    assert solution.objective == pytest.approx(min(errors) - alpha * np.log(n), rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], 1.0), "row 1"),
        (([], 1.0), "not empty"),
        (([1.0], 0.0), "alpha"),
        (([1.0], -1.0), "alpha"),
        (([1.0, 2.0], 1.0, [1.0]), "shape"),
        (([1.0, 2.0], 1.0, [-1.0, 2.0]), "non-negative"),
        (([1.0, 2.0], 1.0, [0.0, 0.0]), "all zero"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        optimal_weights(*arguments)


@pytest.mark.parametrize("wanted", [0.5, 1.0, 3.0, 10.0])
def test_unreachable_perplexities_are_refused(wanted):
    with pytest.raises(ValueError, match="cannot be reached"):
        alpha_for_perplexity([0.0, 1.0, 2.0], wanted)


def test_a_far_better_row_without_prior_weight_changes_nothing():
    solution = optimal_weights([-1e300, 0.0, 0.0], 1e-12, [0, 1, 1])
    np.testing.assert_array_equal(solution.weights, [0.0, 0.5, 0.5])


@given(arrays(np.float64, 12, elements=st.floats(-5, 5)), st.integers(1, 11))
def test_an_infinite_alpha_is_the_ordinary_mean(errors, cut):
    prior = np.arange(1.0, 13.0)
    whole = optimal_weights(errors, np.inf, prior)
    np.testing.assert_allclose(whole.weights, prior / prior.sum())
    assert whole.objective == pytest.approx(np.average(errors, weights=prior), abs=1e-12)
    parts = [optimal_weights(errors[part], np.inf, prior[part]).summary
             for part in (slice(0, cut), slice(cut, None))]  # fmt: skip
    merged = parts[0] + parts[1]
    assert merged.objective == pytest.approx(whole.objective, abs=1e-12)
    assert merged.kish_size == pytest.approx(whole.kish_size)


@given(arrays(np.float64, 10, elements=st.floats(-3, 3)), st.floats(0.2, 5), st.floats(0.05, 0.95))
def test_fixed_shares_give_the_minimum_under_that_constraint(errors, alpha, share):
    groups = (slice(0, 4), slice(4, None))
    solutions = [optimal_weights(errors[group], alpha) for group in groups]
    summary = mix_summaries([solution.summary for solution in solutions], [share, 1 - share])
    w = np.concatenate([share * solutions[0].weights, (1 - share) * solutions[1].weights])
    assert summary.objective == pytest.approx(w @ errors + alpha * w @ np.log(w), abs=1e-9)
    assert summary.kish_size == pytest.approx(1 / (w @ w))
    # Any other weights with these shares are worse.
    rng = np.random.default_rng(0)
    other = np.concatenate(
        [share * rng.dirichlet(np.ones(4)), (1 - share) * rng.dirichlet(np.ones(6))]
    )
    assert other @ errors + alpha * other @ np.log(other) >= summary.objective - 1e-9


def test_errors_that_floats_do_not_resolve_are_refused():
    with pytest.raises(ValueError, match="floats resolve"):
        alpha_for_perplexity([0.0, 1.0, 5e-324], 1.5)
