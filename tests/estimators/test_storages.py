"""Same numbers everywhere: rows in memory, in files and on a cluster."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from eosparse import EOSDetector, Status
from eosparse.models import GaussianModel


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4)) @ rng.normal(size=(4, 4)) + 100
    X[::10] += rng.uniform(5, 20, size=(600, 4))
    return X


@pytest.fixture(
    scope="module",
    params=[
        {},
        {"alpha": 0.6},
        {"efficiency": 0.9, "level": 0.01},
        {"contamination": 0.07},
        {"weight_cut": 0.01},
        {"model": GaussianModel("diag")},
        {"model": GaussianModel("spherical"), "start": "uniform"},
        {"model": GaussianModel(shrinkage=0.2)},
        {"perplexity": 4000.0},
    ],
    ids=str,
)
def here(request, table):
    return EOSDetector(**request.param).fit(table)


def test_a_fit_does_not_depend_on_the_storage(table, here, storage):
    X = storage(table)
    there = clone(here).fit(X)
    assert there.status_ is Status.CONVERGED
    assert there.n_iter_ == here.n_iter_
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
    np.testing.assert_allclose(there.location_, here.location_, rtol=1e-9)
    np.testing.assert_allclose(there.covariance_, here.covariance_, rtol=1e-9)
    assert there.offset_ == pytest.approx(here.offset_, rel=1e-9)
    for method in ("score_samples", "mahalanobis", "decision_function", "p_values", "predict"):
        mine, theirs = getattr(here, method)(table), np.asarray(getattr(there, method)(X))
        np.testing.assert_allclose(theirs, mine, rtol=1e-9, atol=1e-9, err_msg=method)
        assert theirs.dtype == mine.dtype


def test_dependent_columns_are_found_in_every_storage(table, storage):
    X = np.column_stack([table, table[:, 0] + table[:, 1]])
    here, there = EOSDetector().fit(X), EOSDetector().fit(storage(X))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
    np.testing.assert_allclose(there.location_, here.location_, rtol=1e-9)


def test_fitted_detectors_can_be_saved(table, storage):
    X = storage(table)
    detector = EOSDetector().fit(X)
    again = pickle.loads(pickle.dumps(detector))
    np.testing.assert_array_equal(again.score_samples(X), detector.score_samples(X))


def test_one_storage_can_judge_rows_of_another(table, storage):
    detector = EOSDetector().fit(table)
    np.testing.assert_allclose(
        np.asarray(detector.p_values(storage(table))), detector.p_values(table), rtol=1e-9
    )


def test_random_and_given_starts_need_memory(table, storage):
    X = storage(table)
    if isinstance(X, np.ndarray):
        pytest.skip("in memory they are tested elsewhere")
    for start in ("random", np.ones(len(table))):
        with pytest.raises(ValueError, match="need the rows in memory"):
            EOSDetector(start=start).fit(X)
    with pytest.raises(TypeError, match="explain takes rows in memory"):
        EOSDetector().fit(table).explain(X)


def test_float32_agrees_to_its_precision(table):
    """Blocks are worked on in float64; only the input and the answers are rounded."""
    single = EOSDetector().fit(table.astype(np.float32))
    double = EOSDetector().fit(table.astype(np.float32).astype(np.float64))
    assert single.location_.dtype == single.weights_.dtype == np.float32
    np.testing.assert_allclose(single.location_, double.location_, rtol=1e-6)
    np.testing.assert_allclose(single.covariance_, double.covariance_, rtol=1e-5)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-12)


def test_a_stretch_of_outliers_far_away(storage):
    """Files and partitions in which no row belongs."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60_000, 5))
    X[40_000:] += rng.choice([20, 25, 30], size=(20_000, 1))
    detector = EOSDetector().fit(storage(X))
    flagged = np.asarray(detector.predict(storage(X))) < 0
    assert flagged[40_000:].all()
    assert flagged[:40_000].mean() < 0.005


def test_every_seventh_row_is_not_every_row_of_the_sample():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300_000, 2))
    X[::7] = rng.normal(size=(len(X[::7]), 2)) / 20 + 8
    detector = EOSDetector().fit(X)
    assert np.abs(detector.location_).max() < 0.1
    assert detector.is_outlier_[::7].all()


def test_fit_predict(table, storage):
    found = np.asarray(EOSDetector().fit_predict(storage(table)))
    np.testing.assert_array_equal(found, EOSDetector().fit_predict(table))


def test_rows_that_are_all_equal_are_refused(storage):
    with pytest.raises(ValueError, match="all rows of X are equal"):
        EOSDetector().fit(storage(np.ones((5000, 2))))
