"""Passes with few digits are passes: told to callbacks, interrupted, and resumed as others are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from eosparse import EOSDetector
from eosparse.core import visit
from eosparse.models import GaussianModel
from eosparse.rows import MemoryRows

N_ROWS, N_COLUMNS = 1200, 170
MODEL = GaussianModel(shrinkage=0.0)


@pytest.fixture(scope="module")
def rows():
    """Rows with so many columns that the first passes have few digits."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N_ROWS, N_COLUMNS))
    values[:100] += 6.0
    return values


@pytest.fixture(scope="module")
def fitted(rows):
    return EOSDetector(model=MODEL).fit(rows)


def compute_objective(detector, rows):
    table = MemoryRows(rows, prepare=np.asarray)
    return visit(detector.model_, table, detector.theta_, detector.alpha_).summary.objective


def test_callbacks_see_every_pass(rows, fitted):
    seen = []
    EOSDetector(model=MODEL, callback=seen.append).fit(rows)
    numbers = [iteration.number for iteration in seen]
    assert numbers == list(range(1, fitted.n_iter_ + 1))
    assert [iteration.resume is None for iteration in seen] == [False] * (len(seen) - 1) + [True]
    # What comes last has all digits, and so has everything that is reported.
    assert len(fitted.objective_history_) < len(seen)
    assert (np.diff(fitted.objective_history_) <= 0).all()
    assert np.ptp([iteration.target for iteration in seen]) <= 1e-3 * seen[0].target


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("last", [1, 2, 3, 4, 5])
def test_an_interrupted_fit_has_all_digits(rows, fitted, last, raises):
    def stop(iteration):
        if raises and iteration.number == last:
            raise KeyboardInterrupt
        return iteration.number == last

    with pytest.warns(ConvergenceWarning, match="interrupted after"):
        stopped = EOSDetector(model=MODEL, callback=stop).fit(rows)
    assert last <= stopped.n_iter_ <= last + 1 < fitted.n_iter_ + 1
    assert stopped.objective_ == pytest.approx(compute_objective(stopped, rows), rel=1e-13)
    assert stopped.objective_ >= fitted.objective_ - 1e-12


@pytest.mark.parametrize("last", [1, 2, 3, 4])
def test_a_killed_fit_goes_on(rows, fitted, last, tmp_path):
    def fail(iteration):
        if iteration.number == last:
            raise RuntimeError

    path = tmp_path / "fit.npz"
    with pytest.raises(RuntimeError):
        EOSDetector(model=MODEL, callback=fail, checkpoint=path).fit(rows)
    numbers = []
    again = EOSDetector(
        model=MODEL, callback=lambda iteration: numbers.append(iteration.number), checkpoint=path
    ).fit(rows)
    assert numbers[0] == last + 1
    assert again.objective_ == pytest.approx(fitted.objective_, abs=1e-11)
    assert (again.is_outlier_ == fitted.is_outlier_).all()


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4])
def test_few_passes_are_no_more_than_asked_for(rows, max_iter):
    with pytest.warns(ConvergenceWarning):
        detector = EOSDetector(model=MODEL, max_iter=max_iter).fit(rows)
    assert detector.n_iter_ == max_iter
    assert detector.objective_ == pytest.approx(compute_objective(detector, rows), rel=1e-13)


def test_single_precision_rows_are_fitted_in_double_precision(rows, fitted):
    single = EOSDetector(model=MODEL).fit(rows.astype(np.float32))
    assert single.theta_.covariance.dtype == np.float64
    exact = compute_objective(single, rows.astype(np.float32).astype(np.float64))
    assert single.objective_ == pytest.approx(exact, rel=1e-12)
    assert (single.is_outlier_ == fitted.is_outlier_).all()
