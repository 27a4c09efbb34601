"""Whether rows that a start leaves out stay out: the criterion against the alternation itself."""

import numpy as np
import pytest

from eosparse.core import alternate
from eosparse.models import GaussianModel, Normal
from eosparse.models.recapture import stay_out
from eosparse.rows import MemoryRows


def draw_group(distance, n_columns=10):
    rows = np.random.default_rng(0).normal(size=(500, n_columns))
    rows[:50, 0] += distance
    return rows, np.arange(500) < 50


def ask(rows, left, coupling):
    fit = Normal(rows[~left].mean(axis=0), np.cov(rows[~left], rowvar=False, bias=True))
    says = stay_out(fit, rows, fit.mahalanobis(rows), np.ones(len(rows)), left, coupling)
    model = GaussianModel(n_features=rows.shape[1])
    theta = alternate(model, MemoryRows(rows), model.alpha(coupling), fit).theta
    return says, bool(theta.mahalanobis(rows[left]).mean() > 50)


@pytest.mark.parametrize("distance", [12.0, 20.0, 40.0])
def test_rows_that_should_stay_out_do(distance):
    rows, left = draw_group(distance)
    answers = [ask(rows, left, c) for c in np.geomspace(0.002, 0.3, 16)]
    assert all(stays for says, stays in answers if says)
    assert {says for says, _ in answers} == {False, True}
    # Where it says that they may not, they are taken in, but for a narrow window.
    assert sum(stays and not says for says, stays in answers) <= 2


def test_rows_in_all_directions_stay_out_sooner_than_a_group():
    rng = np.random.default_rng(1)
    rows, left = draw_group(0.0, n_columns=40)
    around = rng.normal(size=(50, 40))
    rows[left] = 20 * around / np.linalg.norm(around, axis=1, keepdims=True)
    group = rows.copy()
    group[left] = 20 * np.eye(40)[0] + 0.1 * rng.normal(size=(50, 40))
    fit = Normal(np.zeros(40), np.eye(40))
    c, mass = 0.035, np.ones(500)
    assert stay_out(fit, rows, fit.mahalanobis(rows), mass, left, c)
    assert not stay_out(fit, group, fit.mahalanobis(group), mass, left, c)
