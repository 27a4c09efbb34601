"""Passes in single precision lead to where passes in double precision lead."""

from __future__ import annotations

import numpy as np
import pytest

from eosparse import EOSDetector
from eosparse.core import visit
from eosparse.models import GaussianModel, Normal
from eosparse.rows import MemoryRows

N_ROWS, N_COLUMNS = 1200, 170


@pytest.fixture(scope="module")
def rows():
    """Contaminated rows in units from 1e-30 to 1e30, which single precision cannot square."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N_ROWS, N_COLUMNS))
    values[:100] += 6.0
    return values * np.logspace(-30, 30, N_COLUMNS)


@pytest.fixture(scope="module")
def fitted(rows):
    return EOSDetector(model=GaussianModel(shrinkage=0.0)).fit(rows)


def test_visit_agrees_to_single_precision(rows, fitted):
    table = MemoryRows(rows, prepare=np.asarray)
    coarse = fitted.model_.coarsen(table)
    exact = visit(fitted.model_, table, fitted.theta_, fitted.alpha_)
    rough = visit(coarse, table, fitted.theta_, fitted.alpha_)
    assert rough.summary.objective == pytest.approx(exact.summary.objective, abs=1e-7)
    np.testing.assert_allclose(rough.statistics.scatter, exact.statistics.scatter, atol=1e-5)
    np.testing.assert_allclose(rough.statistics.mean, exact.statistics.mean, atol=1e-5)


def test_fixed_point_is_that_of_double_precision(rows, fitted, monkeypatch):
    monkeypatch.setattr(GaussianModel, "coarsen", lambda self, rows: None)  # noqa: ARG005  # signature
    exact = EOSDetector(model=GaussianModel(shrinkage=0.0)).fit(rows)
    np.testing.assert_allclose(fitted.theta_.covariance, exact.theta_.covariance, atol=1e-5, rtol=0)
    assert fitted.objective_ == pytest.approx(exact.objective_, abs=1e-11)
    assert (fitted.is_outlier_ == exact.is_outlier_).all()


def test_ill_conditioned_covariance_is_visited_in_double_precision(rows, fitted):
    table = MemoryRows(rows, prepare=np.asarray)
    scale = np.logspace(0, -3, N_COLUMNS)
    narrow = Normal(fitted.theta_.location, fitted.theta_.covariance * scale * scale[:, None])
    exact = visit(fitted.model_, table, narrow, fitted.alpha_)
    rough = visit(fitted.model_.coarsen(table), table, narrow, fitted.alpha_)
    assert rough.summary == exact.summary


@pytest.mark.parametrize("columns", [20, N_COLUMNS])
def test_only_wide_tables_in_memory_gain(columns):
    rng = np.random.default_rng(1)
    table = MemoryRows(rng.normal(size=(5 * columns, columns)))
    model = EOSDetector().fit(table.values).model_
    assert (model.coarsen(table) is not None) == (columns == N_COLUMNS)
