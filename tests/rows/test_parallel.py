"""Blocks in parallel: in order, with errors, nested, and with BLAS as it was."""

import multiprocessing
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from eosparse import EOSDetector
from eosparse.rows.parallel import (
    fold_in_order,
    map_in_order,
    map_parallel,
    single_threaded_blas,
)


@pytest.fixture
def two_threads():
    """Two threads, whatever the tests are run with."""
    with threadpool_limits(2, user_api="blas"):
        yield


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_results_come_in_order_from_several_threads():
    def slow_first(item):
        time.sleep(0.02 * (item % 3 == 0))
        return item, threading.get_ident()

    found = list(map_in_order(range(20), slow_first, n_threads=2))
    assert [item for item, _ in found] == list(range(20))
    assert len({thread for _, thread in found}) == 2


def test_an_error_in_a_thread_reaches_the_caller_and_ends_the_work():
    done = []

    def fail(item):
        time.sleep(0.01)
        done.append(item)
        if item == 3:
            raise ValueError("block 3")

    with pytest.raises(ValueError, match="block 3"):
        list(map_in_order(range(1000), fail, n_threads=2))
    count = len(done)
    assert count < 10
    time.sleep(0.05)
    assert len(done) == count  # nothing goes on behind the caller's back


def test_results_that_nobody_wants_are_not_made():
    done = []
    results = map_in_order(range(1000), done.append, n_threads=2)
    next(results)
    results.close()
    assert len(done) < 10


@pytest.mark.usefixtures("two_threads")
def test_work_within_work_does_not_wait_for_itself():
    found = map_parallel(lambda i: map_parallel(lambda j: 10 * i + j, range(5)), range(6))
    assert found == [[10 * i + j for j in range(5)] for i in range(6)]


@pytest.mark.usefixtures("two_threads")
def test_a_fit_with_threads_equals_one_without():
    X = np.random.default_rng(0).normal(size=(300_000, 6))
    X[::5] *= 5
    together = EOSDetector().fit(X)
    with threadpool_limits(1, user_api="blas"):
        alone = EOSDetector().fit(X)
    np.testing.assert_array_equal(together.covariance_, alone.covariance_)
    np.testing.assert_array_equal(together.p_values_, alone.p_values_)


def test_blas_has_its_threads_back():
    with threadpool_limits(2):
        before = blas_threads()
        with single_threaded_blas() as n_threads, single_threaded_blas() as inner:
            assert n_threads == inner == 2
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        with pytest.raises(ValueError, match="no rows with a positive weight"):
            fold_in_order([], lambda _: None)
        assert blas_threads() == before


def test_threads_are_made_anew_after_a_fork():
    assert list(map_in_order(range(4), abs, n_threads=2)) == [0, 1, 2, 3]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(
        target=lambda: queue.put(list(map_in_order(range(4), abs, n_threads=2)))
    )
    child.start()
    assert queue.get(timeout=20) == [0, 1, 2, 3]
    child.join()
