"""Working coordinates, and rows in memory."""

import numpy as np
import pytest

from eosparse.rows import MemoryRows, choose_coordinates, spanned


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(300, 4)) * [1e-6, 1.0, 1e6, 1.0] + 5


def test_coordinates_and_back(table):
    coordinates = choose_coordinates(table, np.ones(300))
    working = coordinates(table)
    assert np.abs(working).max() < 10
    np.testing.assert_allclose(coordinates.location(working[7]), table[7])
    np.testing.assert_allclose(
        coordinates.covariance(np.cov(working, rowvar=False), 0.0), np.cov(table, rowvar=False)
    )


def test_the_span_is_found_and_nothing_is_lost_in_it(table):
    dependent = np.column_stack([table, table[:, 0] * 1e6 + table[:, 2] * 1e-6, np.full(300, 3.0)])
    coordinates = choose_coordinates(dependent, np.ones(300))
    reduced = spanned(coordinates, MemoryRows(dependent))
    assert reduced.rank == 4
    np.testing.assert_allclose(reduced.off_span(dependent), 0.0)
    np.testing.assert_allclose(reduced.location(reduced(dependent)[3]), dependent[3])
    broken = dependent[:1] + np.array([[0, 0, 0, 0, 0, 1.0]])
    assert reduced.off_span(broken)[0] > 0.1
    assert spanned(choose_coordinates(table, np.ones(300)), MemoryRows(table)).basis is None


def test_one_enormous_row_does_not_hide_the_rank(table):
    table[0] = 1e30
    coordinates = choose_coordinates(table, np.ones(300))
    assert spanned(coordinates, MemoryRows(table)).rank == 4
    assert np.isfinite(np.square(coordinates(table))).all()


def test_more_columns_than_rows():
    X = np.random.default_rng(1).normal(size=(12, 50))
    reduced = spanned(choose_coordinates(X, np.ones(12)), MemoryRows(X))
    assert reduced.rank == 11
    working = reduced(X)
    scaled = reduced.scaled(X)
    np.testing.assert_allclose(working @ working.T, scaled @ scaled.T, rtol=1e-9, atol=1e-9)


def test_blocks_cover_all_rows_in_order(table):
    rows = MemoryRows(table, np.arange(300.0), block_numbers=1)
    blocks = rows.fold(lambda block, prior: [(block, prior)])
    assert len(blocks) == 2
    np.testing.assert_array_equal(np.concatenate([block for block, _ in blocks]), table)
    np.testing.assert_array_equal(np.concatenate([prior for _, prior in blocks]), np.arange(300.0))
    np.testing.assert_array_equal(rows.map(lambda block: block[:, 1]).values, table[:, 1])
    values, prior = rows.take(np.array([0, 298]))  # row 0 has no weight, and is not counted
    np.testing.assert_array_equal(values, table[[1, 299]])
    assert prior.tolist() == [1.0, 299.0]
