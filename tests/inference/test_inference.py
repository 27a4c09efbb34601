"""P-values, false-discovery control and explanations against independent computations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from eosparse.core import weighted_moments
from eosparse.inference import (
    Explanation,
    FittedGamma,
    ScaledF,
    SelfPull,
    count_rejections,
)


def test_without_weighting_the_law_is_exact():
    """c = 0: Hotelling's law for a new row, with the biased covariance."""
    rng = np.random.default_rng(0)
    n, d, p = 12, 3, []
    law = ScaledF.of_fit(d, n, 0.0)
    for _ in range(4000):
        X, new = rng.normal(size=(n, d)), rng.normal(size=d)
        centred = X - X.mean(axis=0)
        y = new - X.mean(axis=0)
        p.append(law.p_values(np.array([y @ np.linalg.solve(centred.T @ centred / n, y)]))[0])
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_leave_one_out_is_exact_without_weighting():
    X = np.random.default_rng(1).normal(size=(20, 3))
    n = len(X)
    mean, V = X.mean(axis=0), np.cov(X, rowvar=False, bias=True)
    m = np.einsum("ij,ij->i", (X - mean) @ np.linalg.inv(V), X - mean)
    found = SelfPull(coupling=0.0, peak=1 / n).leave_out(m)
    for row in range(n):
        rest = np.delete(X, row, axis=0)
        y = X[row] - rest.mean(axis=0)
        direct = y @ np.linalg.solve(np.cov(rest, rowvar=False, bias=True), y)
        assert found[row] == pytest.approx(direct)


@given(st.floats(0.0, 0.6), st.floats(1e-5, 5e-3))
def test_self_pull_is_undone_and_done(coupling, peak):
    pull = SelfPull(coupling, peak)
    m = np.linspace(0.0, 50.0, 30)
    loo = pull.leave_out(m)
    assert (loo >= (1 - coupling) * m).all()
    np.testing.assert_allclose(pull.take_in(loo), m, rtol=1e-6, atol=1e-9)


@given(st.floats(1e-12, 0.5))
def test_distance_at_inverts_p_values(level):
    for law in (ScaledF.of_fit(5, 300.0, 0.3), FittedGamma(4.0, 2.0)):
        distance = law.distance_at(np.array([level]))
        assert law.p_values(distance)[0] == pytest.approx(level, rel=1e-6)


def test_a_gamma_law_is_recovered_from_tilted_weights():
    rng = np.random.default_rng(2)
    distances = rng.gamma(10.0, 2.0, size=200_000)
    weights = np.exp(-0.2 * distances)
    moments = weighted_moments(distances[:, None], weights, diagonal=True)
    law = FittedGamma.of_weighted(float(moments.mean[0]), float(moments.scatter[0]), 0.2)
    assert law.shape == pytest.approx(10.0, rel=0.05)
    assert law.scale == pytest.approx(2.0, rel=0.05)


def counting(p_values, mass):
    return lambda levels: np.array([mass[p_values <= level].sum() for level in levels])


@given(arrays(np.float64, st.integers(1, 50), elements=st.floats(1e-9, 1.0)), st.floats(0.01, 0.5))
def test_counting_agrees_with_scipys_benjamini_hochberg(p_values, fdr):
    size = len(p_values)
    rejected = count_rejections(counting(p_values, np.ones(size)), float(size), fdr)
    adjusted = stats.false_discovery_control(p_values)
    # Equality of p and its bound is a matter of rounding: leave such draws out.
    if np.abs(adjusted - fdr).min() > 1e-9:
        assert rejected == np.count_nonzero(adjusted <= fdr)


def test_rejected_rows_are_counted_by_their_mass():
    p_values, counts = np.array([0.001, 0.02, 0.03, 0.5]), np.array([2, 1, 3, 4])
    weighted = count_rejections(counting(p_values, counts.astype(float)), 10.0, 0.05)
    repeated = np.repeat(p_values, counts)
    assert weighted == count_rejections(counting(repeated, np.ones(10)), 10.0, 0.05) == 6.0


def test_explanations_name_the_columns():
    explanation = Explanation(np.sqrt([[1.0, 6.0, 3.0]]), ("a", "b", "c"))
    assert explanation.top(0, 2) == [("b", pytest.approx(0.6)), ("c", pytest.approx(0.3))]
    assert explanation.distances.tolist() == pytest.approx([10.0])
    assert explanation.to_frame().columns.tolist() == ["a", "b", "c"]
