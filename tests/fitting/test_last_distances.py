"""The distances of the last pass are those that another pass would measure."""

from __future__ import annotations

import numpy as np
import pytest

from eosparse import EOSDetector
from eosparse.fitting.engine import fit_model
from eosparse.fitting.last_distances import LastDistances
from eosparse.fitting.options import FitOptions
from eosparse.models import GaussianModel, SubspaceModel
from eosparse.rows import MemoryRows


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 6)) @ rng.standard_normal((6, 6)) + 100.0
    X[:500] += 40.0
    return X


def fit_and_keep(rows, model):
    last = LastDistances()
    return fit_model(rows, model, FitOptions(), last=last), last


@pytest.mark.parametrize("covariance", ["full", "diag", "spherical"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_row_is_measured_again(table, covariance, dtype, monkeypatch):
    rows = MemoryRows(table.astype(dtype))
    fit, last = fit_and_keep(rows, GaussianModel(covariance))
    wanted = rows.map(fit.measure).values
    monkeypatch.setattr(GaussianModel, "distances", None)
    np.testing.assert_allclose(last.measure(fit, rows).values, wanted, rtol=1e-12)


def test_columns_that_depend_on_each_other(table):
    rows = MemoryRows(np.column_stack([table, table[:, 0] - table[:, 1]]))
    fit, last = fit_and_keep(rows, GaussianModel())
    np.testing.assert_array_equal(last.measure(fit, rows).values, rows.map(fit.measure).values)


@pytest.mark.parametrize("kind", ["gaps", "no weight", "another model"])
def test_what_a_pass_does_not_tell_is_measured(table, kind):
    X, model = table.copy(), GaussianModel()
    prior = None
    if kind == "gaps":
        X[::3, 0] = np.nan
    elif kind == "no weight":  # whole blocks are left out
        prior = np.repeat([1.0, 0.0], 2500)
    else:
        model = SubspaceModel(2)
    rows = MemoryRows(X, prior, block_numbers=6 * 256)
    fit, last = fit_and_keep(rows, model)
    np.testing.assert_array_equal(last.measure(fit, rows).values, rows.map(fit.measure).values)


def test_a_saved_detector_holds_no_more_than_before(table):
    detector = EOSDetector(model="gaussian").fit(table)
    assert detector._training.values.shape == (5000,)
    np.testing.assert_allclose(
        detector._training.values, detector._judge.fit.measure(table), rtol=1e-12
    )
