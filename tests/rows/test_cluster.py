"""Rows on a cluster: real worker processes, one of them killed."""

import os
import pickle
import signal

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from eosparse import EOSDetector
from eosparse.core import alternate, solve_from_prior
from eosparse.models import GaussianModel
from eosparse.rows import DaskRows

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's, about ports and the like


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 5))
    X[::10] = rng.uniform(-9, 9, size=(4000, 5))
    return X


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.usefixtures("client")
def test_two_worker_processes_agree_with_memory(table):
    here = EOSDetector().fit(table)
    there = EOSDetector().fit(da.from_array(table, chunks=(5000, 5)))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-12)
    np.testing.assert_allclose(there.covariance_, here.covariance_, rtol=1e-9)
    np.testing.assert_allclose(there.weights_.compute(), here.weights_, rtol=1e-9)
    assert (there.is_outlier_.compute() == here.is_outlier_).all()


def test_a_worker_killed_during_the_fit_changes_nothing(table, client):
    killed = []

    def kill(_):
        if not killed:
            killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    parameters = {"efficiency": 0.5, "start": "uniform"}
    here, there = EOSDetector(**parameters), EOSDetector(**parameters, callback=kill)
    X = client.persist(da.from_array(table, chunks=(5000, 5)))  # half of it dies with the worker
    there.fit(X)
    here.fit(table)
    assert there.n_iter_ > 3  # several passes came after the first
    assert killed[0] not in client.run(os.getpid).values()
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-12)
    np.testing.assert_allclose(there.location_, here.location_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(there.covariance_, here.covariance_, rtol=1e-9)


def test_one_synchronisation_per_iteration(table, monkeypatch):
    rows = DaskRows(da.from_array(table, chunks=(3000, 5)), tuple("abcde"))
    model = GaussianModel(n_features=5)
    start = solve_from_prior(model, rows)
    calls, compute = [], dask.compute
    monkeypatch.setattr(dask, "compute", lambda *a, **k: calls.append(1) or compute(*a, **k))
    result = alternate(model, rows, 0.6, start, tol=0.0, max_iter=5)
    assert len(calls) == result.n_iter == 5


def test_scores_are_lazy(table, monkeypatch):
    detector = EOSDetector().fit(table)

    def fail(*_, **__):
        raise AssertionError("computed")

    monkeypatch.setattr(dask, "compute", fail)
    X = da.from_array(table, chunks=(3000, 5))
    frame = dd.from_pandas(pd.DataFrame(table, columns=list("abcde")), npartitions=3)
    monkeypatch.setattr(dask.base, "compute", fail)
    lazy = [detector.score_samples(X), detector.predict(X), detector.p_values(frame)]
    monkeypatch.undo()
    np.testing.assert_allclose(lazy[0].compute(), detector.score_samples(table))
    np.testing.assert_array_equal(lazy[1].compute(), detector.predict(table))
    series = lazy[2].compute()
    np.testing.assert_allclose(series, detector.p_values(table))
    assert series.index.tolist() == list(range(len(table)))


def test_prior_weights(table):
    weights = np.random.default_rng(1).integers(0, 3, len(table)).astype(float)
    here = EOSDetector().fit(table, sample_weight=weights)
    X, w = da.from_array(table, chunks=(9000, 5)), da.from_array(weights, chunks=9000)
    there = EOSDetector().fit(X, sample_weight=w)
    np.testing.assert_allclose(there.covariance_, here.covariance_, rtol=1e-9)
    np.testing.assert_allclose(there.weights_.compute(), here.weights_, rtol=1e-9)
    with pytest.raises(ValueError, match="partitioned alike"):
        EOSDetector().fit(X, sample_weight=da.from_array(weights, chunks=500))


def test_bad_values_are_named(table):
    spoilt = table[:1000].copy()
    spoilt[700, 3] = np.nan
    with pytest.raises(ValueError, match=r"partition 2, row 100, column 'x3': nan"):
        EOSDetector(model="clusters").fit(da.from_array(spoilt, chunks=(300, 5)))
    frame = dd.from_pandas(pd.DataFrame(spoilt, columns=list("abcde")), npartitions=2)
    scores = EOSDetector(model="clusters").fit(table).score_samples(frame)
    with pytest.raises(ValueError, match="column 'd': nan"):
        scores.compute()


def test_empty_partitions_count_for_nothing(table):
    frame = dd.from_pandas(pd.DataFrame(table, columns=list("abcde")), npartitions=4)
    some = frame[frame["a"] > 0]
    here = EOSDetector(model="gaussian").fit(table[table[:, 0] > 0])
    none_in_first = dd.concat([frame[frame["a"] > 1e9], some])
    for rows in (some, none_in_first):
        there = EOSDetector(model="gaussian").fit(rows)
        np.testing.assert_allclose(there.location_, here.location_, rtol=1e-9)


def test_columns_of_frames(table):
    frame = pd.DataFrame(table, columns=list("abcde"))
    detector = EOSDetector().fit(dd.from_pandas(frame, npartitions=2))
    shuffled = dd.from_pandas(frame[list("edcba")].assign(id=1), npartitions=3)
    np.testing.assert_allclose(detector.score_samples(shuffled), detector.score_samples(frame))
    with pytest.raises(ValueError, match="no column 'c' in X"):
        detector.score_samples(dd.from_pandas(frame.drop(columns="c"), npartitions=2))
    with pytest.raises(ValueError, match="column 'id' holds"):
        EOSDetector().fit(dd.from_pandas(frame.assign(id="x"), npartitions=2))
    numbered = dd.from_pandas(pd.DataFrame(table), npartitions=2)
    unnamed = EOSDetector().fit(numbered)
    assert not hasattr(unnamed, "feature_names_in_")
    assert len(unnamed.score_samples(numbered)) == len(table)


def test_weights_must_be_dask_too(table):
    with pytest.raises(TypeError, match="For a Dask collection, sample_weight"):
        EOSDetector().fit(da.from_array(table), sample_weight=np.ones(len(table)))


def test_a_judgement_does_not_carry_the_training_rows(table):
    detector = EOSDetector().fit(table)
    graph = detector.score_samples(da.zeros((10, 5), chunks=5))
    assert len(cloudpickle.dumps(graph)) < 100_000


def test_a_saved_detector_leaves_the_cluster_behind(table):
    detector = EOSDetector().fit(da.from_array(table, chunks=(9000, 5)))
    saved = pickle.dumps(detector)
    assert len(saved) < 100_000
    again = pickle.loads(saved)
    np.testing.assert_array_equal(again.score_samples(table), detector.score_samples(table))
    with pytest.raises(AttributeError, match="is not kept"):
        _ = again.weights_
