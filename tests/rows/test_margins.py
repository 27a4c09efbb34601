"""Margins: formulas that bring columns to a normal law."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from eosparse.rows.families import Line, Power, Student
from eosparse.rows.margins import Margin, fit_margins

LAWS = {
    "log-normal": lambda rng, n: np.exp(rng.normal(size=n)),
    "gamma": lambda rng, n: rng.gamma(3.0, size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "t5": lambda rng, n: rng.standard_t(5, size=n),
}
CURVES = st.one_of(
    st.just((Line(), (0.0, 0.0))),
    st.tuples(st.just(Power()), st.tuples(st.floats(-0.5, 1.0), st.floats(-6.0, 3.0))),
    st.tuples(st.just(Student()), st.tuples(st.floats(0.01, 1.0), st.just(0.0))),
)


def fit_one(x, **options):
    return fit_margins(np.asarray(x)[:, None], np.ones(len(x)), **options).columns[0]


@given(CURVES, st.lists(st.floats(-20, 20), min_size=2, max_size=30))
def test_each_family_inverts_itself_and_rises(curve, y):
    family, numbers = curve
    y = np.sort(np.unique(np.round(y, 3)))
    values = family.curve(y, *(np.array(number) for number in numbers))
    assert (np.diff(values) > 0).all()
    np.testing.assert_allclose(family.invert(values, *numbers), y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("law", LAWS)
def test_a_fitted_margin_inverts_itself_and_rises(law):
    x = np.sort(LAWS[law](np.random.default_rng(0), 2000))
    margin = fit_one(x)
    assert (np.diff(margin(x)) > 0).all()
    np.testing.assert_allclose(margin.invert(margin(x)), x, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("law", LAWS)
def test_the_misfit_of_a_margin_is_that_of_any_rows(law):
    x = LAWS[law](np.random.default_rng(0), 2000)
    margin = fit_one(x)
    gaps, mixed = np.append(x, [np.nan] * 5), np.append(x, x[:400] + 5 * x.std())
    assert margin.measure_misfit(x, np.ones(2000)) == pytest.approx(margin.misfit, rel=1e-6)
    assert margin.measure_misfit(gaps, np.ones(2005)) == pytest.approx(margin.misfit, rel=1e-6)
    assert margin.measure_misfit(mixed, np.ones(2400)) > 2 + margin.misfit


@settings(max_examples=25)
@given(
    st.sampled_from(sorted(LAWS)),
    st.integers(0, 1000),
    st.floats(0.01, 100.0),
    st.booleans(),
    st.floats(-50.0, 50.0),
)
def test_units_do_not_matter_and_a_mirror_changes_the_sign(law, seed, size, is_mirrored, shift):
    x = LAWS[law](np.random.default_rng(seed), 400)
    scale = -size if is_mirrored else size
    before, after = fit_one(x), fit_one(scale * x + shift)
    assert type(after.family) is type(before.family)
    np.testing.assert_allclose(
        after(scale * x + shift), np.sign(scale) * before(x), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(
    ("law", "bend", "tolerance"),
    [
        ("log-normal", Power, 0.5),
        ("gamma", Power, 0.5),
        ("exponential", Power, 0.5),
        ("t3", Student, 0.2),
        ("t5", Student, 0.2),
    ],
)
def test_scores_of_fresh_draws_have_the_tail_of_a_normal_law(law, bend, tolerance):
    """A quantile that no training row reaches; the tolerance is in deviations, of 3.72."""
    found = []
    for seed in range(5):
        rng = np.random.default_rng([seed, 7])
        margin = fit_one(LAWS[law](rng, 4000))
        assert isinstance(margin.family, bend)
        found.append(np.quantile(margin(LAWS[law](rng, 1_000_000)), 1 - 1e-4))
    assert np.mean(found) == pytest.approx(norm.isf(1e-4), abs=tolerance)


@pytest.mark.parametrize("n_rows", [300, 1000])
@pytest.mark.parametrize("freedom", [3, 5, 8])
def test_few_rows_make_tails_too_heavy_rather_than_too_light(freedom, n_rows):
    """The chance of a row beyond the level of one in ten thousand, averaged over samples."""
    level, chances = norm.isf(1e-4), []
    for seed in range(60):
        draws = np.random.default_rng([seed, freedom]).standard_t(freedom, n_rows)
        margin = _search_tails_of(draws)
        low, high = margin.invert(np.array([-level, level]))
        chances.append(student.cdf(low, freedom) + student.sf(high, freedom))
    assert np.mean(chances) < 1.3 * 2e-4
    assert np.mean(chances) > 0.1 * 2e-4


def _search_tails_of(draws):
    """Return the margin with tails, also where few rows are not significantly heavy-tailed."""
    heavy = np.random.default_rng(0).standard_t(2, len(draws))
    return fit_margins(np.column_stack([draws, heavy]), np.ones(len(draws))).columns[0]


def test_where_columns_have_heavy_tails_the_others_may_have_them_too():
    rng = np.random.default_rng(0)
    heavy, normal = rng.standard_t(3, (2000, 1)), rng.normal(size=(2000, 9))
    few = fit_margins(np.column_stack([heavy, normal]), np.ones(2000))
    many = fit_margins(np.column_stack([heavy, normal[:, :3]]), np.ones(2000))
    assert few.heavy == (0,)
    assert many.heavy == (0, 1, 2, 3)
    # A normal column gets tails that hardly differ from those of a normal law.
    assert all(1 / margin.numbers[0] > 12 for margin in many.columns[1:])


@pytest.mark.parametrize("n_rows", [100, 1000, 4000])
def test_normal_columns_keep_their_line(n_rows):
    draws = np.random.default_rng(n_rows).normal(size=(n_rows, 200))
    kept = [margin.is_line for margin in fit_margins(draws, np.ones(n_rows)).columns]
    assert np.mean(kept) >= 0.95


def test_a_line_gives_standard_scores():
    x = np.random.default_rng(0).normal(30.0, 5.0, 5000)
    margin = fit_one(x, bends=[False])
    np.testing.assert_allclose(margin(x), (x - 30.0) / 5.0, atol=0.1)


def test_two_groups_are_not_a_curved_column():
    rng = np.random.default_rng(0)
    assert fit_one(np.append(rng.normal(0, 1, 500), rng.normal(9, 1, 500))).is_line


def test_columns_that_may_not_bend_do_not():
    x = np.exp(np.random.default_rng(0).normal(size=(1000, 2)))
    bent, line = fit_margins(x, np.ones(1000), bends=(True, False)).columns
    assert (bent.is_line, line.is_line) == (False, True)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros(100),
        np.repeat([0.0, 1.0], [99, 1]),
        np.repeat([0.0, 1.0], 50),
        np.arange(100.0) // 30,
        np.append(np.zeros(60), np.geomspace(1e-9, 1e9, 40)),
        np.append(np.arange(99.0), 1e300),
    ],
)
def test_ties_and_far_values_have_finite_scores(x):
    for options in ({}, {"left_out": 0.1}, {"heaps": [float(x[0])]}):
        scores = fit_one(x, **options)(x)
        assert np.isfinite(scores).all()
        assert (np.diff(scores[np.argsort(x)]) >= 0).all() or "heaps" in options


def test_a_heap_does_not_bend_the_others_and_stands_near_them():
    rng = np.random.default_rng(0)
    positive = np.exp(rng.normal(size=1000))
    heaped = fit_one(np.append(positive, np.zeros(800)), heaps=[0.0])
    alone = fit_one(positive)
    np.testing.assert_allclose(heaped(positive), alone(positive), rtol=1e-12)
    assert abs(heaped(np.zeros(1))[0]) <= 3.0


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(2, 5))
def test_a_weight_counts_as_copies(seed, times):
    rng = np.random.default_rng(seed)
    x, counts = rng.gamma(2.0, size=150), rng.integers(1, times + 1, 150)
    weighted = fit_margins(x[:, None], counts.astype(float)).columns[0]
    repeated = fit_one(np.repeat(x, counts))
    np.testing.assert_allclose(weighted(x), repeated(x), rtol=1e-7, atol=1e-7)


def test_what_is_done_is_said():
    rng = np.random.default_rng(0)
    words = {law: fit_one(draw(rng, 4000)).words for law, draw in LAWS.items()}
    assert words["log-normal"] == "skewed to the right: logarithm"
    assert words["t3"] == "heavy tails drawn in"
    assert fit_one(-np.exp(rng.normal(size=4000))).words == "skewed to the left: logarithm"
    assert Margin(Line(), (0.0, 0.0), 1.0, 0.0, 1.0, 0.0, 1.0).words == "as it is"


def test_a_negative_power_needs_evidence():
    """Few rows of a log-normal column do not tell its power; many of an inverse gamma one do."""
    rng = np.random.default_rng(0)
    few = fit_margins(np.exp(rng.normal(size=(300, 60))), np.ones(300)).columns
    assert np.mean([margin.numbers[0] < 0 for margin in few]) < 0.25  # half, without a test
    assert np.mean([margin.numbers[0] == 0 for margin in few]) > 0.25
    many = fit_margins(1 / rng.gamma(3, size=(4000, 5)), np.ones(4000)).columns
    assert all(margin.numbers[0] < -0.1 for margin in many)
