"""The closed form for many rows of errors at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eosparse.core import optimal_weights, rowwise_weights, rowwise_weights_for_perplexity


@pytest.mark.parametrize("alpha", [0.7, 1e-3, 1e200, np.inf])
def test_every_row_is_the_closed_form(alpha):
    errors = np.random.default_rng(0).normal(size=(3, 30))
    solution = rowwise_weights(errors, alpha)
    for row in range(3):
        expected = optimal_weights(errors[row], min(alpha, 1e300))
        np.testing.assert_allclose(solution.weights[row], expected.weights, rtol=1e-13, atol=1e-299)
        assert solution.perplexities[row] == pytest.approx(expected.perplexity, rel=1e-13)


matrices = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(3, 40)),
                  elements=st.floats(-1e6, 1e6))  # fmt: skip


@given(matrices, st.floats(0.01, 0.99))
def test_every_row_reaches_the_perplexity_or_has_too_many_ties(errors, part):
    wanted = 1 + part * (errors.shape[1] - 1)
    solution = rowwise_weights_for_perplexity(errors, wanted)
    ties = (errors == errors.min(axis=1, keepdims=True)).sum(axis=1)
    expected = np.maximum(ties, wanted)
    np.testing.assert_allclose(solution.perplexities, expected, rtol=1e-10)
    np.testing.assert_allclose(solution.weights.sum(axis=1), 1.0, rtol=1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(solution.weights > 0, np.log(solution.weights), 0.0)
    np.testing.assert_allclose(-(solution.weights * logs).sum(axis=1), np.log(expected), atol=1e-10)
    np.testing.assert_array_equal(solution.alphas == 0, ties >= wanted)


@given(matrices, st.floats(0.01, 0.99), st.integers(0, 2**32))
def test_infinite_errors_are_as_if_they_were_not_there(errors, part, seed):
    wanted = 1 + part * (errors.shape[1] - 1)
    place = np.random.default_rng(seed).integers(errors.shape[1] + 1)
    wider = np.insert(errors, place, np.inf, axis=1)
    for solve, value in (
        (rowwise_weights_for_perplexity, wanted),
        (rowwise_weights, wanted),
        (rowwise_weights, np.inf),
    ):
        expected, solution = solve(errors, value), solve(wider, value)
        assert (solution.weights[:, place] == 0).all()
        others = np.delete(solution.weights, place, axis=1)
        # Where the entropy hardly depends on α, equal entropies leave the weights some room.
        np.testing.assert_allclose(others, expected.weights, rtol=0, atol=1e-6)
        np.testing.assert_allclose(solution.perplexities, expected.perplexities, rtol=1e-10)
