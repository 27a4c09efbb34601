"""The compiled sweep against NumPy's way, and merges of blocks in any order."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosparse.core import Visit, visit
from eosparse.models import GaussianModel, Normal, fused
from eosparse.rows import MemoryRows, choose_coordinates, take_sample

pytest.importorskip("numba")


def coordinates_of(X):
    return choose_coordinates(take_sample(MemoryRows(X), len(X)))


def problem(n_rows=5003, n_columns=5, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n_rows, n_columns)) * rng.uniform(0.1, 50, n_columns) + 7).astype(dtype)
    X[::9] *= 4
    coordinates = coordinates_of(X)
    root = rng.normal(size=(n_columns, n_columns)) / 9 + np.eye(n_columns)
    theta = Normal(rng.normal(size=n_columns) / 9, root @ root.T)
    return X, coordinates, theta


def both(X, coordinates, theta, alpha, prior=None, model=None):
    """The visit of all rows by compiled code, and in working coordinates by NumPy."""
    model = model or GaussianModel(n_features=X.shape[1])
    swept = replace(model, coordinates=coordinates).sweep(X, prior, theta, alpha)
    rows = MemoryRows(X, prior, coordinates)
    return swept, visit(model, rows, theta, alpha)


def assert_equal(one: Visit, other: Visit):
    for name in ("objective", "mass", "entropy", "squares"):
        mine, theirs = getattr(one.summary, name), getattr(other.summary, name)
        assert mine == pytest.approx(theirs, rel=1e-11), name
    np.testing.assert_allclose(one.statistics.mean, other.statistics.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.statistics.scatter, other.statistics.scatter, atol=1e-12)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 5, 20, 63])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sweep_equals_numpy(n_columns, dtype):
    X, coordinates, theta = problem(n_columns=n_columns, dtype=dtype)
    for prior in (None, np.random.default_rng(1).integers(0, 3, len(X)).astype(float)):
        swept, wanted = both(X, coordinates, theta, 2.0 / n_columns, prior)
        assert_equal(swept, wanted)


@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_any_layout(order):
    X, coordinates, theta = problem()
    stored = np.repeat(X, 2, axis=1)[:, ::2] if order == "strided" else np.array(X, order=order)
    assert_equal(*both(stored, coordinates, theta, 0.5))


def test_shrinkage():
    X, coordinates, theta = problem()
    model = GaussianModel(shrinkage=0.3, n_features=5, target=2.0)
    assert_equal(*both(X, coordinates, theta, 0.5, model=model))


def test_distances():
    X, coordinates, theta = problem()
    stored = GaussianModel(n_features=5, coordinates=coordinates)
    assert fused.is_large(X)
    np.testing.assert_allclose(
        stored.distances(X, theta), theta.mahalanobis(coordinates(X)), rtol=1e-11
    )


def test_what_needs_care_is_left_to_numpy():
    X, coordinates, theta = problem()
    stored = GaussianModel(n_features=5, coordinates=coordinates)
    far = Normal(theta.location + 1e6, theta.covariance)
    assert stored.sweep(X, None, far, 0.5) is None  # no row has any weight
    assert not fused.is_large(X[:100])  # too few rows to be worth it
    nearly = np.diag([1.0, 1e-12, 1.0, 1.0, 1.0])
    assert stored.sweep(X, None, Normal(theta.location, nearly), 0.5) is None
    shifted = coordinates_of(X + 1e9)
    assert GaussianModel(n_features=5, coordinates=shifted).sweep(X + 1e9, None, theta, 0.5) is None


def test_huge_values_have_no_weight():
    X, coordinates, theta = problem()
    X[3] = 1e300
    swept, wanted = both(X, coordinates, theta, 0.5)
    assert_equal(swept, wanted)
    stored = GaussianModel(n_features=5, coordinates=coordinates)
    whole = visit(stored, MemoryRows(X, None, np.asarray), theta, 0.5)
    assert_equal(whole, wanted)


@settings(max_examples=25)
@given(st.lists(st.integers(1, 4999), max_size=6), st.randoms(use_true_random=False))
def test_blocks_merge_in_any_split_and_order(cuts, random):
    X, coordinates, theta = problem(n_rows=5000)
    stored = GaussianModel(n_features=5, coordinates=coordinates)
    parts = [part for part in np.split(X, sorted(cuts)) if len(part)]
    random.shuffle(parts)
    visits = [visit(stored, MemoryRows(part, None, np.asarray), theta, 0.5) for part in parts]
    while len(visits) > 1:  # as a tree, of any shape
        first = visits.pop(random.randrange(len(visits)))
        second = visits.pop(random.randrange(len(visits)))
        visits.append(first + second)
    assert_equal(visits[0], visit(stored, MemoryRows(X, None, np.asarray), theta, 0.5))
