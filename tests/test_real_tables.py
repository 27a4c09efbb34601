"""The tables of `benchmarks.real_tables`: their bulks, their mistakes."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.real_tables import spoil as mistakes
from benchmarks.real_tables import verdict
from benchmarks.real_tables.bulks import BULKS, CLUSTERED, SCATTERED, contaminate, draw_bulk
from benchmarks.real_tables.spoil import KINDS, as_numbers, list_spoilable, spoil, spoil_one_group


@pytest.mark.parametrize("n_columns", [1, 3, 10])
@pytest.mark.parametrize("name", BULKS)
def test_bulks_are_tables_of_any_size_that_a_seed_repeats(name, n_columns):
    one, again = (draw_bulk(name, 50, n_columns, np.random.default_rng(5)) for _ in range(2))
    assert one.rows.shape == (50, n_columns)
    assert np.isfinite(one.rows).all()
    assert (one.low < one.high).all()
    np.testing.assert_array_equal(one.rows, again.rows)


@pytest.mark.parametrize(
    ("name", "mean", "variance"),
    [("Poisson(.3)", 0.3, 0.3), ("Poisson(2)", 2, 2),
     ("gamma(2)", 2, 2), ("exponential", 1, 1), ("uniform", 0.5, 1 / 12),
     ("t5, copula", 0, 5 / 3), ("t5, elliptical", 0, 5 / 3), ("zero-inflated", 1.2, 2.16)],
)  # fmt: skip
def test_bulks_have_the_moments_of_their_law(name, mean, variance):
    rows = draw_bulk(name, 100_000, 2, np.random.default_rng(0)).rows
    np.testing.assert_allclose(rows.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(rows.var(axis=0), variance, rtol=0.08)


@pytest.mark.parametrize("kind", [SCATTERED, CLUSTERED])
@pytest.mark.parametrize("name", ["log-normal", "Poisson(2)", "three groups, equal"])
def test_gross_errors_are_beyond_the_range_and_nothing_else_changes(name, kind):
    rng = np.random.default_rng(1)
    bulk = draw_bulk(name, 400, 6, rng)
    X, is_wrong = contaminate(bulk, 0.05, rng, kind)
    assert is_wrong.sum() == 20
    np.testing.assert_array_equal(X[~is_wrong], bulk.rows[~is_wrong])
    moved, width = bulk.rows != X, bulk.high - bulk.low
    assert set(moved[is_wrong].sum(axis=1)) <= {1, 2}
    beyond = np.maximum(X - bulk.high, bulk.low - X) / width
    assert (beyond[moved] > 2.5).all()
    if kind == CLUSTERED:
        assert (np.ptp(X[is_wrong], axis=0) < width)[moved.any(axis=0)].all()


def make_frame(n_rows=300):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(5, 1, (n_rows, 3)), columns=["a", "b", "c"])
    frame.insert(0, "rownames", np.arange(n_rows) + 17)
    frame["row"] = np.arange(1, n_rows + 1)
    frame["level"] = rng.integers(0, 5, n_rows)
    frame["town"] = rng.choice(["x", "y"], n_rows)
    frame.loc[::9, "a"] = np.nan
    return frame


@pytest.mark.parametrize("share", [0.01, 0.1])
def test_a_share_of_the_rows_is_spoilt_in_all_ways(share):
    frame = make_frame(2000)
    spoilt = spoil(frame, share, np.random.default_rng(3))
    assert spoilt.is_wrong.sum() == 2000 * share
    pd.testing.assert_frame_equal(spoilt.frame[~spoilt.is_wrong], frame[~spoilt.is_wrong])
    assert set(spoilt.kind[spoilt.is_wrong]) == set(KINDS)
    same = (spoilt.frame == frame) | (spoilt.frame.isna() & frame.isna())
    assert not same[spoilt.is_wrong].all(axis=1).any()
    assert same[["rownames", "row", "level", "town"]].all(axis=None)
    assert spoilt.frame["a"].isna().equals(frame["a"].isna())


def test_mistakes_that_change_nothing_are_drawn_again():
    frame = pd.DataFrame({"a": [0.0] * 80 + list(range(1, 21))})
    spoilt = spoil(frame, 1.0, np.random.default_rng(4))
    assert spoilt.is_wrong.all()
    assert (spoilt.frame["a"] != frame["a"]).all()
    assert "two columns swapped" not in spoilt.kind


def test_a_table_of_codes_cannot_be_spoilt():
    with pytest.raises(ValueError, match="more than ten values"):
        spoil(pd.DataFrame({"level": [1, 2, 3] * 40}), 0.1, np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(6))
def test_one_group_is_spoilt_in_one_way(seed):
    frame = make_frame()
    spoilt = spoil_one_group(frame, np.random.default_rng(seed))
    assert spoilt.is_wrong.sum() == 60
    assert len(set(spoilt.kind[spoilt.is_wrong])) == 1
    changed = (spoilt.frame != frame) & frame.notna()
    assert changed[spoilt.is_wrong].any().sum() <= 2


def test_each_mistake_does_what_it_is_called():
    ranges = mistakes.Ranges(np.array([0.0, 10.0, 20.0]), np.array([5.0, 30.0, 24.0]))
    cells, columns = np.array([[1.0, 12.0, 23.0]]), np.arange(3)

    def make(kind, seed):
        return KINDS[kind](np.random.default_rng(seed), ranges, columns)(cells)[0]

    for seed in range(20):
        factors = make("times 10, 100 or .1", seed) / cells[0]
        assert {round(f, 9) for f in factors} < {1.0, 10.0, 100.0, 0.1}
        assert sorted(make("two columns swapped", seed)) == sorted(cells[0])
        assert np.abs(make("sign lost", seed)).tolist() == cells[0].tolist()
        assert {999.0, -1.0} & set(make("sentinel", seed))
        shifted = (make("a third shifted", seed) - cells[0]) / ranges.width
        assert sorted(np.abs(shifted)) == [0.0, 0.0, 0.5]
        moved = make("out of range", seed)
        beyond = np.maximum(moved - ranges.high, ranges.low - moved) / ranges.width
        assert 1 <= beyond.max() <= 6


def test_rounded_mistakes_have_the_decimals_of_their_column():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 400), "share": rng.random(400).round(2)})
    exact, rounded = (
        spoil(frame, 0.5, np.random.default_rng(1), is_rounded=r).frame.to_numpy()
        for r in (False, True)
    )
    assert (exact[:, 0] % 1 != 0).any()
    assert (rounded[:, 0] % 1 == 0).all()
    np.testing.assert_array_equal(rounded[:, 1].round(2), rounded[:, 1])


def test_peers_get_standardised_numbers_without_gaps_or_counters():
    frame = make_frame()
    assert list_spoilable(frame) == ["a", "b", "c"]
    values = as_numbers(frame)
    assert values.shape == (300, 4)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(values.std(axis=0), 1)


class Told:
    """A promise, as a detector may make it."""

    def __init__(self, is_kept):
        self.is_kept, self.sentence = is_kept, "The rows follow the law."

    def __bool__(self):
        return self.is_kept


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_verdict_reads_promise_and_rung(is_kept, monkeypatch):
    class Promising(verdict.EOSDetector):
        def fit(self, X):
            super().fit(X)
            self.promise_, self.rung_ = Told(is_kept), "margins"
            return self

    monkeypatch.setattr(verdict, "EOSDetector", Promising)
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[7, 1] = 50.0
    read = verdict.judge_table(X)
    assert (read.promise, read.rung) == ("yes" if is_kept else "no", "margins")
    assert read.sentence == "The rows follow the law."
    assert read.flagged[7]
    assert read.scores.argmax() == 7


def test_a_table_that_is_refused_is_judged_by_its_numbers(monkeypatch):
    class Refusing(verdict.EOSDetector):
        def fit(self, X):
            if X.shape[1] != 4:
                raise ValueError("four columns only")
            return super().fit(X)

    monkeypatch.setattr(verdict, "EOSDetector", Refusing)
    frame = make_frame()
    frame.loc[5, "b"] = 99.0
    read = verdict.judge_frame(frame)
    assert read.given == verdict.NUMBERS
    assert read.flagged[5]
    with pytest.raises(ValueError, match="four columns only"):
        verdict.judge_frame(frame[["b", "c"]])
