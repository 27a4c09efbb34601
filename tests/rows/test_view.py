"""Views: numbers by their margins, without the effects of levels."""

import pickle

import numpy as np
import pytest

from eosparse.rows import Kind, MemoryRows, learn_view, recognise_kinds, take_sample

NAMES = ["sex", "height", "income", "rain", "unit"]


def draw_people(n_rows=1000, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n_rows).astype(float)
    height = rng.normal(165 + 4 * sex, 7)
    income = np.exp(rng.normal(10 + sex, 0.5))
    rain = np.where(rng.random(n_rows) < 0.4, 0.0, rng.gamma(2.0, size=n_rows))
    return np.column_stack([sex, height, income, rain, np.full(n_rows, 5.0)])


@pytest.fixture(scope="module")
def people():
    return draw_people()


def learn(X, **options):
    return learn_view(X, np.ones(len(X)), recognise_kinds(X, np.ones(len(X)), NAMES), **options)


def test_numbers_are_coordinates_and_levels_are_conditions(people):
    view = learn(people, bends=True)
    assert view.places.tolist() == [1, 2]
    assert view.levels.tolist() == [0]
    assert [margin.is_line for margin in view.margins.columns] == [True, False]


def test_local_distances_see_levels_and_heaps_too(people):
    view = learn(people, bends=True, is_local=True)
    assert view.places.tolist() == [0, 1, 2, 3]
    assert not len(view.levels)
    assert view.margins.columns[0].is_line
    assert view.margins.columns[3].heap == 0.0


def test_the_effect_of_levels_is_taken_out(people):
    scores, sex = learn(people)(people), people[:, 0]
    medians = [np.median(scores[sex == level], axis=0) for level in (0, 1)]
    np.testing.assert_allclose(*medians, atol=1e-12)
    with_levels = learn(people, is_local=True)(people)[:, 1:3]
    assert (np.median(with_levels[sex == 1], axis=0) > medians[1] + 0.2).all()


def test_rows_are_seen_one_by_one(people):
    view = learn(people, bends=True)
    parts = np.concatenate([view(people[i : i + 7]) for i in range(0, len(people), 7)])
    np.testing.assert_array_equal(parts, view(people))
    single = view(people.astype(np.float32))
    np.testing.assert_allclose(single, view(people), rtol=1e-3, atol=1e-3)


def test_deviations_go_to_their_columns(people):
    view = learn(people)
    expanded = view.expand(np.array([[1.0, 2.0]]))
    assert expanded.tolist() == [[0.0, 1.0, 2.0, 0.0, 0.0]]


def test_the_middle_has_the_units_of_the_columns(people):
    middle = learn(people, bends=True).location(np.zeros(2))
    assert np.isnan(middle[[0, 3, 4]]).all()
    np.testing.assert_allclose(middle[[1, 2]], np.median(people[:, [1, 2]], axis=0), rtol=0.05)


def test_units_of_columns_do_not_matter(people):
    scaled = people * [1.0, 0.01, 1e-3, 1.0, 1.0] + [0.0, 4.0, -7.0, 0.0, 0.0]
    np.testing.assert_allclose(
        learn(scaled, bends=True)(scaled), learn(people, bends=True)(people), rtol=1e-4, atol=1e-4
    )


def test_a_category_is_never_a_coordinate(people):
    kinds = recognise_kinds(people, np.ones(1000), NAMES, {"sex": "category", "income": "ignored"})
    for is_local in (False, True):
        view = learn_view(people, np.ones(1000), kinds, is_local=is_local)
        assert 0 not in view.places
        assert 2 not in view.places
        assert view.levels.tolist() == [0]
    assert kinds[0].kind is Kind.CATEGORY


def test_views_can_be_saved(people):
    view = learn(people, bends=True)
    again = pickle.loads(pickle.dumps(view))
    np.testing.assert_array_equal(again(people), view(people))


def test_a_sample_look_through_a_view_keeps_names_and_table_together():
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 300).astype(float)
    X = np.column_stack([sex, rng.normal(size=(300, 2))])
    columns = recognise_kinds(X, np.ones(300), ["sex", "height", "weight"])
    view = learn_view(X, np.ones(300), columns)
    rows = MemoryRows(X, names=("sex", "height", "weight"))
    seen = take_sample(rows, 50).look_through(view, view.places)
    assert seen.columns == ["height", "weight"]
    total = seen.table.fold(lambda block, _: block.sum(axis=0))
    np.testing.assert_allclose(total, view(X).sum(axis=0))
