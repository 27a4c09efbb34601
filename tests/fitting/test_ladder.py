"""The ladder: which model of the bulk is taken, and what it must not depend on."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.base import clone

from eosparse import CollapseError, DegenerateDataWarning, EOSDetector, MaskingWarning
from eosparse.datasets import make_contaminated
from eosparse.fitting.ladder import RUNGS, find_rungs
from eosparse.fitting.reasons import doubt_bends, doubt_flags, flags_many_near, has_known_tail
from eosparse.inference import Promise, TailCheck

pytestmark = pytest.mark.filterwarnings("ignore::eosparse.MaskingWarning")


def draw_t5_copula(rng):
    mixed = rng.normal(size=(3000, 4)) @ np.linalg.cholesky(0.5 + 0.5 * np.eye(4)).T
    return student.ppf(norm.cdf(mixed), 5)


def draw_groups(rng, n_groups=2, n_rows=1000, n_features=4):
    centres = 12 * np.linalg.qr(rng.standard_normal((n_features, n_groups)))[0].T
    scatter = rng.standard_normal((n_rows, n_features))
    return scatter + np.repeat(centres, n_rows // n_groups, axis=0)


def draw_binary(rng):
    X = rng.normal(size=(1500, 4))
    X[:, 3] = rng.random(1500) < 0.3
    return X


def draw_heap(rng):
    X = rng.normal(size=(1000, 3))
    X[:, 2] = np.where(rng.random(1000) < 0.35, 0, np.exp(X[:, 2]))
    return X


BULKS = {
    "Gaussian": ("gaussian", lambda rng: rng.normal(size=(1500, 5)) @ rng.normal(size=(5, 5))),
    "log-normal": ("margins", lambda rng: np.exp(rng.normal(size=(1500, 4)))),
    "exponential": ("margins", lambda rng: rng.exponential(size=(1500, 4))),
    "gamma": ("margins", lambda rng: rng.gamma(2.0, size=(1500, 4))),
    "t5 copula": ("margins", draw_t5_copula),
    "two groups": ("groups", draw_groups),
    "0/1 column": ("gaussian", draw_binary),
    "heap": ("local", draw_heap),
}
# A table of each rung, small enough to be fitted several times.
SMALL = {
    "gaussian": lambda rng: rng.normal(size=(300, 3)),
    "margins": lambda rng: np.exp(rng.normal(size=(400, 3))),
    "groups": lambda rng: draw_groups(rng, n_rows=300, n_features=3),
    "local": lambda rng: draw_heap(rng)[:300],
}


def draw_small(rung, seed=0):
    """A table whose first five rows are wrong, each in its own way."""
    X = SMALL[rung](np.random.default_rng([seed, RUNGS.index(rung)]))
    X[:5, 0] = 60.0 * np.arange(1, 6) * [1, -1, 1, -1, 1]
    if rung == "margins":
        X[:5, 0] = [1e4, 1e5, 1e6, 1e7, 1e8]
    return X


@cache
def fit_small(rung):
    """A detector of the small table of a rung, which no test may change."""
    return EOSDetector().fit(draw_small(rung))


@pytest.fixture(params=RUNGS)
def rung(request):
    return request.param


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("bulk", BULKS)
def test_each_bulk_finds_its_rung_and_clean_rows_are_left_alone(bulk, seed):
    rung, draw = BULKS[bulk]
    X = draw(np.random.default_rng(seed))
    detector = EOSDetector().fit(X)
    assert detector.rung_ == rung
    assert detector.is_outlier_.mean() < (0.02 if rung == "local" else 0.005)
    assert bool(detector.promise_) == (rung != "local")
    assert detector.reason_.endswith(".")


@pytest.mark.parametrize("bulk", ["Gaussian", "log-normal", "gamma", "two groups", "0/1 column"])
def test_gross_errors_are_found_in_each_bulk(bulk):
    rung, draw = BULKS[bulk]
    X = draw(np.random.default_rng(9))
    wrong = np.arange(0, len(X), 50)
    X[wrong, 0] = np.abs(X[:, 0]).max() * np.linspace(8, 30, len(wrong))
    detector = EOSDetector().fit(X)
    assert detector.rung_ == rung
    assert detector.is_outlier_[wrong].all()
    assert np.delete(detector.is_outlier_, wrong).mean() < 0.005


def test_a_table_several_times_over_flags_the_same_rows(rung):
    X, once = draw_small(rung), fit_small(rung)
    assert once.rung_ == rung
    over = EOSDetector().fit(np.tile(X, (3, 1)))
    weighted = EOSDetector().fit(X, sample_weight=np.full(len(X), 3.0))
    for other in (over, weighted):
        assert other.rung_ == rung
        np.testing.assert_array_equal(other.is_outlier_[: len(X)], once.is_outlier_)
        np.testing.assert_allclose(other.p_values_[: len(X)], once.p_values_, rtol=1e-4, atol=1e-8)


def test_a_weight_counts_as_copies(rung):
    X = draw_small(rung)
    counts = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = EOSDetector(model=rung).fit(X, sample_weight=counts)
    repeated = EOSDetector(model=rung).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_every_storage_gives_the_same_answer(rung, storage):
    X, here = draw_small(rung), fit_small(rung)
    rows = storage(X)
    there = EOSDetector().fit(rows)
    assert there.rung_ == here.rung_ == rung
    assert [column.kind for column in there.columns_] == [column.kind for column in here.columns_]
    np.testing.assert_allclose(
        np.asarray(there.p_values(rows)), here.p_values(X), rtol=1e-6, atol=1e-9
    )
    np.testing.assert_array_equal(np.asarray(there.predict(rows)), here.predict(X))


def test_the_order_of_the_rows_does_not_matter(rung):
    X = draw_small(rung)
    order = np.random.default_rng(2).permutation(len(X))
    here, there = fit_small(rung), EOSDetector().fit(X[order])
    assert there.rung_ == rung
    np.testing.assert_array_equal(there.is_outlier_, here.is_outlier_[order])
    np.testing.assert_allclose(there.p_values_, here.p_values_[order], rtol=1e-3, atol=1e-6)


def test_units_do_not_matter(rung):
    X = draw_small(rung)
    here = fit_small(rung)
    there = EOSDetector().fit(X * [1000.0, 0.001, 25.4] + [0.0, 32.0, 0.0])
    assert there.rung_ == rung
    np.testing.assert_array_equal(there.is_outlier_, here.is_outlier_)
    np.testing.assert_allclose(there.p_values_, here.p_values_, rtol=1e-3, atol=1e-4)


def test_single_precision_agrees(rung):
    X = draw_small(rung).astype(np.float32)
    single, double = EOSDetector().fit(X), EOSDetector().fit(X.astype(np.float64))
    assert single.rung_ == double.rung_ == rung
    assert single.p_values_.dtype == np.float32
    np.testing.assert_array_equal(single.is_outlier_, double.is_outlier_)


def test_fitted_detectors_answer_alike_when_saved_or_asked_again(rung):
    X = draw_small(rung)
    detector = EOSDetector()
    found = detector.fit_predict(X)
    np.testing.assert_array_equal(detector.predict(X), found)
    again = pickle.loads(pickle.dumps(detector))
    np.testing.assert_array_equal(again.p_values(X), detector.p_values(X))
    assert str(again.promise_) == str(detector.promise_)
    assert clone(detector).get_params() == detector.get_params()


def test_explanations_name_the_column_that_is_wrong(rung):
    X = draw_small(rung)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    detector = EOSDetector().fit(frame)
    assert detector.feature_names_in_.tolist() == ["a", "b", "c"]
    assert [column.name for column in detector.columns_] == ["a", "b", "c"]
    explanation = detector.explain(frame[:5])
    assert [explanation.top(row, n=1)[0][0] for row in range(5)] == ["a"] * 5
    if rung in ("gaussian", "margins"):
        np.testing.assert_allclose(
            np.square(detector.transform(frame)).sum(axis=1), -detector.score_samples(frame)
        )
    detector.set_output(transform="pandas")
    assert detector.transform(frame).columns.tolist() == ["a", "b", "c"]


def test_a_rung_can_be_asked_for(rung):
    X = np.random.default_rng(3).normal(size=(300, 3))
    asked = EOSDetector(model=rung)
    if rung == "margins":  # no column of these needs bending
        with pytest.raises(CollapseError, match="no bent column is closer to normal"):
            asked.fit(X)
        return
    if rung == "groups":
        X[:150] += 9.0
    assert asked.fit(X).rung_ == (None if rung == "gaussian" else rung)


def test_names_of_rungs():
    assert find_rungs("auto") == RUNGS
    assert find_rungs("mixture") == find_rungs(object()) == ()


class TestGroups:
    def test_two_groups_are_described(self):
        detector = EOSDetector().fit(draw_groups(np.random.default_rng(0)))
        assert [group.share for group in detector.groups_] == pytest.approx([0.5, 0.5], abs=0.02)
        assert not any(group.is_outlier for group in detector.groups_)
        assert sum(group.n_rows for group in detector.groups_) == pytest.approx(1000, abs=2)

    def test_a_small_group_beside_a_majority_is_wrong_unless_it_is_a_kind(self):
        X = np.random.default_rng(0).normal(size=(1000, 3))
        X[:100] += 12.0
        outliers = EOSDetector().fit(X)
        assert outliers.rung_ == "gaussian"
        assert outliers.is_outlier_[:100].all()
        (group,) = outliers.groups_
        assert group.n_rows == 100
        assert group.is_outlier
        assert not outliers.promise_
        assert "only you can tell" in outliers.promise_.reason
        kinds = EOSDetector(groups="kinds").fit(X)
        assert kinds.rung_ == "groups"
        assert kinds.is_outlier_.mean() < 0.005
        with pytest.raises(ValueError, match="groups='both' must be"):
            EOSDetector(groups="both").fit(X)


class TestKinds:
    def test_a_column_of_few_values_flags_no_row(self):
        for share in (0.02, 0.3, 0.5):
            rng = np.random.default_rng(round(100 * share))
            X = rng.normal(size=(1000, 3))
            X[:, 2] = rng.random(1000) < share
            detector = EOSDetector().fit(X)
            assert detector.columns_[2].kind == "levels"
            assert detector.is_outlier_.mean() < 0.005

    def test_a_row_is_judged_among_those_of_its_level(self):
        rng = np.random.default_rng(0)
        sex = np.repeat([0.0, 1.0], 500)
        X = np.column_stack([sex, rng.normal(20 * sex, 1.0), rng.normal(size=1000)])
        X[0, 1] = 20.0  # usual, but not for its level
        assert np.flatnonzero(EOSDetector().fit(X).is_outlier_).tolist() == [0]

    def test_kinds_can_be_given(self):
        X = pd.DataFrame(draw_binary(np.random.default_rng(0)), columns=list("abcd"))
        X["a"] *= np.where(np.arange(1500) == 7, 1e3, 1.0)
        assert EOSDetector().fit(X).is_outlier_[7]
        ignored = EOSDetector(kinds={"a": "ignored"}).fit(X)
        assert not ignored.is_outlier_.any()
        assert ignored.columns_[0].kind == "ignored"
        category = EOSDetector(kinds={"d": "category"}).fit(X)
        assert category.columns_[3].kind == "category"
        with pytest.raises(ValueError, match="X has no column 'z'"):
            EOSDetector(kinds={"z": "number"}).fit(X)
        with pytest.raises(ValueError, match="kinds applies to model='auto'"):
            EOSDetector(kinds={"a": "number"}, model="gaussian").fit(X)

    def test_text_is_a_category_and_no_number(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
        frame["town"] = np.where(np.arange(400) % 2, "Lugano", "Bern")
        assert EOSDetector().fit(frame).columns_[2].kind == "category"
        with pytest.raises(ValueError, match="'town' hold something else"):
            EOSDetector(model="gaussian").fit(frame)


class TestSmallAndOdd:
    def test_thirty_rows(self):
        X = np.random.default_rng(0).normal(size=(30, 3))
        X[0] = 30.0
        detector = EOSDetector().fit(X)
        assert np.flatnonzero(detector.is_outlier_).tolist() == [0]

    def test_few_rows_for_many_columns_are_one_gaussian(self):
        X = np.exp(np.random.default_rng(0).normal(size=(40, 20)))
        assert EOSDetector().fit(X).rung_ == "gaussian"

    def test_an_alpha_that_was_asked_for_is_not_replaced(self):
        X = np.random.default_rng(0).normal(size=(300, 4))
        for asked in ({"alpha": 0.2}, {"efficiency": 1e-6}):
            with pytest.raises(CollapseError):
                EOSDetector(**asked).fit(X)

    def test_a_bent_column_has_a_location_in_its_units_and_no_covariance(self):
        X = np.exp(np.random.default_rng(0).normal(3.0, 1.0, size=(1000, 3)))
        detector = EOSDetector().fit(X)
        np.testing.assert_allclose(detector.location_, np.median(X, axis=0), rtol=0.1)
        with pytest.raises(AttributeError, match="the columns were bent"):
            _ = detector.covariance_


def test_columns_in_two_units_beside_levels():
    rng = np.random.default_rng(0)
    weight = rng.normal(70, 10, 3000)  # more rows than the sample that finds the relation
    table = pd.DataFrame(
        {"sex": rng.integers(0, 2, 3000), "kg": weight, "lb": 2.2 * weight,
         "cm": rng.normal(170, 9, 3000)}
    )  # fmt: skip
    table.loc[0, "cm"] = 300
    detector = EOSDetector().fit(table)
    assert detector.rung_ == "gaussian"
    assert np.flatnonzero(detector.is_outlier_).tolist() == [0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_with_impossible_levels_leave_their_weight_to_the_others(dtype):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(1, 6, 300)]).astype(dtype)
    X[0, 1] = 999
    detector = EOSDetector().fit(X)
    assert detector.is_outlier_[0]
    assert detector.weights_[0] == 0.0
    assert detector.weights_.sum() == pytest.approx(1.0, abs=1e-6)
    assert np.isfinite(detector.score_samples(X)).all()


@pytest.mark.parametrize("model", ["margins", "groups"])
def test_rungs_without_a_column_of_numbers_say_so(model):
    levels = np.random.default_rng(0).integers(0, 4, (200, 2))
    with pytest.raises(ValueError, match=r"no column of numbers.*or use model='local'"):
        EOSDetector(model=model).fit(levels)


def test_groups_beside_the_bulk_are_counted_by_mass():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(9, 0.3, size=(4, 2))])
    counts = np.append(rng.integers(1, 4, 100), [2, 2, 2, 3])
    weighted = EOSDetector().fit(X, sample_weight=counts)
    repeated = EOSDetector().fit(np.repeat(X, counts, axis=0))
    assert [group.n_rows for group in weighted.groups_] == [9]
    assert [group.n_rows for group in repeated.groups_] == [9]


@pytest.mark.parametrize("share", [0.02, 0.05, 0.12])
def test_a_small_group_beside_large_ones_is_an_outlier_unless_groups_are_kinds(share):
    rng = np.random.default_rng(0)
    X = draw_groups(rng, n_features=4)
    small = rng.choice(len(X), round(share * len(X)), replace=False)
    X[small] = rng.normal(40, 0.5, (len(small), 4))
    detector = EOSDetector().fit(X)
    assert detector.rung_ == "groups"
    assert detector.is_outlier_[small].all()
    assert np.delete(detector.is_outlier_, small).mean() < 0.005
    apart = [group for group in detector.groups_ if group.is_outlier]
    assert sum(group.share for group in apart) == pytest.approx(share, abs=0.01)
    assert sum(group.share for group in detector.groups_) == pytest.approx(1.0, abs=0.01)
    assert bool(detector.promise_) == (share <= 0.05)
    kinds = EOSDetector(groups="kinds").fit(X)
    assert not kinds.is_outlier_[small].any() or share < 0.05  # too few rows for a group


def draw_around(sizes, seed=0):
    rng = np.random.default_rng(seed)
    turns = 2 * np.pi * np.arange(len(sizes)) / len(sizes)
    centres = 12 * np.column_stack([np.cos(turns), np.sin(turns)])
    return rng.normal(size=(sum(sizes), 2)) + np.repeat(centres, sizes, axis=0)


@pytest.mark.parametrize("sizes", [(460, 140, 140, 130, 130), (400, 133, 133, 133, 133)])
def test_many_small_groups_are_what_the_table_consists_of(sizes):
    detector = EOSDetector().fit(draw_around(sizes))
    assert detector.rung_ == "groups"
    assert detector.is_outlier_.mean() < 0.01
    assert sorted(round(group.n_rows, -1) for group in detector.groups_) == sorted(
        round(size, -1) for size in sizes
    )


@pytest.mark.parametrize("sizes", [(450, 400, 100), (400, 300, 200, 100)])
def test_a_small_group_is_reported_as_one(sizes):
    detector = EOSDetector().fit(draw_around(sizes))
    apart = [group for group in detector.groups_ if group.is_outlier]
    assert [group.n_rows for group in apart] == [100]
    assert not detector.promise_
    assert "100 rows" in detector.promise_.reason


@pytest.mark.parametrize("n_rows", [30, 40])
def test_small_tables_with_levels_are_no_exact_fit(n_rows):
    n_flagged = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table = {"age": rng.normal(50, 9, n_rows), "kids": rng.poisson(0.4, n_rows),
                 "sex": rng.integers(0, 2, n_rows)}  # fmt: skip
        n_flagged += EOSDetector().fit(pd.DataFrame(table)).is_outlier_.sum()
    assert n_flagged <= 6  # a dozen in each table, if ties were exact relations


def test_a_warning_that_many_rows_lie_apart_does_not_hide_them():
    """Of 45 % in one group one Gaussian warns; the others are a majority, and no groups."""
    rng = np.random.default_rng(3)
    X, is_outlier = rng.normal(size=(1000, 50)), np.arange(1000) < 450
    X[is_outlier, 0] += 8 * np.sqrt(50)
    with pytest.warns(MaskingWarning, match="hardly more than half"):
        detector = EOSDetector().fit(X)
    assert detector.rung_ == "gaussian"
    assert detector.is_outlier_[is_outlier].all()
    assert detector.is_outlier_[~is_outlier].mean() < 0.02
    assert not detector.promise_


@pytest.mark.parametrize("seed", range(3))
def test_rows_with_three_times_the_spread_are_flagged(seed):
    """Some lie just beyond the others, as a tail would, but most lie farther."""
    X, is_outlier = make_contaminated(1000, 10, 0.3, outliers="radial", random_state=seed)
    detector = EOSDetector().fit(X)
    assert detector.rung_ == "gaussian"
    assert detector.is_outlier_[is_outlier].mean() > 0.9
    assert detector.is_outlier_[~is_outlier].mean() < 0.02


@pytest.mark.parametrize("repetition", [0, 7])
def test_a_near_group_is_no_tail(repetition):
    rng = np.random.default_rng([80_000 + repetition, 1000, 10])
    X, is_outlier = make_contaminated(
        1000, 10, 0.05, outliers="clustered", inliers="autoregressive", random_state=rng
    )
    detector = EOSDetector().fit(X)
    assert detector.rung_ == "gaussian"
    assert detector.is_outlier_[is_outlier].mean() > 0.9


def test_groups_beside_many_flagged_rows_are_no_cloud():
    """A walk through the columns: one Gaussian of its longest stretch flags the rest of the way."""
    rng = np.random.default_rng(6)
    steps = np.cumsum(rng.normal(0.05, 1, (500, 4)), axis=0)
    detector = EOSDetector().fit(steps + rng.normal(0, 0.3, (500, 4)))
    assert detector.is_outlier_.mean() < 0.01
    assert not detector.promise_


def test_rows_flagged_by_an_exact_fit_come_without_a_promise():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.normal(size=200), np.zeros(200)])
    X[:, 2] = X[:, 0] - X[:, 1]
    X[:60, 2] += rng.normal(size=60)
    with pytest.warns(DegenerateDataWarning):
        detector = EOSDetector().fit(X)
    assert detector.is_outlier_[:60].mean() > 0.9
    assert not detector.promise_


@pytest.mark.parametrize("share", [0.02, 0.2])
@pytest.mark.parametrize("bulk", ["counts", "zeros"])
def test_gross_errors_close_to_each_other_are_found_where_no_law_is_known(bulk, share):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (500, 3)) + 0.0
    if bulk == "zeros":
        X = np.where(rng.random((500, 3)) < 0.4, 0.0, rng.gamma(2, size=(500, 3)))
    wrong = rng.choice(500, round(share * 500), replace=False)
    X[wrong, 1] = 60 + rng.integers(0, 9, len(wrong))
    detector = EOSDetector().fit(X)
    assert detector.rung_ == "local"
    assert detector.is_outlier_[wrong].all()
    assert np.delete(detector.is_outlier_, wrong).mean() < 0.02
    assert [(group.n_rows, group.columns) for group in detector.groups_] == [(len(wrong), ("x1",))]
    explanation = detector.explain(X[wrong])
    assert {explanation.top(row, n=1)[0][0] for row in range(len(wrong))} == {"x1"}
    assert detector.predict([[0.0, 400.0, 0.0]]).tolist() == [-1]
    kinds = EOSDetector(groups="kinds").fit(X)
    assert share < 0.1 or kinds.is_outlier_[wrong].mean() < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_counts_with_errors_that_all_differ_follow_no_law_of_numbers(seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(2, (1000, 3)) + 0.0
    wrong = rng.random(1000) < 0.2
    X[wrong] += rng.uniform(30, 90, (wrong.sum(), 3))
    detector = EOSDetector().fit(X)
    assert detector.is_outlier_[wrong].mean() > 0.9
    assert not detector.promise_


def test_groups_are_found_beside_a_category_that_tells_nothing():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(draw_groups(rng, n_features=3), columns=["a", "b", "c"])
    table["city"] = rng.choice(["x", "y", "z"], len(table))
    detector = EOSDetector().fit(table)
    assert detector.rung_ == "groups"
    assert len(detector.groups_) == 2
    assert detector.is_outlier_.mean() < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_a_tenth_of_a_small_table_is_not_flagged_for_a_tail(seed):
    """A core of 90 % with a wider halo: the tail of the core alone looks right."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(250, 3)) * np.where(rng.random((250, 1)) < 0.15, 4, 1)
    detector = EOSDetector().fit(X)
    assert not (detector.is_outlier_.mean() > 0.05 and detector.promise_)


