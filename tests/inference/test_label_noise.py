"""Statements about labels: rankings, noise rates, chances of being wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from eosparse.inference import (
    area_under_curve,
    calibrated,
    estimate_label_noise,
    mean_area,
    most_likely_wrong,
    probability_wrong,
)


@given(st.integers(0, 10_000))
def test_the_area_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    scores, mass = rng.integers(0, 6, 40).astype(float), rng.uniform(0.1, 3, 40)
    truth = rng.permutation(np.arange(40) < 15)
    expected = roc_auc_score(truth, scores, sample_weight=mass)
    assert area_under_curve(truth, scores, mass) == pytest.approx(expected)


def test_the_mean_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    classes, probabilities = rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60)
    expected = roc_auc_score(classes, probabilities, multi_class="ovr", average="weighted")
    assert mean_area(probabilities, classes, np.ones(60)) == pytest.approx(expected)
    assert np.isnan(mean_area(probabilities, np.zeros(60, dtype=int), np.ones(60)))


def simulated(rate, separation, n=20_000, seed=0):
    """Two Gaussian classes, noisy labels, and the noisy posterior of the right model."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    x = rng.normal(size=n) + separation * (truth - 0.5)
    right = 1 / (1 + np.exp(-separation * x))
    given = np.where(rng.uniform(size=n) < rate, 1 - truth, truth)
    noisy = (1 - rate) * right + rate * (1 - right)
    return np.column_stack([1 - noisy, noisy]), given, truth, right


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.4])
def test_the_noise_rate_of_separable_classes_is_found(rate):
    probabilities, given, _, _ = simulated(rate, 6.0)
    noise = estimate_label_noise(probabilities, given, np.ones(len(given)))
    assert noise.rate == pytest.approx(rate, abs=0.02)
    np.testing.assert_allclose(noise.class_rates, rate, atol=0.03)


def test_noise_of_one_class_is_found():
    _, _, truth, right = simulated(0.0, 6.0)
    rng = np.random.default_rng(2)
    given = np.where((truth == 1) & (rng.uniform(size=len(truth)) < 0.3), 0, truth)
    noisy = np.column_stack([1 - 0.7 * right, 0.7 * right])
    noise = estimate_label_noise(noisy, given, np.ones(len(given)))
    assert noise.rate == pytest.approx(0.15, abs=0.02)
    np.testing.assert_allclose(noise.matrix, [[1.0, 0.0], [0.3, 0.7]], atol=0.03)
    np.testing.assert_allclose(noise.class_rates, [0.3 / 1.3, 0.0], atol=0.03)


def test_overlap_is_told_from_noise():
    """Equal disagreement, from overlap or from noise, asks for very different alphas."""
    overlapping = simulated(0.0, 2.0)
    noisy = simulated(0.16, 6.0)
    wrong = [np.mean(p.argmax(axis=1) != given) for p, given, _, _ in (overlapping, noisy)]
    assert wrong[0] == pytest.approx(wrong[1], abs=0.02)
    estimates = [
        estimate_label_noise(p, given, np.ones(len(given)))
        for p, given, _, _ in (overlapping, noisy)
    ]
    assert estimates[0].rate < 0.05 < estimates[1].rate
    assert estimates[0].overlap > 0.2 > estimates[1].overlap
    assert estimates[0].gap > estimates[1].gap
    assert estimates[0].cautious_gap > 2 * estimates[1].cautious_gap


@pytest.mark.parametrize("sharpness", [1.0, 3.0])
def test_chances_of_being_wrong_are_calibrated(sharpness):
    """Also where the learner is surer than the labels warrant."""
    noisy, given, truth, _ = simulated(0.2, 3.0)
    sure = noisy**sharpness
    sure /= sure.sum(axis=1, keepdims=True)
    noise = np.array([[0.8, 0.2], [0.2, 0.8]])
    chances = probability_wrong(calibrated(sure, given, np.ones(len(given))), given, noise)
    is_wrong = given != truth
    for low in np.arange(0.0, 1.0, 0.2):
        inside = (chances >= low) & (chances <= low + 0.2)
        # Three standard errors of the share, and what isotonic steps may add.
        tolerance = 0.02 + 3 * np.sqrt(0.25 / inside.sum())
        assert is_wrong[inside].mean() == pytest.approx(chances[inside].mean(), abs=tolerance)


def test_the_flagged_set_keeps_the_wanted_rate():
    noisy, given, truth, _ = simulated(0.2, 3.0, seed=1)
    noise = estimate_label_noise(noisy, given, np.ones(len(given)))
    np.testing.assert_allclose(noise.matrix, [[0.8, 0.2], [0.2, 0.8]], atol=0.02)
    chances = probability_wrong(noisy, given, noise.matrix)
    flagged = most_likely_wrong(chances, 0.1)
    assert 0.03 < (given == truth)[flagged].mean() < 0.12
    assert flagged.sum() > 1000
    assert not most_likely_wrong(np.full(5, 0.5), 0.1).any()
