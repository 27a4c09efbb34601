"""Checkpoints: any θ is saved and comes back as it was."""

import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.exceptions import ConvergenceWarning

from eosparse import EOSDetector
from eosparse.core import Status, alternate
from eosparse.fitting.checkpoint import Checkpoint, pack, unpack
from eosparse.models import ClusterModel, CustomModel, Line, Mixture, Normal, Plane
from eosparse.rows import MemoryRows
from eosparse.rows.sealed_file import from_npy, read_sealed, to_npy, write_sealed


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class Box:
    inner: Any
    size: float = 1.0


numbers = st.floats(allow_nan=False) | st.integers(-(2**62), 2**62) | st.booleans()
tables = arrays(
    st.sampled_from([np.float64, np.float32, np.int64, bool]), array_shapes(max_dims=3)
) | arrays(np.float64, st.sampled_from([(0,), (3, 0)]))
thetas = st.recursive(
    numbers | tables,
    lambda part: (
        st.lists(part, max_size=4).map(tuple)
        | st.lists(part, max_size=4)
        | st.builds(Pair, part, part)
        | st.builds(Box, part, numbers)
    ),
    max_leaves=12,
)


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    elif isinstance(one, Box):
        assert_same((one.inner, one.size), (other.inner, other.size))
    else:
        assert one == other


def blank(theta):
    """The same structure with other numbers."""
    if isinstance(theta, np.ndarray):
        return np.zeros((1, 1), theta.dtype)
    if isinstance(theta, Box):
        return Box(blank(theta.inner), blank(theta.size))
    if isinstance(theta, Pair):
        return Pair(*map(blank, theta))
    if isinstance(theta, (tuple, list)):
        return type(theta)(map(blank, theta))
    return type(theta)(0)


@given(thetas)
def test_every_theta_comes_back(theta):
    parts = pack(theta, "theta")
    assert all(isinstance(part, np.ndarray) for part in parts.values())
    assert all(name.split(".")[0] == "theta" for name in parts)
    assert_same(unpack(blank(theta), parts, "theta"), theta)


@pytest.mark.parametrize(
    "theta",
    [
        np.arange(6.0).reshape(2, 3),
        Normal(np.ones(2), np.eye(2)),
        Mixture(np.array([0.4, 0.6]), (Normal(np.zeros(2), np.eye(2)), Normal(np.ones(2), 2.0))),
        Plane(np.ones(3), np.eye(3)[:1], np.ones(1)),
        Line(np.ones(2), 3.0),
    ],
    ids=type,
)
def test_thetas_of_the_models_come_back(theta):
    again = unpack(theta, pack(theta, "theta"), "theta")
    assert repr(again) == repr(theta)


@pytest.mark.parametrize("theta", ["words", {"a": 1.0}, None, (1.0, "words"), object(), 1j])
def test_other_thetas_are_refused(theta):
    with pytest.raises(TypeError, match="only numbers, arrays"):
        pack(theta, "theta")


@pytest.mark.parametrize("stop", [1, 3])
def test_a_saved_state_is_the_one_to_resume_from(tmp_path, stop):
    X = np.random.default_rng(0).normal(size=(200, 2))
    model, start = ClusterModel(), X[:3]
    checkpoint = Checkpoint(tmp_path / "c", "problem")
    save = checkpoint.save_to(checkpoint.begin_attempt(0.5))

    def callback(iteration):
        save(iteration)
        return iteration.number == stop

    part = alternate(model, MemoryRows(X), 0.5, start, callback=callback)
    assert part.status is Status.INTERRUPTED
    again = Checkpoint(tmp_path / "c", "problem")
    state = again.load(again.begin_attempt(0.5), start)
    assert state.n_iter == stop
    whole, resumed = (alternate(model, MemoryRows(X), 0.5, place) for place in (start, state))
    assert resumed.objective_history == whole.objective_history
    np.testing.assert_array_equal(resumed.theta, whole.theta)