@pytest.mark.parametrize(("n_near", "holds"), [(25, True), (40, False)])
def test_a_promise_is_withdrawn_if_many_flagged_rows_lie_just_beyond_the_others(n_near, holds):
    """Of a heavy tail one Gaussian describes the middle, and the promise would be that of a cut."""
    p_values = np.concatenate([np.linspace(0.02, 1, 900), np.full(n_near, 1e-3), np.zeros(50)])
    check = TailCheck.of(p_values, np.ones(len(p_values)), flagged_at=0.005)
    assert has_known_tail(check)
    assert bool(doubt_flags(Promise(True, "the law fits"), check)) == holds


@pytest.mark.parametrize("seed", range(3))
def test_the_tail_of_a_skewed_column_is_no_outlier_of_one_gaussian(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(300, 2)), np.exp(rng.normal(size=300))])
    X[:3, 0] = [60, -70, 80]
    detector = EOSDetector().fit(X)
    assert detector.rung_ == "margins"
    assert np.flatnonzero(detector.is_outlier_).tolist() == [0, 1, 2]


@pytest.mark.parametrize(("n_rows", "holds"), [(300, False), (1500, True)])
def test_heavy_tails_are_promised_if_enough_rows_tell_how_heavy_they_are(n_rows, holds):
    promised, flagged = [], 0
    for seed in range(4):
        X = np.random.default_rng(seed).standard_t(5, size=(n_rows, 4))
        X[:5, 1] = [300, -310, 320, 330, -340]
        detector = EOSDetector().fit(X)
        promised.append(bool(detector.promise_))
        assert detector.is_outlier_[:5].all()
        flagged += int(detector.is_outlier_[5:].sum())
    assert np.mean(promised) >= 0.75 if holds else not any(promised)
    assert flagged <= 2


