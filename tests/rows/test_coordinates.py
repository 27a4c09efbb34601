"""Working coordinates, and rows in memory."""

import numpy as np
import pytest

from eosparse.rows import MemoryRows, choose_coordinates, reduce_to_span, span_rows, take_sample


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(300, 4)) * [1e-6, 1.0, 1e6, 1.0] + 5


def coordinates_of(X):
    return choose_coordinates(take_sample(MemoryRows(X), len(X)))


def test_coordinates_and_back(table):
    coordinates = coordinates_of(table)
    working = coordinates(table)
    assert np.abs(working).max() < 10
    np.testing.assert_allclose(coordinates.location(working[7]), table[7])
    np.testing.assert_allclose(
        coordinates.covariance(np.cov(working, rowvar=False), 0.0), np.cov(table, rowvar=False)
    )


def test_the_span_is_found_and_nothing_is_lost_in_it(table):
    dependent = np.column_stack([table, table[:, 0] * 1e6 + table[:, 2] * 1e-6, np.full(300, 3.0)])
    coordinates = coordinates_of(dependent)
    reduced = reduce_to_span(coordinates, MemoryRows(dependent))
    assert reduced.rank == 4
    np.testing.assert_allclose(reduced.off_span(dependent), 0.0)
    np.testing.assert_allclose(reduced.location(reduced(dependent)[3]), dependent[3])
    broken = dependent[:1] + np.array([[0, 0, 0, 0, 0, 1.0]])
    assert reduced.off_span(broken)[0] > 0.1
    assert reduce_to_span(coordinates_of(table), MemoryRows(table)).basis is None


def test_one_enormous_row_does_not_hide_the_rank(table):
    table[0] = 1e30
    coordinates = coordinates_of(table)
    assert reduce_to_span(coordinates, MemoryRows(table)).rank == 4
    assert np.isfinite(np.square(coordinates(table))).all()


def test_of_equally_close_rows_the_order_does_not_choose_the_origin():
    rows = np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [3.0, 3.0, 0.0], [-3.0, -3.0, 0.0]])
    for some in (rows, rows[::-1], rows[[2, 1, 0, 3]]):
        chosen = choose_coordinates(take_sample(MemoryRows(some), 4))
        assert chosen.origin.tolist() == [-1.0, -1.0, 0.0]
        assert span_rows(chosen, some, np.ones(4)).origin.tolist() == [-1.0, -1.0, 0.0]


def test_more_columns_than_rows():
    X = np.random.default_rng(1).normal(size=(12, 50))
    reduced = reduce_to_span(coordinates_of(X), MemoryRows(X))
    assert reduced.rank == 11
    working = reduced(X)
    scaled = reduced.standardise(X)
    np.testing.assert_allclose(working @ working.T, scaled @ scaled.T, rtol=1e-9, atol=1e-9)


def test_a_function_that_should_fall_is_kept_level_where_it_rises():
    rng = np.random.default_rng(0)
    distances = MemoryRows(rng.permutation(np.linspace(0, 10, 200)), np.ones(200))

    def wavy(values):
        return np.exp(-values / 5) + 0.1 * np.sin(3 * values)

    falling = distances.map_falling(wavy)
    order = np.argsort(distances.values)
    levels = falling.to_column(np.dtype(np.float64))[order]
    assert (np.diff(levels) <= 0).all()
    np.testing.assert_array_equal(levels, np.minimum.accumulate(wavy(distances.values[order])))
    np.testing.assert_array_equal(falling.prior, distances.prior)
    np.testing.assert_array_equal(
        distances.map_falling(np.negative).values, distances.map(np.negative).values
    )


def test_tied_numbers_stay_tied_in_a_falling_function():
    distances = MemoryRows(np.array([2.0, 1.0, 2.0, 1.0, 3.0]))
    mapped = distances.map_falling(lambda values: -values).values
    assert mapped.tolist() == [-2.0, -1.0, -2.0, -1.0, -3.0]


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