def test_a_step_rejected_after_resuming_leaves_the_last_accepted_one(tmp_path):
    # From 5 the step leads to 1, and from there to 9, which is worse.
    model = CustomModel(
        error=lambda X, theta: np.square(X[:, 0] - theta),
        fit=lambda _, weights: 1.0 if weights[-1] > weights[1] else 9.0,
        is_exact=False,
        smallest_size=1.0,
    )
    rows = MemoryRows(np.arange(3.0)[:, None])
    checkpoint = Checkpoint(tmp_path / "c", "problem")
    save = checkpoint.save_to("1")

    def callback(iteration):
        save(iteration)
        return iteration.number == 2

    alternate(model, rows, 2.0, 5.0, callback=callback)
    whole, resumed = (
        alternate(model, rows, 2.0, place) for place in (5.0, checkpoint.load("1", 5.0))
    )
    assert whole.theta == 1.0
    assert resumed == whole


def test_attempts_do_not_mix(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", "problem")
    X = np.random.default_rng(0).normal(size=(50, 1))
    names = [checkpoint.begin_attempt(alpha) for alpha in (0.5, 0.5, 2.0)]
    assert len(set(names)) == 3
    for name, row in zip(names[:2], (X[:1], X[1:2]), strict=True):
        alternate(
            ClusterModel(), MemoryRows(X), 0.5, row, max_iter=3, callback=checkpoint.save_to(name)
        )
    first, second = (checkpoint.load(name, X[:1]) for name in names[:2])
    assert first.objective_history != second.objective_history
    assert checkpoint.load(names[2], X[:1]) is None
    with pytest.raises(ValueError, match="belongs to a fit of other rows"):
        Checkpoint(tmp_path / "c", "another problem").load(names[0], X[:1])


def interrupted(path):
    """Write the checkpoint of a fit that was stopped after its second pass."""

    X = np.random.default_rng(0).standard_t(2, size=(120, 3))
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 passes"):
        resumed(path, callback=lambda iteration: iteration.number == 2).fit(X)
    return X


def resumed(path, **options):
    return EOSDetector(model="gaussian", alpha=2.0, start="uniform", checkpoint=path, **options)


def forged(path, change):
    """Change the arrays of a checkpoint, and its digest along."""
    parts = read_sealed(path)
    arrays = {name: from_npy(data) for name, data in parts.items() if name != "problem"}
    (attempt,) = {name.split("/")[0] for name in arrays}
    change(arrays, attempt)
    data = {name: to_npy(np.asarray(array)) for name, array in arrays.items()}
    write_sealed(path, {"problem": parts["problem"], **data}, compress=False)


def set_part(name, value):
    return lambda arrays, attempt: arrays.update({f"{attempt}/{name}": np.asarray(value)})


FORGERIES = [
    set_part("reached.location", [0.0, np.nan, 0.0]),
    set_part("reached.location", [0.0, 0.0]),
    set_part("reached.covariance", -np.eye(3)),
    set_part("reached.covariance", np.eye(2)),
    set_part("theta.location", [0.0, np.inf, 0.0]),
    set_part("theta.location", np.zeros(4)),
    set_part("history", []),
    set_part("history", [1.0, 2.0]),
    set_part("history", [np.nan, np.nan]),
    set_part("n_iter", -1),
    set_part("n_iter", [1, 2]),
    set_part("summary", [2.0, 1.0]),
    set_part("summary", [2.0, 0.0, -5.0, 1.0, 0.1]),
    lambda arrays, attempt: arrays.pop(f"{attempt}/summary"),
    lambda arrays, attempt: arrays.pop(f"{attempt}/reached.location"),
]


@pytest.mark.parametrize("change", FORGERIES, ids=range(len(FORGERIES)))
def test_numbers_that_do_not_fit_together_are_refused(tmp_path, change):
    path = tmp_path / "c"
    X = interrupted(path)
    forged(path, change)
    with pytest.raises(ValueError, match="holds numbers that do not fit together"):
        resumed(path).fit(X)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:0],
        lambda data: data[:100] + bytes(50) + data[150:],
        pickle.dumps,
    ],
)
def test_damaged_checkpoints_are_refused(tmp_path, spoil):
    path = tmp_path / "c"
    X = interrupted(path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError, match="is not an eosparse checkpoint, or was damaged"):
        resumed(path).fit(X)
