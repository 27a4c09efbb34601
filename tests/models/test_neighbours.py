"""Local distances: what they depend on, and what not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from eosparse import EOSDetector
from eosparse.models import Metric, NeighbourModel, neighbours
from eosparse.rows import MemoryRows, count_copies, take_sample


def complete(X, mass=None, **options):
    rows = MemoryRows(X, mass)
    sample = replace(take_sample(rows, 4000), copies=count_copies(rows))
    model = NeighbourModel(**options).complete(sample)
    return model, model.start()


def errors_of(X, **options):
    model, theta = complete(X, **options)
    return model.errors(X, theta)


def draw(seed=0, n_rows=300, n_features=3):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_the_order_of_rows_and_columns_does_not_matter(seed):
    X, rng = draw(seed, 120), np.random.default_rng(seed)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    permuted = errors_of(X[rows][:, columns])
    np.testing.assert_allclose(permuted, errors_of(X)[rows], rtol=1e-9, atol=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(2, 5))
def test_copies_of_the_table_count_once(seed, times):
    X = draw(seed, 100)
    once, over = complete(X), complete(np.tile(X, (times, 1)))
    np.testing.assert_allclose(over[0].errors(X, over[1]), once[0].errors(X, once[1]), rtol=1e-9)
    assert over[0].spread == pytest.approx(once[0].spread)
    assert over[0].centre == pytest.approx(once[0].centre)


def test_errors_are_those_of_the_definition():
    """Against all distances, sorted, for whitened rows; no row is its own neighbour."""
    X = draw(n_rows=80)
    model, theta = complete(X, n_neighbours=5)
    white = model.metric(X)
    distances = np.sqrt(np.square(white[:, None] - white).sum(axis=2))
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :5]
    mean = np.take_along_axis(distances, nearest, axis=1).mean(axis=1)
    logs = np.log(mean + 0.01)
    remote = 2 * np.tanh(np.log1p(np.square(white).sum(axis=1) / X.shape[1]) / 4)
    expected = logs - 2 / 3 * logs[nearest].mean(axis=1) + remote
    np.testing.assert_allclose(model.errors(X, theta), expected, rtol=1e-9)


def test_new_rows_equal_to_training_rows_are_judged_alike():
    X = draw(n_rows=500)
    X[0] = 9.0
    detector = EOSDetector(model="local").fit(X)
    np.testing.assert_allclose(
        detector.score_samples(X[:50].copy()), detector.score_samples(X)[:50]
    )
    np.testing.assert_array_equal(detector.predict(X) == -1, detector.is_outlier_)


@pytest.mark.parametrize("numbers", [1, 700, 5000])
def test_blocks_of_any_size_agree(monkeypatch, numbers):
    X = draw(n_rows=200)
    whole = errors_of(X)
    monkeypatch.setattr(neighbours, "_BLOCK_NUMBERS", numbers)
    np.testing.assert_allclose(errors_of(X), whole, rtol=1e-12)
    model, theta = complete(X)
    parts = [model.errors(X[i : i + 9], theta) for i in range(0, 200, 9)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_middle_of_a_ring_is_found(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 1000)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.05, (1000, 2))
    X[0] = 0.0
    detector = EOSDetector(model="local").fit(X)
    assert detector.is_outlier_[0]
    assert detector.is_outlier_.mean() < 0.01
    assert not detector.promise_


def test_a_sparse_group_is_an_outlier_only_if_groups_are():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.1, (900, 2)), rng.normal(8, 1.0, (100, 2))])
    kinds = EOSDetector(model="local", groups="kinds").fit(X)
    assert kinds.is_outlier_[900:].mean() < 0.1
    outliers = EOSDetector(model="local").fit(X)
    assert outliers.is_outlier_[900:].mean() > 0.9
    assert outliers.is_outlier_[:900].mean() < 0.01


@pytest.mark.parametrize("n_rows", [3, 4, 12])
def test_few_rows_have_fewer_neighbours(n_rows):
    X = draw(n_rows=n_rows, n_features=2)
    model, _ = complete(X)
    assert model.n_neighbours <= max((n_rows - 1) // 2, 1)
    assert np.isfinite(errors_of(X)).all()


def test_ties_have_finite_errors_and_are_no_outliers():
    X = np.random.default_rng(0).integers(0, 2, (600, 6)).astype(float)
    assert np.isfinite(errors_of(X)).all()
    assert not EOSDetector(model="local").fit(X).is_outlier_.any()


def test_dependent_columns_count_once():
    """Of two equal columns the correlation is taken out, all but the shrinkage."""
    X = draw(n_rows=400, n_features=2)
    model, _ = complete(np.column_stack([X, X[:, 0]]))
    variances = np.linalg.eigvalsh(
        np.cov(model.metric(np.column_stack([X, X[:, 0]])), rowvar=False)
    )
    assert variances.max() < 1.3


def test_the_law_has_the_scale_of_the_upper_half():
    X = draw(n_rows=3000, n_features=3)
    model, theta = complete(X)
    errors, levels = model.errors(X, theta), (0.4, 0.8, 1.2, 1.6)
    below = [np.mean(errors <= model.centre + z * model.spread) for z in levels]
    np.testing.assert_allclose(below, ndtr(levels), atol=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_a_group_of_wrong_rows_ranks_above_the_rows_of_a_ring(seed):
    """Rows of a group are close to each other; what tells them apart is where they are."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 1000)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.05, (1000, 2))
    X[:60] = rng.normal(4, 0.3, (60, 2))
    scores = EOSDetector(model="local").fit(X).score_samples(X)
    assert np.median(scores[:60]) < np.quantile(scores[60:], 0.02)


def test_equal_rows_are_refused():
    with pytest.raises(ValueError, match="all rows of X are equal"):
        complete(np.ones((20, 2)))
    with pytest.raises(ValueError, match="needs its reference rows"):
        NeighbourModel().errors(draw(), None)


@pytest.mark.parametrize("unit", [0.1, 3.0, 0.7])
def test_rows_equally_far_share_the_last_places(unit):
    """On a grid, rounding would choose among them."""
    grid = np.random.default_rng(0).integers(0, 12, (300, 2)).astype(float)
    np.testing.assert_allclose(errors_of(grid * unit / unit), errors_of(grid), rtol=1e-9)
    turned = np.random.default_rng(1).permutation(300)
    np.testing.assert_allclose(errors_of(grid[turned]), errors_of(grid)[turned], rtol=1e-9)
    mirrored = grid * [1.0, -1.0]
    np.testing.assert_allclose(errors_of(mirrored), errors_of(grid), rtol=1e-9)


def test_thousands_of_columns_need_no_correlation_matrix():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 5000))
    rows[0] += 3.0
    metric = Metric.of_rows(rows)
    assert metric.whitening is None
    np.testing.assert_allclose(metric(rows), rows - np.median(rows, axis=0), atol=0.3)
    model = NeighbourModel().complete(take_sample(MemoryRows(rows), 40))
    assert model.errors(rows, model.start()).argmax() == 0
