"""First passes in single precision find the start of exact ones, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from eosparse import EOSDetector
from eosparse.core import Status, visit
from eosparse.fitting import first_passes
from eosparse.fitting.engine import fit_model
from eosparse.fitting.options import FitOptions
from eosparse.models import GaussianModel, Normal, Request
from eosparse.rows import MemoryRows, take_sample

N_ROWS, N_COLUMNS = 1500, 200


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    mixed = np.eye(N_COLUMNS) + 0.05 * rng.standard_normal((N_COLUMNS, N_COLUMNS))
    X = rng.standard_normal((N_ROWS, N_COLUMNS)) @ mixed
    X[: N_ROWS // 5] *= 30.0
    return X + 1000.0


@pytest.fixture
def small_is_long(monkeypatch):
    monkeypatch.setattr(first_passes, "_MANY_PRODUCTS", 0)


def fit_exactly(table, monkeypatch, **options):
    monkeypatch.setattr(first_passes, "_MANY_PRODUCTS", np.inf)
    return fit_model(MemoryRows(table), GaussianModel(), FitOptions(**options))


@pytest.mark.usefixtures("small_is_long")
@pytest.mark.parametrize("start", ["deterministic", "uniform"])
def test_the_answer_is_that_of_exact_passes(table, monkeypatch, start):
    found = fit_model(MemoryRows(table), GaussianModel(), FitOptions(start=start)).result
    exact = fit_exactly(table, monkeypatch, start=start).result
    assert found.status is exact.status is Status.CONVERGED
    assert found.objective == pytest.approx(exact.objective, rel=1e-11)
    np.testing.assert_allclose(found.theta.covariance, exact.theta.covariance, atol=2e-6)
    assert len(found.objective_history) < len(exact.objective_history)
    assert (np.diff(found.objective_history) <= 0).all()


@pytest.mark.usefixtures("small_is_long")
def test_columns_that_depend_on_each_other_are_brought_to_their_span(table):
    dependent = np.column_stack([table, table[:, :40] - table[:, 40:80]])
    fit = EOSDetector(model="gaussian").fit(dependent)
    alone = EOSDetector(model="gaussian").fit(table)
    np.testing.assert_array_equal(fit.is_outlier_, alone.is_outlier_)


@pytest.mark.usefixtures("small_is_long")
def test_prior_weights_stand_for_copies(table):
    twice = np.ones(N_ROWS)
    twice[::3] = 2.0
    weighted = EOSDetector(model="gaussian").fit(table, sample_weight=twice)
    copied = EOSDetector(model="gaussian").fit(np.concatenate([table, table[::3]]))
    np.testing.assert_allclose(weighted.covariance_, copied.covariance_, rtol=1e-5, atol=1e-3)


def test_a_pass_in_single_precision_is_a_pass(table):
    rows = MemoryRows(table)
    model = GaussianModel().complete(take_sample(rows, N_ROWS))
    good = model.coordinates(table[N_ROWS // 5 :])
    theta = Normal(good.mean(axis=0), np.cov(good, rowvar=False))
    roughly = model.in_single_precision(theta)
    alpha = model.alpha(0.05)
    rough = visit(roughly.model, rows.keep(roughly.bring, np.float32), theta, alpha)
    exact = visit(model, rows, theta, alpha)
    assert rough.summary.objective == pytest.approx(exact.summary.objective, rel=1e-5)
    assert rough.summary.kish_size == pytest.approx(exact.summary.kish_size, rel=1e-4)
    np.testing.assert_allclose(rough.statistics.mean, exact.statistics.mean, atol=1e-5)
    np.testing.assert_allclose(rough.statistics.scatter, exact.statistics.scatter, atol=1e-5)


@pytest.fixture(scope="module")
def narrow():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30_000, 40)) @ (np.eye(40) + 0.1 * rng.standard_normal((40, 40)))
    X[:6000] *= 10.0
    return X - 50.0


@pytest.mark.usefixtures("small_is_long")
def test_sweeps_in_single_precision_find_the_answer_of_exact_ones(narrow, monkeypatch):
    pytest.importorskip("numba")
    rows = MemoryRows(narrow)
    model = GaussianModel().complete(take_sample(rows, 2000))
    roughly = model.in_single_precision(Normal(np.zeros(40), np.eye(40)))
    assert roughly.bring is None  # no copy of the rows
    found = fit_model(rows, GaussianModel(), FitOptions()).result
    exact = fit_exactly(narrow, monkeypatch).result
    assert found.objective == pytest.approx(exact.objective, rel=1e-11)
    np.testing.assert_allclose(found.theta.covariance, exact.theta.covariance, atol=2e-6)
    assert len(found.objective_history) < len(exact.objective_history)


def test_a_sweep_in_single_precision_leaves_what_does_not_fit_it_to_double(narrow):
    pytest.importorskip("numba")
    model = GaussianModel().complete(take_sample(MemoryRows(narrow), 2000))
    theta = Normal(np.zeros(40), np.eye(40))
    roughly = model.in_single_precision(theta).model
    far = narrow.copy()
    far[7, 3] = 1e60
    for X in (narrow, far):
        rough = visit(roughly, MemoryRows(X), theta, model.alpha(0.1))
        exact = visit(model, MemoryRows(X), theta, model.alpha(0.1))
        assert rough.summary.objective == pytest.approx(exact.summary.objective, rel=1e-6)
        np.testing.assert_allclose(rough.statistics.mean, exact.statistics.mean, atol=1e-5)
        np.testing.assert_allclose(rough.statistics.scatter, exact.statistics.scatter, atol=1e-5)


def test_rows_of_a_sketch_begin_alike_in_both_precisions(table):
    rows = MemoryRows(table)
    sample = take_sample(rows, N_ROWS)
    model = GaussianModel().complete(sample)
    begin = next(iter(model.propose(sample, Request()))).begin
    roughly = model.in_single_precision(begin)
    rough, some = begin.begin_roughly(rows.keep(roughly.bring, np.float32), roughly.model)
    exact = begin(rows)
    assert some.n_present < N_ROWS  # far rows have no weight
    np.testing.assert_allclose(rough.location, exact.location, atol=1e-5)
    np.testing.assert_allclose(rough.covariance, exact.covariance, atol=1e-5)


@pytest.mark.usefixtures("small_is_long")
def test_a_callback_ends_first_passes_too(table):
    seen = []

    def stop(iteration):
        seen.append(iteration)
        return len(seen) == 2

    fit = fit_model(MemoryRows(table), GaussianModel(), FitOptions(callbacks=(stop,)))
    assert [iteration.number for iteration in seen] == [1, 2]
    assert fit.result.status is Status.INTERRUPTED
    assert fit.result.n_iter == 2


@pytest.mark.usefixtures("small_is_long")
@pytest.mark.parametrize("most", [1, 2, 3])
def test_max_iter_counts_first_passes(table, most):
    result = fit_model(MemoryRows(table), GaussianModel(), FitOptions(max_iter=most)).result
    assert (result.status, result.n_iter) == (Status.MAX_ITER, most)


def test_large_copies_are_not_kept(table, monkeypatch):
    rows = MemoryRows(table)
    monkeypatch.setattr("eosparse.rows.memory._MOST_KEPT", 0)
    assert rows.keep(np.float32, np.float32).values is table
    assert rows.select(np.zeros(N_ROWS, dtype=bool)) is rows
