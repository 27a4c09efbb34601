"""SPA's errors: closed-form steps that descend, blocks that merge, starts without a seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax, xlogy

from eosparse import SPAClassifier
from eosparse.core import Status, alternate, fold_blocks, solve_from_prior, visit
from eosparse.fitting import spa_fit
from eosparse.models import (
    Boxes,
    BoxLabelModel,
    SPAModel,
    bisect_rows,
    find_companions,
    sum_boxes,
)
from eosparse.rows import Labelled, LabelledRows


def labelled(seed=0, n=200, d=4, m=3):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, m, n)
    return rng.normal(size=(n, d)) + 2 * np.eye(m, d)[classes], classes


def started(values, classes, model, k, seed=0):
    rng = np.random.default_rng(seed)
    shape = (k, len(model.class_shares))
    first = rng.integers(0, k, len(values))
    share = np.full(len(values), 1 / len(values))
    return model.solve(sum_boxes(Labelled(values, classes), share, first, shape))


@settings(max_examples=25)
@given(
    st.integers(0, 1000),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.3, 5.0]),
    st.sampled_from([None, 0.05, 1.0]),
    st.sampled_from([np.inf, 2.0, 0.3]),
)
def test_every_step_descends(seed, k, epsilon_label, epsilon_features, alpha):
    values, classes = labelled(seed, n=60)
    model = SPAModel(4, np.bincount(classes) / 60, epsilon_label, epsilon_features)
    rows = LabelledRows(values, classes, np.ones(60))
    start = started(values, classes, model, k, seed)
    for part in (rows, rows.group_by_class()):
        result = alternate(model, part, alpha, start, max_iter=200)
        assert result.status is not Status.COLLAPSED
        assert (np.diff(result.objective_history) <= 1e-9).all()


def test_the_fit_minimises_the_weighted_error_for_given_affiliations():
    values, classes = labelled()
    model = SPAModel(4, np.bincount(classes) / 200, 0.7, 0.4)
    theta = started(values, classes, model, 5)
    block, weights = Labelled(values, classes), np.random.default_rng(1).dirichlet(np.ones(200))
    boxes = model.affiliations(block, theta)
    best = model.solve(sum_boxes(block, weights, boxes, theta.labels.shape))

    def cost(theta):
        own = model._costs(block, theta)[np.arange(200), boxes]
        return weights @ own + model._common(theta)

    rng = np.random.default_rng(2)
    for _ in range(20):
        mixed = Boxes(
            best.centers + 0.01 * rng.normal(size=best.centers.shape),
            0.99 * best.labels + 0.01 * rng.dirichlet(np.ones(3), 5),
            0.99 * best.feature_weights + 0.01 * rng.dirichlet(np.ones(4)),
        )
        assert cost(mixed) >= cost(best) - 1e-12


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 10.0])
def test_feature_weights_are_the_closed_form_over_columns(epsilon):
    values, classes = labelled()
    model = SPAModel(4, np.bincount(classes) / 200, 0.0, epsilon)
    theta = started(values, classes, model, 5)
    block, share = Labelled(values, classes), np.full(200, 1 / 200)
    boxes = model.affiliations(block, theta)
    solved = model.solve(sum_boxes(block, share, boxes, theta.labels.shape))
    means = np.stack([values[boxes == k].mean(axis=0) for k in np.unique(boxes)])
    within = np.square(values - means[np.unique(boxes, return_inverse=True)[1]]).mean(axis=0)
    np.testing.assert_allclose(solved.feature_weights, softmax(-within / epsilon), atol=1e-12)
    reached = solved.feature_weights @ within + epsilon * (
        xlogy(solved.feature_weights, solved.feature_weights).sum()
    )
    assert reached == pytest.approx(-epsilon * logsumexp(-within / epsilon))
    others = np.random.default_rng(0).dirichlet(np.ones(4), 200)
    assert (others @ within + epsilon * xlogy(others, others).sum(axis=1) >= reached).all()


def test_columns_that_are_not_weighed_get_no_feature_weight():
    values, classes = labelled()
    shares, is_weighed = np.bincount(classes) / 200, np.array([True, False, True, True])
    model = SPAModel(4, shares, 0.0, 0.3, is_weighed=is_weighed)
    theta = started(values, classes, model, 5)
    result = alternate(model, LabelledRows(values, classes, np.ones(200)), np.inf, theta)
    assert result.theta.feature_weights[1] == 0.0
    assert result.theta.feature_weights.sum() == pytest.approx(1.0)
    assert (np.diff(result.objective_history) <= 1e-12).all()


def test_companions_are_the_columns_of_a_common_cause():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 12))
    values[:, [2, 7]] += 2 * rng.normal(size=(200, 1))
    values[:, [4, 5, 9]] += rng.normal(size=(200, 1))
    found = find_companions(values, np.ones(200), 2)
    assert [sorted(columns.tolist()) for columns in found] == [[2, 7], [4, 5, 9]]
    order = rng.permutation(12)
    again = find_companions(values[:, order], np.ones(200), 2)
    assert [sorted(order[columns].tolist()) for columns in again] == [[2, 7], [4, 5, 9]]


def test_distances_are_weighted_squared_differences():
    values, _ = labelled()
    rng = np.random.default_rng(0)
    boxes = Boxes(rng.normal(size=(5, 4)), np.ones((5, 3)), rng.dirichlet(np.ones(4)))
    direct = (np.square(values[:, None] - boxes.centers) * boxes.feature_weights).sum(axis=2)
    np.testing.assert_allclose(boxes.distances(values), direct, atol=1e-12)


@pytest.mark.parametrize("cuts", [(50,), (1, 2, 199), (100, 150)])
def test_blocks_in_any_split_agree_with_the_whole(cuts):
    values, classes = labelled()
    model = SPAModel(4, np.bincount(classes) / 200, 0.5)
    theta = started(values, classes, model, 4)

    class Parts:
        def fold(self, kernel):
            parts = np.split(np.arange(200), cuts)[::-1]
            blocks = ((Labelled(values[p], classes[p]), np.ones(len(p))) for p in parts)
            return fold_blocks(blocks, kernel)

    whole = visit(model, LabelledRows(values, classes, np.ones(200)), theta, 0.5)
    parts = visit(model, Parts(), theta, 0.5)
    assert parts.summary.objective == pytest.approx(whole.summary.objective, rel=1e-12)
    np.testing.assert_allclose(parts.statistics.sums, whole.statistics.sums, atol=1e-14)
    np.testing.assert_allclose(parts.statistics.counts, whole.statistics.counts, atol=1e-14)


def test_empty_boxes_are_dropped():
    values, classes = labelled()
    model = SPAModel(4, np.bincount(classes) / 200, 0.5)
    sums = sum_boxes(Labelled(values, classes), np.ones(200), np.zeros(200, dtype=int), (3, 3))
    assert model.solve(sums).centers.shape == (1, 4)


@settings(max_examples=25)
@given(st.integers(0, 1000), st.sampled_from([np.inf, 3.0, 0.5, 0.1]))
def test_labels_of_boxes_descend_and_are_means(seed, alpha):
    rng = np.random.default_rng(seed)
    affiliations, classes = rng.dirichlet(np.ones(5), 80), rng.integers(0, 3, 80)
    model = BoxLabelModel(np.bincount(classes, minlength=3) / 80)
    rows = LabelledRows(affiliations, classes, np.ones(80))
    start = solve_from_prior(model, LabelledRows(affiliations, classes, np.full(80, 1 / 80)))
    means = np.stack([affiliations[classes == m].sum(axis=0) for m in range(3)], axis=1)
    np.testing.assert_allclose(start, means / means.sum(axis=1, keepdims=True), atol=0.01)
    result = alternate(model, rows.group_by_class(), alpha, start)
    assert (np.diff(result.objective_history) <= 1e-10).all()


def test_bisection_does_not_depend_on_order_or_repetition():
    rng = np.random.default_rng(0)
    values, copies = rng.normal(size=(60, 3)), rng.integers(0, 4, 60)
    weighted = bisect_rows(values, copies.astype(float), 7)
    repeated = np.repeat(values, copies, axis=0)[rng.permutation(copies.sum())]
    again = bisect_rows(repeated, np.ones(len(repeated)), 7)
    np.testing.assert_allclose(np.sort(weighted, axis=0), np.sort(again, axis=0), atol=1e-9)


def test_bisection_stops_where_rows_no_longer_differ():
    values = np.repeat([[0.0, 0.0], [1.0, 5.0]], 10, axis=0)
    assert len(bisect_rows(values, np.ones(20), 6)) == 2


def test_large_tables_are_prepared_block_by_block(monkeypatch):
    """With and without copies of columns and affiliations: the same boxes and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 5))
    y = (X[:, 0] + rng.normal(size=30_000) > 0).astype(int)
    settings = {"temperature": 1.0, "alpha": 1.0, "epsilon_features": None, "units": "equal"}
    kept = SPAClassifier(8, **settings).fit(X, y)
    monkeypatch.setattr(spa_fit, "_MOST_KEPT", 0)
    streamed = SPAClassifier(8, **settings).fit(X, y)
    np.testing.assert_allclose(streamed.box_centers_, kept.box_centers_, atol=1e-9)
    np.testing.assert_allclose(streamed.weights_, kept.weights_, rtol=1e-9)
    np.testing.assert_allclose(streamed.predict_proba(X), kept.predict_proba(X), atol=1e-9)
