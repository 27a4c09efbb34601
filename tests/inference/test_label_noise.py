"""Statements about labels: rankings, noise rates, chances of being wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from eosparse.inference import (
    compute_auc,
    compute_mean_auc,
    estimate_label_noise,
    explain_labels,
    flag_wrong_labels,
    promise_labels,
)


@given(st.integers(0, 10_000))
def test_the_area_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    scores, mass = rng.integers(0, 6, 40).astype(float), rng.uniform(0.1, 3, 40)
    truth = rng.permutation(np.arange(40) < 15)
    expected = roc_auc_score(truth, scores, sample_weight=mass)
    assert compute_auc(truth, scores, mass) == pytest.approx(expected)


def test_the_mean_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    classes, probabilities = rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60)
    expected = roc_auc_score(classes, probabilities, multi_class="ovr", average="weighted")
    assert compute_mean_auc(probabilities, classes, np.ones(60)) == pytest.approx(expected)
    assert np.isnan(compute_mean_auc(probabilities, np.zeros(60, dtype=int), np.ones(60)))


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


def test_overlap_and_noise_are_distinguished():
    """Equal disagreement, from overlap or from noise, leads to very different alphas."""
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


def learned(right, sharpness):
    """Probabilities of a learner that is more or less sure than it should be."""
    powers = np.column_stack([1 - right, right]) ** sharpness
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("rate", [0.02, 0.2])
def test_chances_of_being_wrong_are_calibrated(sharpness, rate):
    """Also where the learner is surer than it should be, or less sure."""
    _, given, truth, right = simulated(rate, 3.0)
    explained = explain_labels(learned(right, sharpness), given)
    assert explained.sharpness == pytest.approx(1 / sharpness, rel=0.1)
    np.testing.assert_allclose(explained.matrix, [[1 - rate, rate], [rate, 1 - rate]], atol=0.015)
    is_wrong = given != truth
    for low in np.arange(0.0, 1.0, 0.2):
        inside = (explained.chances >= low) & (explained.chances <= low + 0.2)
        tolerance = 0.02 + 3 * np.sqrt(0.25 / inside.sum())
        expected = explained.chances[inside].mean()
        assert is_wrong[inside].mean() == pytest.approx(expected, abs=tolerance)


def test_flagged_labels_keep_the_false_discovery_rate():
    _, given, truth, right = simulated(0.2, 3.0, seed=1)
    flagged = flag_wrong_labels(explain_labels(learned(right, 2.0), given).chances, 0.1)
    assert 0.06 < (given == truth)[flagged].mean() < 0.13
    assert flagged.sum() > 1000
    assert not flag_wrong_labels(np.full(5, 0.5), 0.1).any()


def test_a_few_wrong_labels_are_found():
    """One in a hundred: too few to read a rate from some rows alone."""
    _, given, truth, right = simulated(0.0, 6.0, n=300)
    given[[3, 50, 200]] = 1 - truth[[3, 50, 200]]
    flagged = flag_wrong_labels(explain_labels(learned(right, 1.0), given).chances, 0.1)
    assert np.flatnonzero(flagged).tolist() == [3, 50, 200]


def test_one_pair_of_classes_confused_is_found():
    """Noise between two of many classes is not diluted by the others."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 6, 3000)
    probabilities = np.full((3000, 6), 0.02)
    probabilities[np.arange(3000), truth] = 0.9
    given = np.where((truth == 1) & (rng.uniform(size=3000) < 0.3), 4, truth)
    explained = explain_labels(probabilities, given)
    assert explained.matrix[1, 4] == pytest.approx(0.3, abs=0.05)
    flagged = flag_wrong_labels(explained.chances, 0.1)
    assert (given != truth)[flagged].mean() > 0.9
    assert flagged[given != truth].mean() > 0.9


def test_no_rate_is_promised_if_the_nearest_rows_side_with_flagged_labels():
    truth = np.arange(300) % 2
    sure = np.where(truth[:, None] == [0, 1], 0.999, 0.001)
    given = np.where(np.arange(300) % 10 == 0, 1 - truth, truth)
    support, oppose = np.eye(2)[truth], np.eye(2)[given]
    assert promise_labels(sure, given, np.ones(300), given != truth, support)
    against = promise_labels(sure, given, np.ones(300), given != truth, oppose)
    assert not against
    assert "nearest rows" in against.reason


def flag_by_class(of_zero, of_one):
    """Return sure predictions of two classes, and labels of which so many of each are wrong."""
    truth = np.arange(400) % 2
    wrong = np.concatenate([np.flatnonzero(truth == 1)[:of_zero], np.arange(0, 2 * of_one, 2)])
    given = truth.copy()
    given[wrong] = 1 - truth[wrong]
    return np.where(truth[:, None] == [0, 1], 0.999, 0.001), given, given != truth


@pytest.mark.parametrize(
    ("of_zero", "of_one", "reason"),
    [
        (20, 20, None),
        (20, 0, None),
        (20, 1, None),
        (20, 4, "17% of the flagged labels are of classes with far fewer flags than others"),
        (4, 5, "fewer than 10 labels are flagged"),
        (0, 0, None),
    ],
)
def test_flags_that_are_few_or_the_only_ones_of_their_class_promise_nothing(
    of_zero, of_one, reason
):
    sure, given, is_issue = flag_by_class(of_zero, of_one)
    promise = promise_labels(sure, given, np.ones(400), is_issue)
    assert bool(promise) == (reason is None)
    assert reason is None or reason in promise.reason


def test_a_rate_that_allows_more_mistakes_allows_more_of_rare_classes():
    sure, given, is_issue = flag_by_class(20, 4)
    assert promise_labels(sure, given, np.ones(400), is_issue, fdr=0.2)


def test_mistakes_made_evenly_are_promised_for_unequal_classes():
    truth = (np.arange(400) % 5 == 0).astype(int)
    is_wrong = np.arange(400) % 9 == 0
    given = np.where(is_wrong, 1 - truth, truth)
    sure = np.where(truth[:, None] == [0, 1], 0.999, 0.001)
    assert promise_labels(sure, given, np.ones(400), is_wrong)


def test_overlap_that_may_explain_the_flags_promises_nothing():
    """The first 40 rows are wrong; of 60 rows, the predictions are less sure."""

    def ask(first, sharpness):
        sure, given, is_issue = flag_by_class(20, 20)
        sure[first : first + 60] = 0.6 * sure[first : first + 60] + 0.2
        return promise_labels(sure, given, np.ones(400), is_issue, sharpness=sharpness)

    assert ask(100, 2.0)  # where the predictions are less sure, no label is wrong
    assert ask(33, 1.0)
    assert "too unsure" in ask(33, 2.0).reason
    assert "may overlap more than labels are wrong" in ask(28, 1.0).reason


def test_a_first_guess_without_noise_does_not_rule_it_out():
    truth = np.arange(150) % 3
    sure = np.full((150, 3), 0.01) + 0.97 * np.eye(3)[truth]
    given = truth.copy()
    given[4] = (truth[4] + 1) % 3
    explained = explain_labels(sure, given, np.eye(3))
    assert explained.chances[4] > 0.5
    assert explained.chances[given == truth].max() < 0.01
