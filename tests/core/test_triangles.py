"""Factors and inverses made in blocks are those of LAPACK."""

from __future__ import annotations

import numpy as np
import pytest

from eosparse.core import factor_lower, factor_plainly, find_condition, invert_lower
from eosparse.core.moments import rough_moments, weighted_moments


def draw_covariance(size, seed=0):
    rows = np.random.default_rng(seed).standard_normal((size + 50, size))
    return rows.T @ rows / size


@pytest.mark.parametrize("size", [3, 511, 512, 700])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_factor_and_inverse_give_back_the_matrix(size, dtype):
    matrix = draw_covariance(size).astype(dtype)
    lower = factor_lower(matrix)
    inverse = invert_lower(lower)
    assert lower.dtype == inverse.dtype == dtype
    assert (np.triu(lower, 1) == 0).all()
    assert (np.triu(inverse, 1) == 0).all()
    digits = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(lower @ lower.T, matrix, atol=digits)
    np.testing.assert_allclose(inverse @ lower, np.eye(size), atol=100 * digits)


def test_factors_in_blocks_and_by_lapack_are_equal():
    matrix = draw_covariance(600)
    np.testing.assert_allclose(factor_lower(matrix), factor_plainly(matrix), atol=1e-12)


@pytest.mark.parametrize("place", [0, 300, 599])
def test_what_is_not_positive_definite_has_no_factor(place):
    matrix = draw_covariance(600)
    matrix[place, place] = -1.0
    assert factor_lower(matrix) is factor_plainly(matrix) is None


def test_condition_is_the_same_in_either_order():
    lower = factor_lower(draw_covariance(40))
    both = [find_condition(order(lower)) for order in (np.ascontiguousarray, np.asfortranarray)]
    assert both[0] > 0
    assert both[0] == pytest.approx(both[1])
    lower[7, 7] = 0.0
    assert find_condition(lower) == 0.0


def test_rough_moments_are_those_in_single_precision():
    rng = np.random.default_rng(0)
    rows, weights = rng.standard_normal((500, 6)), rng.random(500) * (rng.random(500) < 0.7)
    rough = rough_moments(rows.astype(np.float32), weights)
    exact = weighted_moments(rows, weights, diagonal=False)
    assert rough.mass == pytest.approx(exact.mass)
    np.testing.assert_allclose(rough.mean, exact.mean, atol=1e-6)
    np.testing.assert_allclose(rough.scatter, exact.scatter, atol=1e-6)