def test_a_group_of_errors_is_not_taken_for_a_tail_row_by_row():
    """Margins and believed rows in turns came to believe all of a tight group."""
    X = np.random.default_rng(0).standard_t(5, size=(4000, 6))
    X[:800, 2] = 40 + np.random.default_rng(1).normal(size=800)
    detector = EOSDetector().fit(X)
    assert detector.is_outlier_[:800].mean() > 0.9
    assert detector.is_outlier_[800:].mean() < 0.01
    assert not detector.promise_


def test_many_flags_just_beyond_the_others_are_no_errors():
    """Errors lie far beyond, and few rows are always near."""
    body = np.linspace(0.001, 1, 900)

    def check(share, p_value):
        flagged = np.full(round(share * 900), p_value)
        p_values = np.concatenate([body, flagged])
        return TailCheck.of(p_values, np.ones(len(p_values)), flagged_at=1e-4)

    assert flags_many_near(check(0.1, 1e-6))
    assert not flags_many_near(check(0.1, 1e-12))
    assert not flags_many_near(check(0.02, 1e-6))


@pytest.mark.parametrize("seed", [1, 5])
def test_rows_that_are_far_out_in_all_columns_promise_nothing(seed):
    """Bent columns leave little in the tail of an elliptical law."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 2)) / np.sqrt(rng.chisquare(8, (1000, 1)) / 8)
    detector = EOSDetector().fit(X)
    assert detector.rung_ == "margins"
    assert "do so in others" in detector.promise_.reason


def test_groups_that_cannot_be_fitted_are_no_result():
    X = np.column_stack([np.arange(12.0) % 3, np.arange(12.0) % 2])
    X[0, 0] = 1e9
    kinds = {"x0": "number", "x1": "number"}
    with pytest.raises(CollapseError, match="no model of the bulk fits these rows"):
        EOSDetector(model="groups", kinds=kinds).fit(X)


@pytest.mark.parametrize("seed", range(4))
def test_the_tail_of_one_skewed_column_among_others_is_no_outlier(seed):
    """What is left of it without its tail may pass for Gaussian, with enough rows to tell."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], 600)
    size = rng.normal(np.where(sex == "f", 165, 180), 7)
    table = pd.DataFrame({"sex": sex, "size": size, "income": np.exp(rng.normal(size=600))})
    table["day"] = rng.normal(0, 9, 600).round()
    detector = EOSDetector().fit(table)
    assert detector.rung_ == "margins"
    assert detector.is_outlier_.sum() <= 2


@pytest.mark.parametrize(
    ("excess", "share", "holds"), [(600, 0.4, False), (600, 0.1, True), (500, 0.4, True)]
)
def test_bends_that_explain_many_rows_must_follow_their_law_closely(excess, share, holds):
    bent = TailCheck(body=2000.0, tail=float(excess), far=0.0, logs=float(excess), middle=500.0)
    plain = TailCheck(
        body=2000.0, tail=500.0, far=1000.0, logs=500.0, middle=500.0, flagged=3500.0 * share
    )
    assert bent.passes
    assert bool(doubt_bends(Promise(True, "it fits"), bent, plain)) == holds
