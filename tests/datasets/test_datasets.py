"""Data generators, and data sets that ship with the package."""

import numpy as np
import pytest

from eosparse.datasets import load_blood_panel, make_contaminated


@pytest.mark.parametrize("outliers", ["uniform", "clustered", "radial"])
@pytest.mark.parametrize("inliers", ["independent", "autoregressive", "factor"])
def test_counts_and_distributions(outliers, inliers):
    X, bad = make_contaminated(4000, 3, 0.251, outliers=outliers, inliers=inliers, random_state=1)
    assert X.shape == (4000, 3)
    assert bad.sum() == round(0.251 * 4000)
    if outliers == "radial":
        np.testing.assert_allclose(X[bad].std(axis=0), 3.0, rtol=0.1)
    else:
        low, high = (1, 6) if outliers == "uniform" else (3, 4)
        assert X[bad].min() >= low
        assert X[bad].max() <= high
        np.testing.assert_allclose(X[bad].mean(axis=0), 3.5, atol=0.2)
    np.testing.assert_allclose(X[~bad].mean(axis=0), 0.0, atol=0.15)
    if inliers == "autoregressive":
        expected = [[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]]
        np.testing.assert_allclose(np.cov(X[~bad], rowvar=False), expected, atol=0.1)


def test_equal_seeds_give_equal_tables():
    one, two, other = (make_contaminated(random_state=seed).X for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("wrong", [{"outliers": "odd"}, {"inliers": "odd"}, {"contamination": 1.5}])
def test_invalid_parameters_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make_contaminated(**wrong)


def test_the_blood_panel_is_plausible_and_fixed():
    panel = load_blood_panel()
    good = [mistake == "" for mistake in panel.mistakes]
    assert len(set(panel.mistakes)) == 5
    correlation = np.corrcoef(panel.X[good][:, :2], rowvar=False)[0, 1]
    assert correlation == pytest.approx(0.95, abs=0.02)
    np.testing.assert_array_equal(panel.X, load_blood_panel().X)
